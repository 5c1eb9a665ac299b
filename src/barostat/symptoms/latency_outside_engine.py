"""Clients wait far longer than the engine takes.

Meaning: the gateway's request time is much more than the upstream's, or than the engine's own
end-to-end time: the rest is in the gateway, the network, or in front of the engine's clock.

Impact: tuning the engine does not help.

Evidence: the upstream's share of the total in the access log; 99th percentiles at the gateway and
in the engine.

Not evidence: different populations: the engine counts finished requests only, so aborted requests
lengthen the gateway's tail. Slow readers of a stream.

Mitigation: look at the gateway's queue, its connection limits and buffering, TLS, retries; then
api-server-saturated.

Source: access-log fields for request and upstream time; `vllm:e2e_request_latency_seconds`.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window

NEEDS_ANY = ("gateway_duration_p99_s", "gateway_upstream_share_ratio")
SLOW_S = 1.0
"""Latencies below a second are not worth an explanation."""
OUTSIDE_RATIO = 2.0
UPSTREAM_SHARE_RATIO = 0.5
"""Most of the wait is outside the engine if it accounts for less than half of the time, or if the
gateway's tail is twice the engine's.
"""


def judge(window: Window) -> Verdict:
    """Present if most of the gateway's latency arises outside the engine."""
    duration, share = (
        window.fresh("gateway_duration_p99_s"),
        window.fresh("gateway_upstream_share_ratio"),
    )
    engine = window.fresh("e2e_p99_s")
    evidence = tuple(
        signal.evidence(window.at) for signal in (duration, share, engine) if signal is not None
    )
    slow = duration is None or duration.last >= SLOW_S
    if share is not None and share.last < UPSTREAM_SHARE_RATIO and slow:
        return Present(
            f"the engine accounts for only {share.last:.0%} of the gateway's latency",
            evidence,
            0.9 if duration is not None else 0.75,
        )
    if duration is not None and engine is not None:
        if duration.last >= OUTSIDE_RATIO * engine.last and duration.last - engine.last >= SLOW_S:
            because = (
                f"99th percentile {duration.last:.1f} s at the gateway, {engine.last:.1f} s in "
                "the engine"
            )
            return Present(because, evidence, 0.8)
        return Absent(
            f"99th percentile {duration.last:.1f} s at the gateway, {engine.last:.1f} s in the "
            f"engine: it arises in the engine",
            evidence,
        )
    if share is not None:
        return Absent(
            f"the engine accounts for {share.last:.0%} of the gateway's latency", evidence
        )
    return Unknown(
        "the engine's own latency was not measured", ("e2e_p99_s", "gateway_upstream_share_ratio")
    )


SYMPTOM = Symptom(
    name="latency-outside-engine",
    title="latency arises outside the engine",
    judge=judge,
    needs_any=NEEDS_ANY,
)
