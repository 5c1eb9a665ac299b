"""A time of observing: incidents that the twin was asked about and not, and what people did."""

from __future__ import annotations

from dataclasses import replace

from tests.support.measured_incident import PLAN, STATE

from barostat.operator.incident import (
    IncidentPlan,
    IncidentSpec,
    IncidentStatus,
    IncidentTarget,
    Phase,
    PressureIncident,
    TwinFigures,
    rfc3339,
)
from barostat.operator.review import Review, review
from barostat.remedy.state import State

BEGIN = 1_790_000_000.0
HOUR_S = 3600.0
TARGET = IncidentTarget("apps/v1", PLAN.target.kind, PLAN.target.name, "u1")
HELPS = IncidentPlan(
    "edge-kv-budget",
    "edge KV budget: 4,096 tokens",
    effect="helps",
    unchanged=TwinFigures("9.1", "410", "12.5", "0.21", "0"),
    changed=TwinFigures("0", "455", "2.1", "0.04", "0"),
)


def incident(at_s: float, for_s: float | None, plan: IncidentPlan | None) -> PressureIncident:
    """Harm that began `at_s` after BEGIN."""
    began = rfc3339(BEGIN + at_s)
    spec = IncidentSpec(TARGET, "kv-preemption-thrash", "warning", began, began)
    ended = None if for_s is None else rfc3339(BEGIN + at_s + for_s)
    phase: Phase = "Open" if for_s is None else "Recovered"
    status = IncidentStatus(phase, cause=spec.cause, plan=plan, ended_at=ended)
    return PressureIncident(PLAN.target.namespace, f"llm-{at_s:.0f}", spec, status)


def by_hand(at_s: float, record: str = "llm-3f9a") -> State:
    return replace(STATE, plan=replace(PLAN, id=record, made_at=BEGIN + at_s))


def a_review() -> Review:
    incidents = [
        incident(0.0, 600.0, HELPS),
        incident(HOUR_S, None, IncidentPlan("x", "y", not_tried="no traffic was seen")),
        incident(-9 * HOUR_S, 60.0, HELPS),
    ]
    records = [by_hand(300.0), by_hand(300.0, "op-llm-1"), by_hand(20 * HOUR_S)]
    return review(incidents, records, BEGIN, BEGIN + 2 * HOUR_S, ["x|y: is no JSON"])
