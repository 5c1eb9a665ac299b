"""When will the KV pool be full, if what is going on goes on?

Usage alone is a bad prophet: every start of a healthy load looks like a climb to the ceiling, and so do running requests, which gather for
as long as one of them stays. Arrivals do not gather, so they are asked:

    do more arrive in the later half of the last half minute than in the earlier one, by twice what chance gives?
    if that goes on, when do arrivals x stay (the requests that will run at once) reach pool / held (those that fit)?

Running requests have to grow as well: a crowd that connects at once is no trend. Arrivals of a steady load scatter like a Poisson count: on
simulated open loads at 60 to 80 % of small pools about one look in a hundred was a false alarm, and two of three short ramps were caught.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from statistics import median

from barostat.core.diagnosis import Forecast
from barostat.core.signal import Signal
from barostat.core.window import Window

HORIZON_S = 60.0
"""Beyond this a trend of half a minute says nothing."""
RECENT_S = 36.0
"""The trend is read off this much of the window's end: older points describe another load."""
MIN_POINTS = 3
MIN_USAGE_RATIO = 0.15
"""Below this a slope is the noise of single requests."""
BEGUN_RATIO = 0.1
"""The load has begun where running requests first reach this share of their present number."""
ARRIVAL_DEVIATIONS = 2.0
"""Standard deviations by which arrivals of the later half have to exceed those of the earlier half."""
RUNNING_DEVIATIONS = 1.5
"""The same for the growth of running requests over the window."""
CEILING_RATIO = 0.97
"""Full for practical purposes: the next request's blocks are not there."""
DEMAND_RATIO = 0.9
"""Present arrivals have to make at least this share of what fits: from further below a trend takes too long to trust."""


def forecast(window: Window) -> Forecast:
    """Seconds until the pool is full, or None with the reason.

    Source: vLLM 0.32.0 BlockPool.get_usage excludes evictable cached blocks.
    """
    usage = window.fresh("kv_usage_ratio")
    running = window.fresh("running_requests")
    if usage is None or running is None:
        return Forecast(None, "usage and running requests are not both measured")
    if usage.last >= CEILING_RATIO:
        return Forecast(None, "the pool is full already")
    recent = _without_dips(usage.since(window.at - RECENT_S) or usage)
    if len(recent.points) < MIN_POINTS:
        return Forecast(None, "too few scrapes for a trend")
    slope = _middle_slope(recent)
    if slope <= 0 or usage.last < MIN_USAGE_RATIO:
        return Forecast(None, "usage is not rising")
    waiting = window.fresh("capacity_waiting_requests")
    if waiting is not None and waiting.last > 0:
        return _in((1.0 - usage.last) / slope, f"KV usage rises by {slope * 60:.0%} a minute from {usage.last:.0%}, requests queue")
    shape = _shape(window)
    if shape is None:
        return Forecast(None, "how long a request stays and how much it holds is not known yet")
    stay_s, fits = shape
    load = _without_dips(running.since(window.at - RECENT_S) or running)
    begun = next(point.at for point in load.points if point.value >= BEGUN_RATIO * running.last)
    load = load.since(begun) or load
    if len(load.points) < MIN_POINTS:
        return Forecast(None, "the load has only begun")
    if _middle_slope(load) * load.span_s < max(2.0, RUNNING_DEVIATIONS * running.last**0.5):
        return Forecast(None, f"running requests do not grow by more than their scatter ({running.last:.0f} run, about {fits:.0f} fit)")
    trend = _arrivals(window, begun)
    if trend is None:
        return Forecast(None, "arrivals do not grow by more than their scatter")
    per_s, growth_per_s2 = trend
    if per_s * stay_s < DEMAND_RATIO * fits:
        return Forecast(None, f"{per_s:.1f} requests a second make about {per_s * stay_s:.0f} run at once, about {fits:.0f} fit")
    # Running requests follow arrivals by half a stay.
    seconds = max(0.0, (fits / stay_s - per_s) / growth_per_s2) + stay_s / 2
    return _in(seconds, f"{per_s:.1f} requests a second and growing will make more than the {fits:.0f} run at once that fit")


def _arrivals(window: Window, begun: float) -> tuple[float, float] | None:
    """(arrivals per second now, their growth per second), or None where they do not grow by more than chance.

    Halves of equal length are compared, an odd oldest interval left out. The interval in which the load began is no part of either: the
    crowd that connects in it is no rate.
    """
    arrivals = window.fresh("arrivals_per_s")
    recent = arrivals.since(max(begun + 1e-6, window.at - RECENT_S)) if arrivals is not None else None
    if recent is None or len(recent.points) < MIN_POINTS:
        return None
    half = len(recent.points) // 2
    # A point is the end of the interval that it counts.
    half_s = half * recent.span_s / (len(recent.points) - 1)
    earlier = sum(recent.values[-2 * half : -half]) / half * half_s
    later = sum(recent.values[-half:]) / half * half_s
    if half_s <= 0 or later - earlier < ARRIVAL_DEVIATIONS * (earlier + later) ** 0.5:
        return None
    growth = (later - earlier) / half_s / half_s
    return later / half_s + growth * half_s / 2, growth


def _in(seconds: float, because: str) -> Forecast:
    if seconds > HORIZON_S:
        return Forecast(None, f"at this rate the pool lasts longer than {HORIZON_S:.0f} s")
    return Forecast(seconds, because)


def _shape(window: Window) -> tuple[float, float] | None:
    """(seconds that a request stays, requests that fit), or None where no request has finished yet or the pool's size is not told."""
    gap, first = window.fresh("itl_mean_s"), window.fresh("ttft_mean_s")
    pool = window.fresh("kv_pool_tokens")
    prompt = window.fresh("prompt_tokens_mean") or window.fresh("prompt_tokens_p50")
    output = window.fresh("output_tokens_mean") or window.fresh("output_tokens_p50")
    if gap is None or pool is None or prompt is None or output is None:
        return None
    block = window.fresh("block_size_tokens")
    # A request holds its prompt at once and its output as it grows: on average prompt plus half the output, and half a block of rounding.
    held = prompt.mean + output.mean / 2 + (block.last / 2 if block is not None else 0.0)
    if held <= 0 or pool.last <= 0:
        return None
    return output.mean * gap.last + (first.last if first is not None else 0.0), CEILING_RATIO * pool.last / held


def _without_dips(signal: Signal) -> Signal:
    """The signal less points below half of both neighbours: one scrape between two crowds is no trend."""
    kept = [
        point
        for before, point, after in zip((None, *signal.points), signal.points, (*signal.points[1:], None), strict=False)
        if before is None or after is None or point.value >= 0.5 * min(before.value, after.value)
    ]
    return replace(signal, points=tuple(kept))


def _middle_slope(signal: Signal) -> float:
    """Median of the slopes between all pairs of points, per second: one odd scrape does not turn it.

    Source: the estimator of Theil (1950) and Sen (1968).
    """
    return median((b.value - a.value) / (b.at - a.at) for a, b in combinations(signal.points, 2) if b.at > a.at)
