"""Every page that a verb can be made to write, from inputs in which each string is an attack."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path

from tests.support import attack, load_tests
from tests.support.attack import Attacker
from tests.support.remedy_runs import Scene, on_a_little_kubernetes
from tests.support.small_servers import Handler, serving

from barostat.core.errors import InputError
from barostat.judge.mitigation.measurements import measured
from barostat.remedy.record import from_json
from barostat.remedy.state import State
from barostat.shells.cli.main import main
from barostat.shells.cli.mitigate.incident import show
from barostat.shells.reports.load.validation_document import rendered

_ENGINE = (
    "--latency",
    "base=0.012,prefill=0.00003,kv=0.00000002",
    "--max-num-seqs",
    "64",
    "--slo-ttft",
    "2",
    "--kv-blocks",
    "1500",
)


def attacked(attacker: Attacker, folder: Path) -> dict[str, str]:
    """Name of the verb -> its page. Takes seconds."""
    recorded = str(attack.bundle(attacker, folder / "bundle"))
    other = str(attack.bundle(attacker, folder / "other", "bad-config-model"))
    config = str(attack.config(attacker, folder / "model"))
    trace = str(attack.trace(attacker, folder / "trace"))
    drawn = folder / "simulated.html"
    _printed("simulate", "--trace", trace, *_ENGINE, "--html", str(drawn))
    short = ("--workload", "poisson:rate=5,minutes=0.05,input=50,output=5")
    seen, tuned = (
        ("--set", "max-num-seqs=8", "--runs", "2", "--duration", "20s"),
        ("--budget", "10", "--duration", "10s", "--cores", "1"),
    )
    return {
        "diagnose": _printed("diagnose", "--bundle", recorded, "-o", "html"),
        "diagnose-no-start": _printed("diagnose", "--bundle", other, "-o", "html"),
        "incident": _incident(attacker),
        "simulate": drawn.read_text(encoding="utf-8"),
        "what-if": _printed("what-if", "--trace", trace, *_ENGINE, "--set", "max-num-seqs=20", "-o", "html"),
        "what-if-seen": _printed("what-if", "--from", recorded, *seen, "-o", "html"),
        "tune": _printed("tune", "--from", recorded, "--slo-ttft-p99", "5", *tuned, "-o", "html"),
        "plan": _printed("plan", "--model-config", config, "--gpu", "H100", "-o", "html"),
        "plan-compared": _printed("plan", "--model-config", config, "--compare", "H100,L4", "-o", "html"),
        "plan-for": _printed("plan", "--model-config", config, "--for", "2/s input=500 output=50", "--compare", "H100", "-o", "html"),
        "load": _from(attack.engine(attacker), lambda url: _printed("load", url, *short, "-o", "html")),
        "validate": rendered(load_tests.validation(good=False, name=attacker.all(), notes=attacker.every), "html"),
        "past": _from(attack.prometheus(attacker), lambda url: _report(url, "--from", "02:00", "--to", "02:02")),
        "review": _from(attack.prometheus(attacker), lambda url: _report(url, "--since", "8d")),
    }  # fmt: skip


def _printed(*words: str) -> str:
    """The page that the command prints. Errors: AssertionError where it prints none, with what it
    says.
    """
    out, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
        code = main(list(words))
    assert code in (0, 1, 3), f"{words[0]}: {code} {told.getvalue()}"
    return out.getvalue()


def _report(url: str, *span: str) -> str:
    return _printed("report", "--prometheus", url, *span, "-o", "html")


def _from(handler: Handler, page: Callable[[str], str]) -> str:
    with serving(handler) as (port, _):
        return page(f"http://127.0.0.1:{port}")


def _incident(attacker: Attacker) -> str:
    """The post-mortem of a remedy whose record was written over: each string that it may hold is an
    attack.
    """
    out = io.StringIO()

    async def go(found: Scene) -> None:
        campaign = found.campaign()
        assert await found.run(State(found.plan())) is not None
        kept = found.kube.objects["configmaps", "incident-i1"]["data"]
        for name, reader in (("incident.json", from_json), ("seen.json", measured)):
            kept[name] = _over(attacker, kept[name], reader)
        with contextlib.redirect_stdout(out):
            assert await show(campaign, "i1", "html") == 0

    on_a_little_kubernetes(go)
    return out.getvalue()


def _over(attacker: Attacker, text: str, reader: Callable[[str], object]) -> str:
    return json.dumps(
        attacker.into(json.loads(text), lambda value: reader(json.dumps(value)), InputError)
    )
