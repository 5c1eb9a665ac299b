"""Preemption as it happens, seen in the gauges: requests that ran, or had begun to answer, wait
again.

The engine's own counter moves only when a victim emits its next token, which under pressure may be
minutes later, or never.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from barostat.catalog.polling import GAP_S
from barostat.core.verdict import Evidence
from barostat.core.window import Window
from barostat.symptoms._holding import ENOUGH_READINGS, RECENT_S, holding, recent_mean, together
from barostat.symptoms._lines import plural

FULL_BEFORE_RATIO = 0.9
"""Only a pool this full throws requests out."""
LARGE_PART = 0.5
"""So large a part of what ran, back in the queue from one reading to the next, cannot be requests
that end while others arrive.
"""


@dataclass(frozen=True, slots=True)
class SentBack:
    """The preempted requests, in a sentence, with a confidence (0..1)."""

    requests: float
    because: str
    confidence: float
    evidence: tuple[Evidence, ...]
    everything: bool = False
    """All that ran was thrown out, and nothing has run since: the next one does not fit either."""


def _collapsed(window: Window) -> SentBack | None:
    """Most of what ran is back in the queue, from a full pool, between two readings."""
    usage, running, waiting = (
        window.fresh(name) for name in ("kv_usage_ratio", "running_requests", "waiting_requests")
    )
    if usage is None or running is None or waiting is None:
        return None
    moments = [
        moment for moment in together(usage, running, waiting) if moment.at >= window.at - RECENT_S
    ]
    for place, (before, after) in enumerate(pairwise(moments)):
        (used, runs, waits), (_, runs_after, waits_after) = before.values, after.values
        lost = runs - runs_after
        if (
            used < FULL_BEFORE_RATIO
            or lost < max(1.0, LARGE_PART * runs)
            or waits_after - waits < lost
            or after.at - before.at > GAP_S
        ):
            continue
        stays = place + 2 < len(moments) and moments[place + 2].values[1] <= runs_after
        if lost < 2 and not stays:
            continue
        if _finished_between(window, before.at, after.at) >= lost:
            continue  # in a closed loop each one that ends comes back as one that waits
        evidence = (
            usage.evidence(window.at, used, "before"),
            running.evidence(window.at, runs_after),
            waiting.evidence(window.at, waits_after),
        )
        because = (
            f"{lost:.0f} of {plural(runs, 'running request')} fell back into the queue from a "
            "full pool"
        )
        return SentBack(
            lost,
            because,
            0.75,
            evidence,
            everything=stays and lost >= runs and moments[-1].values[1] <= 0,
        )
    return None


def _finished_between(window: Window, since: float, until: float) -> float:
    """How many requests ended between two instants, as far as it was counted; 0 where it was
    not.
    """
    rate = window.fresh("finished_per_s")
    if rate is None:
        return 0.0
    near = [point.value for point in rate.points if since < point.at <= until + GAP_S / 12]
    return near[0] * (until - since) if near else 0.0


def sent_back(window: Window) -> SentBack | None:
    """Requests that wait again after they had run, or None if none were seen."""
    estimated = window.fresh("preempted_waiting_requests")
    if estimated is not None:
        held = holding(together(estimated), lambda count: count >= 1)
        if held.holds and held.readings >= ENOUGH_READINGS:
            usual = recent_mean(estimated)
            because = (
                f"requests that had begun to answer wait again, {usual:.1f} on average, {held.how}"
            )
            return SentBack(
                usual,
                because,
                min(held.confidence, 0.85),
                (estimated.evidence(window.at, usual, "mean"),),
            )
    return _collapsed(window)
