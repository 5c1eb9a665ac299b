"""Requests wait for room in the KV cache or for a slot.

Meaning: for five minutes at least three requests, and one for every ten that run, have been waiting
for capacity on average.
Impact: time to first token grows by the wait; nothing is lost yet.
Evidence: vllm:num_requests_waiting_by_reason{reason="capacity"} (0.20 on); before that every
request that waits.
Not evidence: usage near 1 with no request waiting, memory near 90 %: both are how a busy, healthy
vLLM looks. A queue of a step or two.
Mitigation: `barostat diagnose` distinguishes a full pool from full slots and from a full step; each
has another lever.
Source: vLLM 0.32.0 v1/metrics/loggers.py, v1/core/sched/scheduler.py; the thresholds are those of
the symptom requests-waiting.
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert
from barostat.alerts.expressions import WINDOW_S
from barostat.alerts.recorded import CAPACITY_WAITING, RUNNING
from barostat.alerts.terms import Terms

FEW = 3
FEW_RATIO = 0.1


def expression(terms: Terms) -> str:
    """Return the mean queue relative to running requests."""
    window = f"{terms.matchers()}[{terms.span(WINDOW_S)}]"
    waiting, running = (
        f"avg_over_time({CAPACITY_WAITING}{window})",
        f"avg_over_time({RUNNING}{window})",
    )
    return f"{waiting} >= {FEW} and {waiting} >= {FEW_RATIO} * {running}"


ALERT = Alert(
    "BarostatCapacityWaiting", "requests wait for capacity", "warning", "engine", expression,
    WHERE + ": {{ $value | humanize }} requests wait for capacity, on average over 5 minutes",
    holds_s=300.0, within_s=720.0,
    hides=("BarostatExhaustionForecast",),
)  # fmt: skip
