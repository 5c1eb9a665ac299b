"""What both engines are held to: `barostat diagnose` names the scenario's cause, with evidence, a
next step and the cause's exit code.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from dev.scenarios import Scenario

BAROSTAT = Path(sys.executable).with_name("barostat")
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
    done = subprocess.run(
        [str(BAROSTAT), "diagnose", *arguments, "-o", "json"],
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["kind"] == "DiagnosisReport"
    assert len(report["replicas"]) == 1
    return done.returncode, report["replicas"][0]


def check(one: Scenario, code: int, replica: dict[str, Any]) -> None:
    """The report names the scenario's cause, with evidence, and the exit code is the cause's."""
    diagnosis = replica["diagnosis"]
    told = json.dumps(
        {key: replica[key] for key in ("diagnosis", "symptoms", "ruledOut", "missing")}, indent=1
    )
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
        assert any(
            symptom["verdict"] == "Present" and symptom["evidence"]
            for symptom in replica["symptoms"]
        ), told
        assert replica["next"], told
    assert code == (0 if healthy else 1)
