"""Every page that Barostat makes, ill and well: from recorded bundles, from the twin, and from a
remedy that was carried out.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dev.demo_gateway import SecondAct
from dev.demo_numbers import Numbers
from dev.demo_page import TRIED, Story
from dev.demo_page import Look as DemoLook
from dev.demo_page import page as demo_page
from dev.demo_traffic import Answer, Refusal, Sample, Shape
from tests.support import load_tests
from tests.support.measured_incident import LOOKS, STATE
from tests.support.measured_past import NIGHT, grown, month, night
from tests.support.observed_week import a_review

from barostat.core.object_reference import ObjectReference
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.io.bundles import bundle
from barostat.judge.diagnosis.diagnose import Examination, examine
from barostat.judge.history.review import review
from barostat.judge.survey.rollout import Rollout
from barostat.judge.survey.survey import Survey, SurveyedEngine
from barostat.shells.cli.main import main
from barostat.shells.reports.diagnosis.document import report_document
from barostat.shells.reports.incident.post_mortem import post_mortem
from barostat.shells.reports.incident.review import review_document
from barostat.shells.reports.load.document import load_document
from barostat.shells.reports.load.validation_document import validation_document
from barostat.shells.reports.review.capacity import Fleet, capacity_document
from barostat.shells.reports.review.past import past_document
from barostat.shells.reports.sheet.forms import as_html
from barostat.shells.reports.survey.document import survey_document

BUNDLES = Path(__file__).parent.parent / "data" / "bundles"
HOSTILE = (
    "<script>document.title='ran'</script>\"'&<img src=x "
    "onerror=\"document.title='ran'\">\x1b[31m\u202eevil"
)
"""What nobody may run, and what may widen no page."""
_TWIN = ("--workload", "poisson:rate=6,minutes=2,input=900,output=200", "--kv-blocks", "1500")
_SETTINGS = (
    "--latency",
    "base=0.012,prefill=0.00003,kv=0.00000002",
    "--max-num-seqs",
    "64",
    "--slo-ttft",
    "2",
    "--slo-itl",
    "0.1",
)


def pages() -> dict[str, Callable[[], str]]:
    """Name -> what makes the page."""
    thrash = str(BUNDLES / "kv-preemption-thrash")
    seen = (
        "--from",
        thrash,
        "--set",
        "max-num-seqs=8",
        "--set",
        "watermark=0.05",
        "--runs",
        "2",
        "--duration",
        "20s",
    )
    return {
        **{
            f"diagnose-{path.name}": _printed("diagnose", "--bundle", str(path), "-o", "html")
            for path in sorted(BUNDLES.iterdir())
        },
        "diagnose-fleet": fleet,
        "diagnose-hostile": hostile,
        "incident": lambda: as_html(post_mortem(STATE, LOOKS)),
        "incident-unseen": lambda: as_html(
            post_mortem(
                replace(STATE, phase="HandedOff", why="the spare did not come up"),
                (),
                "Nothing was measured.",
            )
        ),
        "incident-hostile": lambda: as_html(
            post_mortem(replace(STATE, why=HOSTILE), [replace(look, pod=HOSTILE) for look in LOOKS])
        ),
        "plan": _printed("plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "-o", "html"),
        "plan-refused": _printed(
            "plan", "--model", "meta-llama/Llama-3.1-70B-Instruct", "--gpu", "L4", "-o", "html"
        ),
        "plan-compared": _printed(
            "plan",
            "--model",
            "Qwen/Qwen3-8B",
            "--compare",
            "H100,A100,L4",
            "--compare",
            "L40S --kv-cache-dtype fp8",
            "-o",
            "html",
        ),
        "simulate": _printed("simulate", *_TWIN, *_SETTINGS, "-o", "html"),
        "what-if-load": _printed("what-if", *_TWIN, *_SETTINGS, "--set", "load=2", "-o", "html"),
        "what-if": _printed(
            "what-if",
            *_TWIN,
            *_SETTINGS,
            "--set",
            "max-num-seqs=20",
            "--set",
            "watermark=0.05",
            "-o",
            "html",
        ),
        "what-if-seen": _printed("what-if", *seen, "--slo-ttft", "2", "-o", "html"),
        "upgrade": _printed(
            "what-if",
            *("--model-config", "openai/gpt-oss-120b", "--gpu", "H200", "--tp", "4"),
            *("--engine-version", "0.16.0..0.24.0", "-o", "html"),
        ),
        "tune": _printed(
            "tune",
            "--from",
            thrash,
            "--slo-ttft-p99",
            "5",
            "--budget",
            "20",
            "--duration",
            "20s",
            "--cores",
            "1",
            "-o",
            "html",
        ),
        "load": lambda: as_html(
            load_document("http://a:8000", "poisson", load_tests.load(refused=3), load_tests.SLO)
        ),
        "load-stopped": lambda: as_html(
            load_document("http://a:8000", "poisson", load_tests.nothing(), load_tests.SLO)
        ),
        "load-hostile": lambda: as_html(
            load_document(
                HOSTILE, HOSTILE, load_tests.load(refused=3, reason=HOSTILE), load_tests.SLO
            )
        ),
        "validate": lambda: as_html(validation_document(load_tests.validation())),
        "validate-hostile": lambda: as_html(
            validation_document(load_tests.validation(good=False, name=HOSTILE, notes=(HOSTILE,)))
        ),
        "capacity-review": lambda: as_html(capacity_document(*grown(), "inference")),
        "capacity-review-short": lambda: as_html(
            capacity_document(review(month(days=5)), Fleet(), HOSTILE)
        ),
        "past": lambda: as_html(past_document(night(*NIGHT))),
        "past-hostile": lambda: as_html(
            past_document(
                replace(night(*NIGHT[:5]), target=f"{HOSTILE}{'z' * 200}", problems=(HOSTILE,))
            )
        ),
        "incident-review": lambda: as_html(review_document(a_review())),
        "survey": surveyed,
        "demo": demo,
    }


def fleet() -> str:
    """Three replicas, of which one thrashes."""
    found = _examined("kv-preemption-thrash")
    ill = found.report.replicas[0]
    well = _examined("healthy-busy").report.replicas[0]
    replicas = (
        ill,
        replace(well, name="vllm-7c9d5b6f4-x2kqz"),
        replace(well, name="vllm-7c9d5b6f4-9tp4m"),
    )
    return as_html(
        report_document(
            replace(found.report, target="deploy/vllm in inference", replicas=replicas), found.shown
        )
    )


def surveyed() -> str:
    """Four engines of two workloads: one thrashes, one names hostile text."""
    ill = _examined("kv-preemption-thrash").report.replicas[0]
    well = _examined("healthy-busy").report.replicas[0]
    chat = ObjectReference("deployment", "chat", "inference")
    embed = ObjectReference("statefulset", HOSTILE, "embeddings")
    engines = (
        SurveyedEngine(
            ill, chat, 0.91, 8192.0, 13.0, 27.0, Rollout("outage", "one replica"), gpus=1,
            gpu="H100", is_checked=True, cost_per_hour=2.5,
        ),
        SurveyedEngine(well, chat, 0.4, 8192.0, 8.0, 0.0, gpus=1, gpu="H100", is_checked=True),
        SurveyedEngine(replace(well, name="embed-0"), embed, 0.1, 8192.0, 1.0, 0.0),
        SurveyedEngine(replace(well, name="10.0.0.7:8000"), None, 0.2, None, 2.0, 0.0),
    )  # fmt: skip
    return as_html(survey_document(Survey(1.8e9, "the cluster", engines, ("node-3: no answer",))))


def hostile() -> str:
    """A diagnosis of which every word that can come from outside is hostile."""
    found = _examined("kv-preemption-thrash")
    replica = found.report.replicas[0]
    hurt = replace(
        replica,
        engine_version=HOSTILE,
        diagnosis=replace(replica.diagnosis, summary=HOSTILE),
        next=(replace(replica.next[0], change=Advise(Prose(HOSTILE)), because=Prose("x" * 300)),),
        contributing=(HOSTILE,),
        problems=(HOSTILE, "y" * 500),
    )
    return as_html(
        report_document(
            replace(
                found.report, target=f"{HOSTILE}{'z' * 200}", problems=(HOSTILE,), replicas=(hurt,)
            ),
            found.shown,
        )
    )


def demo() -> str:
    """The demo's page of a story that is made up, from two real diagnoses."""
    before, after = _examined("kv-preemption-thrash"), _examined("healthy-busy")
    samples = [_sample(at) for at in range(46)]
    answers = [_answer(index / 5.0) for index in range(220)]
    ill = Numbers(15.0, 11.2, 0.3, 21.0, 0.99, 14.2, 31.0, 9.4, 0.21, 9.4)
    well = Numbers(15.0, 15.1, 14.9, 0.0, 0.41, 9.7, 0.0, 0.08, 0.012, 0.08)
    looks = [
        DemoLook(
            found.report.replicas[0], found.shown[found.report.replicas[0].name], numbers, at_s
        )
        for found, numbers, at_s in ((before, ill, 20.0), (after, well, 44.0))
    ]
    tried = [
        {"name": name, **{key: {"mean": mean} for _, key, _ in TRIED}}
        for name, mean in (("today", 0.3), ("max-num-seqs=10", 0.9))
    ]
    marks = ((6.0, "burst"), (20.0, "diagnosed"), (30.0, "changed"), (36.0, "recovered"))
    shape = Shape(15.0, (51, 100), (201, 500))
    refusals = [
        Refusal(7.0 + index / 10.0, 503, "over-capacity", 1.0 + index % 2) for index in range(30)
    ]
    act = SecondAct(
        "slo: {ttftP99Seconds: 1}", answers, samples, refusals, ((6.0, "burst"),), ill, well, 1
    )
    told = (tried, "max-num-seqs=10", "It cost 3 requests.", act)
    return demo_page(Story(shape, 3.0, 2.0, answers, samples, marks, looks[0], looks[1], *told))


def _sample(at: int) -> Sample:
    ill = 6 < at < 30
    return Sample(
        float(at),
        0.99 if ill else 0.4,
        14.0 if ill else 9.0,
        3.0 * (at - 6) if ill else 0.0,
        20.0 * max(0, min(at, 30) - 6),
    )


def _answer(sent_s: float) -> Answer:
    ill = 6 < sent_s < 30
    first_s = sent_s + (4.0 if ill else 0.1)
    return Answer(
        sent_s,
        300,
        1,
        first_s,
        first_s + (20.0 if ill else 4.0),
        [(first_s + 1.0, 0.4 if ill else 0.012)],
    )


def _examined(name: str) -> Examination:
    return examine(bundle.read(BUNDLES / name))


def _printed(*words: str) -> Callable[[], str]:
    """What the command prints."""

    def run() -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            main(list(words))
        return out.getvalue()

    return run
