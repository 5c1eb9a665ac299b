"""Which half of a prefill/decode pair is under pressure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barostat.core.diagnosis import CauseName, Diagnosis, Forecast, ReplicaReport, Severity
from barostat.core.window import Window
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.diagnosis.fleet import fleet
from barostat.judge.diagnosis.pair_halves import halves, with_halves
from barostat.judge.evidence.recording import Recording


def _report(name: str, cause: CauseName, severity: Severity) -> ReplicaReport:
    diagnosis = Diagnosis(cause, severity, 0.9, f"{cause}.")
    return ReplicaReport(name, "0.32.0", diagnosis, Forecast(None), ())


REPORTS = (
    _report("p0", "healthy-busy", "none"),
    _report("d0", "kv-preemption-thrash", "critical"),
    _report("d1", "healthy-busy", "none"),
)


def test_the_half_that_is_ill_is_the_one_to_change() -> None:
    found = with_halves(fleet(REPORTS), REPORTS, {"p0": "prefill", "d0": "decode", "d1": "decode"})
    said = "prefill healthy-busy (1 of 1), decode kv-preemption-thrash (1 of 2). Change decode."
    assert found.summary.endswith(said)


def test_without_halves_nothing_is_added() -> None:
    assert with_halves(fleet(REPORTS), REPORTS, {}) == fleet(REPORTS)


@pytest.mark.parametrize(
    ("labels", "half"),
    [
        ({"llm-d.ai/role": "prefill"}, "prefill"),
        ({"role-name": "decode"}, "decode"),
        ({"disaggregatedset.x-k8s.io/role": "prefill"}, "prefill"),
        ({"nvidia.com/dynamo-sub-component-type": "decode"}, "decode"),
        ({"nvidia.com/dynamo-component": "VllmPrefillWorker"}, "prefill"),
        ({"llm-d.ai/role": "both"}, ""),
        ({"llm-d.ai/role": "prefill-decode"}, ""),
        ({"app": "decode"}, ""),
    ],
)
def test_labels_tell(labels: dict[str, str], half: str) -> None:
    pod = {"kind": "Pod", "metadata": {"name": "a", "labels": labels}, "spec": {"containers": []}}
    recording = Recording("x", 0.0, (), kubernetes={"pods": {"items": [pod]}})
    assert halves(recording, {"a": _window({})}).get("a", "") == half


@pytest.mark.parametrize(
    ("role", "half"), [("kv_producer", "prefill"), ("kv_consumer", "decode"), ("kv_both", "")]
)
def test_without_labels_the_transfers_role_tells(role: str, half: str) -> None:
    transfer = {"kv_connector": "NixlConnector", "kv_role": role}
    found = halves(Recording("x", 0.0, ()), {"a": _window(transfer)})
    assert found.get("a", "") == half


def _window(transfer: dict[str, Any]) -> Window:
    args = ["m", *(["--kv-transfer-config", json.dumps(transfer)] if transfer else [])]
    return Window("a", 0.0, config=resolve(args=args))
