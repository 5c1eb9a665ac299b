"""Whoever comes now waits longer than a request may.

Meaning: the queue, at the pace at which requests finish, takes longer than the limits allow
(edge.queueDeadlineSeconds; 30 s where they do not say it).
Impact: clients give up; with retries the queue grows by their giving up.
Evidence: requests that wait, divided by requests that finish per second. vLLM's own queue time is
counted when a request ends, so that it is late by a whole request, and says nothing while nothing
ends.
Not evidence: a long queue that moves fast.
Mitigation: refuse at the gateway what cannot be served in time; then more replicas, or what
`barostat diagnose` says holds the queue.
Source: Little's law; vLLM 0.32.0 v1/metrics/stats.py (queue time is taken when a request finishes).
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert
from barostat.alerts.expressions import WINDOW_S
from barostat.alerts.named.capacity_waiting import FEW
from barostat.alerts.recorded import CAPACITY_WAITING, FINISHED
from barostat.alerts.terms import Terms


def expression(terms: Terms) -> str:
    """How long the queue takes at the present pace; without bound where nothing finishes."""
    waiting = f"avg_over_time({CAPACITY_WAITING}{terms.matchers()}[{terms.span(WINDOW_S)}])"
    return f"{waiting} / {FINISHED}{terms.matchers()} > {terms.queue_s:g} and {waiting} >= {FEW}"


ALERT = Alert(
    "BarostatQueueAge", "whoever comes now waits longer than a request may", "critical", "engine", expression,
    WHERE + ": a request that comes now waits {{ $value | humanizeDuration }} (+Inf: nothing finishes)",
    holds_s=120.0, within_s=540.0,
    hides=("BarostatCapacityWaiting", "BarostatExhaustionForecast", "BarostatSloFastBurn", "BarostatSloSlowBurn",
           "BarostatGatewayRefusals", "BarostatEngineRefusals"),
)  # fmt: skip
