"""The KV pool will be full within half an hour at the current rate.

Meaning: usage, averaged over five minutes, has risen by a tenth of the pool in half an hour, is
above a half, and its line reaches the top within the next half hour.
Impact: none yet; from there on requests wait, and then are thrown out.
Evidence: the trend of vllm:kv_cache_usage_perc. vLLM counts unused cached blocks as free, so this
is what running requests hold.
Not evidence: a high level. A constant 96 % with no request waiting is good use of the pool.
Mitigation: admit less at the gateway, or add a replica before it is needed: loading takes longer
than the rest of the way up.
Source: vLLM 0.32.0 v1/core/block_pool.py (usage is what is not free); Prometheus, predict_linear.
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert
from barostat.alerts.expressions import WINDOW_S
from barostat.alerts.recorded import KV_USAGE
from barostat.alerts.terms import Terms

TREND_S = 1800.0
RISEN_RATIO = 0.1
LOWEST_RATIO = 0.5


def expression(terms: Terms) -> str:
    """The level now, where the trend reaches the top in time and is one."""
    usage = KV_USAGE + terms.matchers()
    smooth = f"avg_over_time({usage}[{terms.span(WINDOW_S)}])"
    trend = f"[{terms.span(TREND_S)}:{terms.span(60.0)}]"
    ahead_s = TREND_S * terms.pace
    return (
        f"{smooth} > {LOWEST_RATIO} and predict_linear({smooth}{trend}, {ahead_s:g}) > 1 "
        f"and {smooth} - avg_over_time({usage}[{terms.span(WINDOW_S)}] offset "
        f"{terms.span(TREND_S)}) > {RISEN_RATIO}"
    )


ALERT = Alert(
    "BarostatExhaustionForecast", "the KV pool will be full within half an hour", "warning", "engine", expression,
    WHERE + ": the KV pool is {{ $value | humanizePercentage }} full and, at this pace, whole within half an hour",
    holds_s=300.0, within_s=2700.0,
)  # fmt: skip
