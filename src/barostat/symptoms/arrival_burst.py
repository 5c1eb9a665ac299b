"""Requests arrive in bursts rather than evenly.

Meaning: within one reading many more requests arrive than on average. A trigger, not a cause.

Impact: requests that arrive together grow together: they fill the pool at the same moment and
preempt each other.

Evidence: peak over mean of arrivals between scrapes, beyond what chance gives for so few.

Not evidence: a high ratio of two arrivals to half of one. Bursts shorter than the scrape interval,
which cannot be seen.

Mitigation: spread retries and cron jobs (jitter); a queue with a deadline, or a token bucket, at
the edge.

Source: arrivals = finished requests plus growth of running and waiting between scrapes.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import TOO_FEW

BURST_RATIO = 3.0
"""A peak of three times the mean."""
SURPRISE = 3.0
"""Standard deviations above the mean: with few arrivals per reading a high peak is chance."""
NEEDS_ANY = ("arrival_burstiness", "arrivals_per_s")


def judge(window: Window) -> Verdict:
    """Present if arrivals peak far above their mean, and not by chance."""
    ratio, arrivals = window.fresh("arrival_burstiness"), window.fresh("arrivals_per_s")
    evidence = tuple(
        signal.evidence(window.at) for signal in (ratio, arrivals) if signal is not None
    )
    if arrivals is None or len(arrivals.points) < 4 or arrivals.span_s <= 0:
        if ratio is not None and ratio.last >= BURST_RATIO:
            return Present(f"arrivals peak at {ratio.last:.1f} times their mean", evidence, 0.6)
        return (
            Unknown(TOO_FEW)
            if ratio is None
            else Absent(f"arrivals peak at {ratio.last:.1f} times their mean", evidence)
        )
    every_s = arrivals.span_s / (len(arrivals.points) - 1)
    mean, peak = arrivals.mean * every_s, arrivals.high * every_s
    burst = peak / mean if mean > 0 else 0.0
    if burst >= BURST_RATIO and peak - mean >= SURPRISE * mean**0.5 + 1.0:
        return Present(
            f"{peak:.0f} requests arrived within {every_s:.0f} s, {burst:.1f} times the mean",
            evidence,
            0.85,
        )
    return Absent(f"arrivals peak at {burst:.1f} times their mean", evidence)


SYMPTOM = Symptom(
    name="arrival-burst", title="requests arrive in bursts", judge=judge, needs_any=NEEDS_ANY
)
