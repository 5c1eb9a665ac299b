"""Requests are thrown out of the KV cache and computed again so often that it is the harm.

Meaning: over five minutes at least one preemption for every ten requests that finish, or one every
ten seconds beside three for every hundred; three in all at the least.
Impact: streams stall for seconds, throughput sags while the card is busy, and it feeds itself: what
stays longer overlaps more.
Evidence: vllm:num_preemptions_total against vllm:request_success_total.
Not evidence: a full pool that only queues. A few preemptions in an hour. Queue time, which knows
the first wait only.
Mitigation: cap max_tokens and concurrency at the edge at once; a watermark or fewer active
sequences on the engine. Not less gpu_memory_utilization: it shrinks the pool.
Source: vLLM 0.32.0 v1/core/sched/scheduler.py; the thresholds are those of the symptom
preemption-heavy.
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert
from barostat.alerts.expressions import WINDOW_S
from barostat.alerts.recorded import PREEMPTED_SHARE, PREEMPTIONS
from barostat.alerts.terms import Terms

HEAVY_PER_FINISHED = 0.1
HEAVY_PER_S = 0.1
RARE_PER_FINISHED = 0.03
FEW = 3


def expression(terms: Terms) -> str:
    """Per finished request; where none finishes the share is without bound, which is above every
    threshold.
    """
    share, often = PREEMPTED_SHARE + terms.matchers(), PREEMPTIONS + terms.matchers()
    window_s = WINDOW_S * terms.pace
    return (
        f"({share} >= {HEAVY_PER_FINISHED} or ({share} >= {RARE_PER_FINISHED} and {often} "
        f">= {HEAVY_PER_S})) "
        f"and {often} * {window_s:g} >= {FEW}"
    )


ALERT = Alert(
    "BarostatPreempting", "requests are thrown out of the KV cache and computed again", "critical", "engine", expression,
    WHERE + ": {{ $value | humanize }} preemptions per finished request (+Inf: none finishes)",
    holds_s=120.0, within_s=480.0,
    hides=(
        "BarostatCapacityWaiting", "BarostatQueueAge", "BarostatExhaustionForecast", "BarostatSloFastBurn", "BarostatSloSlowBurn",
        "BarostatGatewayRefusals", "BarostatEngineRefusals",
    ),
)  # fmt: skip
