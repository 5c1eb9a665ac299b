"""Each state brought about on the real vLLM, and `barostat diagnose` names its cause."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dev.engine import Engine
from dev.scenarios import SCENARIOS, Scenario, brought_about, scenario
from tests.integration.named_causes import check, diagnosed

EngineFactory = Callable[..., Engine]
LISTENING = [one for one in SCENARIOS if one.listens]
FAILING = [one for one in SCENARIOS if not one.listens]


@pytest.mark.parametrize("one", LISTENING, ids=lambda one: one.name)
def test_a_listening_engine(one: Scenario, engine_factory: EngineFactory) -> None:
    engine = engine_factory(*one.flags, shape=one.shape)
    probe = ["--probe"] if one.stops and one.load is None else []
    with brought_about(one, engine):
        window = ["--for", "20s", "--interval", "5s"]
        code, replica = diagnosed(engine.url, *window, "--log", str(engine.log), "--pid", str(engine.pid), *probe)
    check(one, code, replica)


@pytest.mark.parametrize("one", FAILING, ids=lambda one: one.name)
@pytest.mark.usefixtures("no_engine")
def test_an_engine_that_never_listened(one: Scenario) -> None:
    with one.engine() as engine:
        assert engine.wait_exit(within_s=120) != 0
        code, replica = diagnosed("--log", str(engine.log))
    check(one, code, replica)


def test_pressure_is_named_from_the_address_alone(engine_factory: EngineFactory) -> None:
    one = scenario("kv-preemption-thrash")
    engine: Engine = engine_factory(*one.flags, shape=one.shape)
    with brought_about(one, engine):
        code, replica = diagnosed(engine.url, "--for", "20s", "--interval", "5s")
    check(one, code, replica)
