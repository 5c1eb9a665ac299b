"""When will the KV pool be full, if what is going on goes on?

Usage alone is a bad prophet: requests that started together grow together, and every start of a
healthy load looks like a climb to the ceiling. Running requests do not grow by ageing, so they are
asked, once those of the load's start have had the time to leave:

    trend   do they grow by about the same at every look, more than their own scatter explains? Then
    when do they reach those that fit? surge   did they grow by a good part within two looks, to
    nearly those that fit, while what arrives would make as many run for good?

A trend is reckoned on for half as long again as it was seen. On simulated steady loads at 60 to 80
% of pools for 15 to 100 requests, closed ones never warned; open ones did at one or two looks in a
hundred, in steep climbs that turned in time.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from statistics import median, stdev

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
ESTABLISHED_RATIO = 0.5
"""If the first sample is below this share of the current number, the load may have started just
before.
"""
STUDENT_T = {2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36}
"""Student's t by degrees of freedom that chance exceeds once in forty times."""
LEAST_SCATTER = 0.5
"""Requests: single steps are whole numbers, so three equal ones do not prove that nothing
scatters.
"""
REACH = 1.5
"""A trend is believed for this many times the span that it was seen for."""
SURGE_GROWTH_RATIO = 0.15
"""Smallest growth over two samples that counts as a surge, relative to the running requests."""
SURGE_RUNNING_RATIO = 0.8
"""Of those that fit: from further below a surge has too far to go."""
SURGE_ARRIVALS_S = 6.0
"""What arrives is counted over the intervals that end within this much: two of 5 s."""
CEILING_RATIO = 0.97
"""Full for practical purposes: the next request's blocks are not there."""


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
        return _in(
            (1.0 - usage.last) / slope,
            f"KV usage rises by {slope * 60:.0%} a minute from {usage.last:.0%}, requests queue",
        )
    shape = _shape(window)
    if shape is None:
        return Forecast(None, "how long a request stays and how much it holds is not known yet")
    stay_s, fits = shape
    load = _without_dips(running.since(window.at - RECENT_S) or running)
    begun_at = _begun_at(load)
    return _trend(load, begun_at + stay_s, fits) or _surge(window, load, begun_at, stay_s, fits)


def _trend(load: Signal, settled_at: float, fits: float) -> Forecast | None:
    """Running requests have grown steadily since the load settled and will outgrow the pool, or
    None.
    """
    settled = load.since(settled_at)
    if settled is None or len(settled.points) <= MIN_POINTS:
        return None
    slopes = [
        (after.value - before.value) / (after.at - before.at)
        for before, after in pairwise(settled.points)
    ]
    scatter = max(LEAST_SCATTER * len(slopes) / settled.span_s, stdev(slopes))
    if (
        sum(slopes) / len(slopes)
        < STUDENT_T[min(len(slopes) - 1, max(STUDENT_T))] * scatter / len(slopes) ** 0.5
    ):
        return None
    slope = (settled.last - settled.first) / settled.span_s
    seconds = max(0.0, fits - settled.last) / slope
    if seconds > min(HORIZON_S, REACH * settled.span_s):
        return None
    return Forecast(
        seconds,
        f"{settled.last:.0f} requests run, {slope * 60:.0f} more each minute, and about "
        f"{fits:.0f} fit",
    )


def _surge(window: Window, load: Signal, begun_at: float, stay_s: float, fits: float) -> Forecast:
    """Running requests have leapt to nearly those that fit, and what arrives keeps them there; or
    None with the reason.
    """
    told = f"{load.last:.0f} requests run, about {fits:.0f} fit"
    if len(load.points) < MIN_POINTS:
        return Forecast(None, f"the load has only begun: {told}")
    before, last = load.points[-3], load.points[-1]
    growth = last.value - before.value
    if growth < max(2.0, SURGE_GROWTH_RATIO * last.value) or last.value <= load.points[-2].value:
        return Forecast(None, f"running requests do not grow steadily: {told}")
    arrivals = window.fresh("arrivals_per_s")
    # The interval in which the load began is left out: the crowd that connects in it is no rate.
    counted = (
        None
        if arrivals is None
        else arrivals.since(max(begun_at + 1e-6, window.at - SURGE_ARRIVALS_S))
    )
    if counted is None or len(counted.points) < MIN_POINTS - 1:
        return Forecast(None, f"the load has only begun: {told}")
    if min(last.value, counted.mean * stay_s) < SURGE_RUNNING_RATIO * fits:
        return Forecast(
            None, f"what arrives makes about {counted.mean * stay_s:.0f} run at once: {told}"
        )
    took_s = last.at - before.at
    return _in(
        max(0.0, fits - last.value) / growth * took_s,
        f"{growth:.0f} more requests run than {took_s:.0f} s ago, {counted.mean:.1f} "
        f"arrive each second: {told}",
    )


def _begun_at(load: Signal) -> float:
    """Return the last time before the load started; the first sample if it may have started shortly
    before; otherwise long ago.
    """
    first = next(
        index for index, point in enumerate(load.points) if point.value >= BEGUN_RATIO * load.last
    )
    if first or load.first < ESTABLISHED_RATIO * load.last:
        return load.points[max(0, first - 1)].at
    return float("-inf")


def _in(seconds: float, because: str) -> Forecast:
    if seconds > HORIZON_S:
        return Forecast(None, f"at this rate the pool lasts longer than {HORIZON_S:.0f} s")
    return Forecast(seconds, because)


def _shape(window: Window) -> tuple[float, float] | None:
    """(seconds that a request stays, requests that fit), or None if no request has finished yet
    or the pool's size is not told.
    """
    gap, first = window.fresh("itl_mean_s"), window.fresh("ttft_mean_s")
    pool = window.fresh("kv_pool_tokens")
    prompt = window.fresh("prompt_tokens_mean") or window.fresh("prompt_tokens_p50")
    output = window.fresh("output_tokens_mean") or window.fresh("output_tokens_p50")
    if gap is None or pool is None or prompt is None or output is None:
        return None
    block = window.fresh("block_size_tokens")
    # A request holds its prompt at once and its output as it grows: on average prompt plus half the
    # output, and half a block of rounding.
    held = prompt.mean + output.mean / 2 + (block.last / 2 if block is not None else 0.0)
    if held <= 0 or pool.last <= 0:
        return None
    return output.mean * gap.last + (
        first.last if first is not None else 0.0
    ), CEILING_RATIO * pool.last / held


def _without_dips(signal: Signal) -> Signal:
    """The signal less points below half of both neighbours: one scrape between two crowds is no
    trend.
    """
    kept = [
        point
        for before, point, after in zip(
            (None, *signal.points), signal.points, (*signal.points[1:], None), strict=False
        )
        if before is None or after is None or point.value >= 0.5 * min(before.value, after.value)
    ]
    return replace(signal, points=tuple(kept))


def _middle_slope(signal: Signal) -> float:
    """Median of the slopes between all pairs of points, per second: one odd scrape does not turn
    it.

    Source: the estimator of Theil (1950) and Sen (1968).
    """
    return median(
        (b.value - a.value) / (b.at - a.at)
        for a, b in combinations(signal.points, 2)
        if b.at > a.at
    )
