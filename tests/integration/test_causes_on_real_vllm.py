"""Each state brought about on the real vLLM, and `barostat diagnose` names its cause."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dev.engine import Engine
from dev.scenarios import SCENARIOS, Scenario, brought_about, scenario

EngineFactory = Callable[..., Engine]
BAROSTAT = Path(sys.executable).with_name("barostat")
LISTENING = [one for one in SCENARIOS if one.listens]
FAILING = [one for one in SCENARIOS if not one.listens]
VARIANTS = {
    "host-bound-text": "tokenizer",
    "hung-engine": "no-tokens",
    "hung-engine-idle": "no-tokens",
    "bad-config-argument": "argument",
    "bad-config-model": "model",
    "kv-pool-too-small": "length",
}


def diagnosed(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and the one replica of the report."""
    done = subprocess.run([str(BAROSTAT), "diagnose", *arguments, "-o", "json"], capture_output=True, text=True, timeout=150)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["kind"] == "DiagnosisReport"
    assert len(report["replicas"]) == 1
    return done.returncode, report["replicas"][0]


def check(one: Scenario, code: int, replica: dict[str, Any]) -> None:
    """The report names the scenario's cause, with evidence, and the exit code is the cause's."""
    diagnosis = replica["diagnosis"]
    told = json.dumps({key: replica[key] for key in ("diagnosis", "symptoms", "ruledOut", "missing")}, indent=1)
    assert diagnosis["cause"] == one.cause, told
    assert diagnosis["variant"] == VARIANTS.get(one.name, diagnosis["variant"]), told
    assert replica["engine"]["name"] == "vllm"
    # A parser that refuses an argument ends the process before it says which version it is.
    assert replica["engine"]["version"] or one.name == "bad-config-argument"
    assert (replica["engine"]["version"] or "0.32.0").startswith("0.32.0")
    healthy = one.cause.startswith("healthy")
    if healthy:
        assert diagnosis["severity"] in ("none", "info")
        assert replica["forecast"]["exhaustionInSeconds"] is None, replica["forecast"]
    else:
        assert diagnosis["severity"] in ("warning", "critical"), told
        assert any(symptom["verdict"] == "Present" and symptom["evidence"] for symptom in replica["symptoms"]), told
        assert replica["next"], told
    assert code == (0 if healthy else 1)


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
