"""An engine that is up, has requests waiting, runs none of them and gives nothing.

Meaning: for three minutes requests waited at every look, none ran, and neither a token was
generated nor a prompt finished.
Impact: this replica takes requests and answers none; a load balancer that counts connections sends
it more.
Evidence: vllm:num_requests_waiting above 0, vllm:num_requests_running 0, both throughout, and the
counters of tokens standing still.
Not evidence: an engine that was put to sleep on purpose (vllm:engine_sleep_state, 0.11.1 on). The
queue of an engine that is starting.
Mitigation: a request that can never fit, or grammar and connector states that never come, hold the
queue: `barostat diagnose` says which.
Source: vLLM 0.32.0 v1/core/sched/scheduler.py (waiting and skipped requests); the symptom
queue-without-work.
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert
from barostat.alerts.named._stand_still import without_tokens
from barostat.alerts.named.stalled_tokens import WINDOW_S
from barostat.alerts.recorded import ASLEEP, RUNNING, WAITING
from barostat.alerts.terms import Terms


def expression(terms: Terms) -> str:
    """Waiting throughout, none running, awake, and nothing produced."""
    window = f"{terms.matchers()}[{terms.span(WINDOW_S)}]"
    return (
        f"min_over_time({WAITING}{window}) > 0 and max_over_time({RUNNING}{window}) == 0 "
        f"and {without_tokens(terms, WINDOW_S)} "
        f"unless {ASLEEP}{terms.matchers()} == 1"
    )


ALERT = Alert(
    "BarostatGivesNothing", "an engine is up and gives nothing", "critical", "engine", expression,
    WHERE + ": {{ $value | humanize }} requests wait, none runs, and nothing has come for 3 minutes",
    holds_s=60.0, within_s=420.0,
    hides=(
        "BarostatCapacityWaiting", "BarostatQueueAge", "BarostatExhaustionForecast", "BarostatSloFastBurn", "BarostatSloSlowBurn",
        "BarostatGatewayRefusals", "BarostatGatewayNoAnswers", "BarostatEngineRefusals",
    ),
)  # fmt: skip
