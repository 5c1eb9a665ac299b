"""Each state brought about on the real vLLM, and `barostat diagnose` names its cause.

An engine takes half a minute to start: states of equal flags follow each other on one, first those
that leave it whole. How quickly and how early pressure is seen is measured, not tested: `python
bench/ramps.py` (ten ramps, ten healthy runs), `bench/quick.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dev.engine import Engine
from dev.scenarios import SCENARIOS, Scenario, brought_about
from tests.integration.named_causes import check, diagnosed

EngineFactory = Callable[..., Engine]
_FLAGS = [one.flags for one in SCENARIOS]
LISTENING = sorted(
    (one for one in SCENARIOS if one.listens and not one.recorded_only),
    key=lambda one: (_FLAGS.index(one.flags), bool(one.stops)),
)
FAILING = [one for one in SCENARIOS if not one.listens]
FROM_THE_ADDRESS_ALONE = {
    "kv-preemption-thrash": ["--for", "20s", "--interval", "5s"],
    "healthy-idle": ["--for", "6s", "--interval", "3s"],
}
"""The states that are named again without log and process, and the windows for that."""
ADVICE_IS_TRIED = ("kv-preemption-thrash", "kv-admission-queueing", "slot-bound")
"""Of the others the cause is asked alone: trials on the twin take as long as the look."""
SELDOM = ("host-bound-text", "hung-engine", "few-large-half-empty")
"""In `make test-long`: CI has each of these causes on the twin and from a recording of this engine."""


@pytest.mark.alone
@pytest.mark.parametrize(
    "one",
    [
        pytest.param(one, marks=pytest.mark.long if one.name in SELDOM else (), id=one.name)
        for one in LISTENING
    ],
)
def test_a_listening_engine(one: Scenario, engine_factory: EngineFactory) -> None:
    engine = engine_factory(*one.flags, shape=one.shape)
    probe = ["--probe"] if one.stops and one.load is None else []
    untried = [] if one.name in ADVICE_IS_TRIED else ["--no-trials"]
    with brought_about(one, engine):
        window = ["--for", "20s", "--interval", "5s"]
        found = [
            diagnosed(
                engine.url,
                *window,
                "--log",
                str(engine.log),
                "--pid",
                str(engine.pid),
                *probe,
                *untried,
            )
        ]
        if one.name in FROM_THE_ADDRESS_ALONE:
            found.append(diagnosed(engine.url, *FROM_THE_ADDRESS_ALONE[one.name]))
    for code, replica in found:
        check(one, code, replica)


@pytest.mark.parametrize("one", FAILING, ids=lambda one: one.name)
@pytest.mark.usefixtures("no_engine")
def test_an_engine_that_never_listened(one: Scenario) -> None:
    with one.engine() as engine:
        assert engine.wait_exit(within_s=120) != 0
        code, replica = diagnosed("--log", str(engine.log))
    check(one, code, replica)
