"""What is said of several replicas together."""

from __future__ import annotations

from barostat.core.diagnosis import CauseName, Diagnosis, Forecast, ReplicaReport, Severity
from barostat.judge.diagnosis.fleet import fleet


def _replica(
    name: str, cause: CauseName, severity: Severity = "none", confidence: float = 0.9
) -> ReplicaReport:
    return ReplicaReport(
        name, "0.32.0", Diagnosis(cause, severity, confidence, f"{cause}."), Forecast(None), ()
    )


def test_a_fleet_of_which_one_works_and_one_rests_is_no_idle_fleet() -> None:
    idle, busy = (
        _replica("a", "healthy-idle", confidence=0.99),
        _replica("b", "healthy-busy", confidence=0.6),
    )
    assert fleet((idle, busy)).cause == "healthy-busy"
    assert fleet((idle, idle)).cause == "healthy-idle"


def test_the_worst_is_said_of_all() -> None:
    ill = _replica("c", "kv-preemption-thrash", "critical", 0.7)
    found = fleet((_replica("a", "healthy-idle"), ill, _replica("b", "healthy-busy")))
    assert (found.cause, found.scope) == ("kv-preemption-thrash", "replica")
