"""`make demo REAL=1`: the real vLLM in KV pressure, and what Barostat says about it. After `make
vllm`; about a minute.

It is started with a small pool, sent more than the pool holds, and diagnosed live. The result goes
to stdout, what is being done to stderr. Exit 0 if the diagnosis named the pressure that was made
(its own exit code is then 1: a cause was named).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

from dev.engine import READY_WITHIN_S, ROOT, Engine, is_installed
from dev.reaper import run_to_end
from dev.scenarios import Scenario, brought_about, scenario

NAME = "kv-preemption-thrash"
FINDINGS = 1
"""Exit code of a diagnosis that names a cause."""


def say(text: str) -> None:
    """Tell a person what goes on."""
    print(f"demo: {text}", file=sys.stderr, flush=True)


def diagnose(*arguments: str, out: IO[str] | None = None) -> int:
    """Run `barostat diagnose` for a person to read, on our own stdout or on `out`; its exit
    code.
    """
    shown = [argument.replace(f"{ROOT}/", "") for argument in arguments]
    say(f"$ barostat diagnose {' '.join(shown)}")
    command = [str(Path(sys.executable).with_name("barostat")), "diagnose", *arguments]
    return run_to_end(command, within_s=300, out=out, err=None).returncode


def live(
    one: Scenario,
    engine: Engine,
    out: IO[str] | None = None,
    ready_within_s: float = READY_WITHIN_S,
) -> int:
    """That engine has been started, brought into pressure and diagnosed; the diagnosis' exit
    code.
    """
    with engine:
        say(
            f"the real vLLM: {' '.join(engine.flags)} (about half a minute to start, the "
            "first time more)"
        )
        engine.wait_ready(ready_within_s)
        say(f"up after {engine.started_after_s:.0f} s at {engine.url}")
        assert one.load is not None
        (least_in, most_in), (least_out, most_out) = one.load.prompt_tokens, one.load.output_tokens
        shape = f"{least_in}-{most_in} tokens in, {least_out}-{most_out} tokens out"
        say(f"load: {one.load.clients} clients, {shape}: more than the pool holds")
        return _diagnose_under_load(one, engine, out)


def _diagnose_under_load(one: Scenario, engine: Engine, out: IO[str] | None) -> int:
    with brought_about(one, engine) as load:
        code = diagnose(
            engine.url,
            "--for",
            "20s",
            "--interval",
            "5s",
            "--log",
            str(engine.log),
            "--pid",
            str(engine.pid),
            out=out,
        )
        if load is not None:
            say(f"meanwhile the clients saw: {load.counts.summary()}")
    return code


def main() -> int:
    """Show it; 0 if it worked."""
    if not is_installed():
        say(
            "the real vLLM is not installed here: `make vllm` does that; without REAL=1 "
            "the demo needs nothing of it"
        )
        return 1
    one = scenario(NAME)
    code = live(one, one.engine())
    say("the engine is stopped")
    if code != FINDINGS:
        say(f"FAILED: the diagnosis ended with {code}, not with {FINDINGS}")
        return 1
    return 0
