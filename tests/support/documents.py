"""Every document that `-o json` writes, made anew: schema -> what makes one. In the forms that
differ: well and ill, measured and not.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support import load_tests
from tests.support.measured_incident import LOOKS, STATE
from tests.support.measured_past import NIGHT, grown, month, night
from tests.support.observed_week import a_review

from barostat.judge.history.review import Kept, review
from barostat.shells.cli.main import main
from barostat.shells.reports.incident.post_mortem import as_json, list_json
from barostat.shells.reports.incident.review import review_json
from barostat.shells.reports.load.data import load_json
from barostat.shells.reports.load.validation import certificate_text, validation_json
from barostat.shells.reports.review.capacity import Fleet, capacity_json
from barostat.shells.reports.review.past import past_json
from barostat.twin.summary import Slo

BUNDLES = Path(__file__).parent.parent / "data" / "bundles"
CLUSTERS = BUNDLES.parent / "clusters"
_LOAD = (
    "--workload",
    "poisson:rate=6,minutes=1,input=900,output=200",
    "--latency",
    "base=0.012,prefill=0.00003",
)
_PRESSED = (*_LOAD, "--kv-blocks", "900", "--max-num-seqs", "64", "--slo-ttft", "2")
_REFUSING = (*_LOAD, "--kv-blocks", "400", "--max-num-seqs", "8", "--max-queued-requests", "4")
_SEEN = ("--runs", "2", "--duration", "10s", "--slo-ttft", "2")
_UPGRADED = ("--model-config", "openai/gpt-oss-120b", "--gpu", "H200")
_TUNE = ("--budget", "20", "--cores", "1", "--duration", "10s")

Make = Callable[[Path], Any]


def gateway_limits(folder: Path) -> str:
    """A limits file with what a gateway needs."""
    file = folder / "gateway-limits.yaml"
    text = (
        "kind: ServingLimits\nmetadata: {name: llm}\nspec:\n  request: {maxOutputTokens: "
        "4000}\n  slo: {ttftP99Seconds: 5}\n"
    )
    file.write_text(f"apiVersion: barostat.dev/v1alpha1\n{text}", encoding="utf-8")
    return str(file)


def documents() -> dict[str, tuple[Make, ...]]:
    """What makes documents of each schema; a folder is given where a file may be written."""
    thrash = str(BUNDLES / "kv-preemption-thrash")
    qwen = ("plan", "--model", "Qwen/Qwen3-8B")
    return {
        "diagnosis-report": (
            *(
                _printed("diagnose", "--bundle", str(path), "--no-trials")
                for path in sorted(BUNDLES.iterdir())
            ),
            *(
                _printed("diagnose", "--bundle", str(BUNDLES / name))
                for name in ("slot-bound", "few-large-three", "healthy-busy")
            ),
        ),
        "capacity-plan": (
            _printed(*qwen, "--gpu", "H100"),
            _printed(*qwen, "--available-kv-gib", "20"),
            _printed(
                *qwen,
                "--gpu",
                "L40S",
                "--tp",
                "2",
                "--input-p50",
                "500",
                "--input-p99",
                "4000",
                "--output-p50",
                "200",
                "--output-p99",
                "900",
            ),
            _printed("plan", "--model", "meta-llama/Llama-3.1-70B-Instruct", "--gpu", "L4"),
            _printed("plan", "--model", "google/gemma-3-27b-it", "--gpu", "H200"),
            _printed(*qwen, "--from", thrash),
        ),
        "capacity-comparison": (
            _printed(*qwen, "--compare", "H100,L4", "--compare", "H100 --block-size 7"),
        ),
        "capacity-offers": (
            _printed(
                *qwen,
                "--gpu",
                "H100,L4",
                "--tp",
                "2",
                "--for",
                "2 users input=500 output=5 think=1",
                "--slo",
                "ttft=1s",
                "--price",
                "H100=2",
            ),
            _printed(
                *qwen, "--gpu", "L4", "--for", "2 users input=500 output=5", "--slo", "ttft=1ms"
            ),
        ),
        "simulation": (
            _printed("simulate", *_PRESSED),
            _printed("simulate", *_REFUSING),
            _printed("simulate", *_PRESSED, "--data-parallel-size", "2"),
            _printed("simulate", *_PRESSED, "--kv-link", "bandwidth=1e9,token-bytes=131072"),
            _printed("simulate", "--workload", f"live:{thrash}"),
        ),
        "breaking-points": (
            _printed("simulate", *_PRESSED, "--until-it-breaks"),
            _printed("what-if", *_PRESSED, "--until-it-breaks", "--set", "max-num-seqs=8"),
        ),
        "gated-simulation": (
            lambda folder: _printed(
                "simulate", *_PRESSED, "--replicas", "2", "--gateway", gateway_limits(folder)
            )(folder),
        ),
        "what-if": (_printed("what-if", *_PRESSED, "--set", "max-num-seqs=8"),),
        "upgrade": (
            _printed("what-if", *_PRESSED, "--engine-version", "0.18.0..0.33.0"),
            _printed("what-if", *_UPGRADED, "--engine-version", "0.16.0..0.24.0", "--tp", "4"),
            _printed("what-if", "--from", thrash, "--engine-version", "0.33.0"),
        ),
        "what-if-seen": (
            _printed("what-if", "--from", thrash, "--set", "max-num-seqs=8", *_SEEN),
            _printed(
                "what-if",
                "--from",
                thrash,
                "--set",
                "watermark=0.05",
                *_PRESSED[:4],
                "--slo-ttft",
                "2",
            ),
        ),
        "tuning": (
            _printed("tune", "--from", thrash, "--slo-ttft-p99", "5", *_TUNE),
            _printed(
                "tune",
                "--from",
                thrash,
                "--slo-itl-p99",
                "0.3",
                *_TUNE,
                "--lever",
                "watermark",
                "--lever",
                "edge-output-cap",
            ),
        ),
        "incident": (
            lambda _: json.loads(as_json(STATE, LOOKS)),
            lambda _: json.loads(
                as_json(replace(STATE, phase="HandedOff", timeline=(), conditions=(), pods=()))
            ),
        ),
        "incident-list": (
            lambda _: json.loads(list_json([STATE], ["x: is no JSON"])),
            lambda _: json.loads(list_json([], [])),
        ),
        "incident-review": (
            lambda _: review_json(a_review()),
            lambda _: review_json(replace(a_review(), incidents=(), problems=())),
        ),
        "survey": (
            _printed(
                "survey", "--bundle", str(CLUSTERS / "bad-config-argument"), "--price", "H100=2"
            ),
            _printed("survey", "--bundle", thrash),
        ),
        "load": (
            lambda _: load_json(
                "http://a:8000", "poisson", load_tests.load(refused=3), load_tests.SLO
            ),
            lambda _: load_json(
                "http://a:8000",
                "poisson",
                load_tests.load(measured=False, late_s=0.3),
                Slo(),
                ("a note",),
            ),
            lambda _: load_json("http://a:8000", "poisson", load_tests.nothing(), Slo()),
        ),
        "validation": (
            lambda _: validation_json(load_tests.validation()),
            lambda _: validation_json(load_tests.validation(good=False)),
            lambda _: json.loads(certificate_text(load_tests.validation())),
        ),
        "capacity-review": (
            lambda _: capacity_json(*grown(), "inference"),
            lambda _: capacity_json(review(month(days=5)), Fleet(), "t"),
            lambda _: capacity_json(review(Kept(0.0, 86_400.0, 3600.0, {})), Fleet(), "t"),
        ),
        "past-report": (
            lambda _: past_json(night(*NIGHT)),
            lambda _: past_json(night("healthy-busy")),
        ),
        "limits-diff": (_differing, _equal),
        "limits-validation": (_valid,),
    }


def _printed(*words: str) -> Make:
    return lambda _: printed(*words)


def printed(*words: str) -> Any:
    """What the command writes with `-o json`, parsed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        main([*words, "-o", "json"])
    return json.loads(out.getvalue())


def limits_file(folder: Path, card: str) -> Path:
    """A limits file that was planned for that card."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        main(["plan", "--model", "Qwen/Qwen3-8B", "--gpu", card, "-o", "limits"])
    path = folder / f"{card}.yaml"
    path.write_text(out.getvalue())
    return path


def _differing(folder: Path) -> Any:
    return printed(
        "limits", "diff", str(limits_file(folder, "H100")), str(limits_file(folder, "L40S"))
    )


def _equal(folder: Path) -> Any:
    same = str(limits_file(folder, "H100"))
    return printed("limits", "diff", same, same)


def _valid(folder: Path) -> Any:
    return printed("limits", "validate", str(limits_file(folder, "H100")))
