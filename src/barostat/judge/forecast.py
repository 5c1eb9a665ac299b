"""When will the KV pool be full, if what is going on goes on?

Usage alone is a bad prophet: every start of a healthy load looks like a climb to the ceiling. So the pool is forecast as demand:

    tokens(t) = running(t) x held(t)         running by its trend; held per request towards what a request of this shape holds on average

and the forecast is only given where demand has a reason to grow past the pool: more requests arriving than finishing, or requests
that have not yet grown to their usual length.
"""

from __future__ import annotations

from barostat.core.diagnosis import Forecast
from barostat.core.signal import Signal
from barostat.core.window import Window

HORIZON_S = 300.0
"""Beyond this a trend of seconds says nothing."""
RECENT_S = 60.0
"""The trend is read off this much of the window's end: older points describe another load."""
MIN_POINTS = 3
MIN_USAGE_RATIO = 0.15
"""Below this a slope is the noise of single requests."""
STEADY_CORRELATION = 0.85
"""Correlation of usage with time from which a climb counts as one: noise of the same size stays below."""
CEILING_RATIO = 0.97
"""Full for practical purposes: the next request's blocks are not there."""


def forecast(window: Window) -> Forecast:
    """Seconds until the pool is full, or None with the reason.

    Source: held tokens grow by one per running request and step; vLLM 0.32.0 BlockPool.get_usage excludes evictable cached blocks.
    """
    usage = window.fresh("kv_usage_ratio")
    running = window.fresh("running_requests")
    if usage is None or running is None:
        return Forecast(None, "usage and running requests are not both measured")
    if usage.last >= CEILING_RATIO:
        return Forecast(None, "the pool is full already")
    recent = usage.since(window.at - RECENT_S)
    load = running.since(window.at - RECENT_S)
    if recent is None or load is None or len(recent.points) < MIN_POINTS:
        return Forecast(None, "too few scrapes for a trend")
    slope = recent.slope_per_s()
    if slope is None or slope <= 0 or recent.last < MIN_USAGE_RATIO:
        return Forecast(None, "usage is not rising")
    if not _rises_steadily(recent):
        return Forecast(None, "usage moves up and down without a trend")
    growth = _growth_per_s(load)
    waiting = window.fresh("capacity_waiting_requests")
    queueing = waiting is not None and waiting.last > 0
    plateau = _plateau_ratio(window, load.last)
    if growth <= 0 and not queueing and (plateau is None or plateau < CEILING_RATIO):
        return Forecast(None, "running requests do not grow, and at their usual length they fit")
    seconds = (1.0 - recent.last) / slope
    if growth > 0 and plateau is not None and plateau < CEILING_RATIO:
        # Running requests grow: at which number of them would their usual length fill the pool?
        fits = load.last / plateau
        seconds = max(seconds, (fits - load.last) / growth)
    if seconds > HORIZON_S:
        return Forecast(None, f"at this rate the pool lasts longer than {HORIZON_S:.0f} s")
    reason = "running requests grow" if growth > 0 else "requests queue" if queueing else "requests still grow to their usual length"
    return Forecast(seconds, f"KV usage rises by {slope * 60:.0%} a minute from {recent.last:.0%}, {reason}")


def _rises_steadily(usage: Signal) -> bool:
    """True if time explains most of the usage (correlation), and it still stands near its highest."""
    slope = usage.slope_per_s() or 0.0
    at = sum(point.at for point in usage.points) / len(usage.points)
    time_spread = sum((point.at - at) ** 2 for point in usage.points)
    value_spread = sum((point.value - usage.mean) ** 2 for point in usage.points)
    if value_spread <= 0:
        return False
    correlation = slope * (time_spread / value_spread) ** 0.5
    return correlation >= STEADY_CORRELATION and usage.last >= usage.high - 0.05


def _growth_per_s(running: Signal) -> float:
    """Growth of running requests per second that still goes on: 0 where the later half no longer grows."""
    slope = running.slope_per_s() or 0.0
    middle = running.points[len(running.points) // 2].at
    later = running.since(middle)
    late = later.slope_per_s() if later is not None and len(later.points) >= 2 else slope
    still = min(slope, late or 0.0)
    # One request more or less in a minute is no trend.
    return still if still * RECENT_S >= max(1.0, 0.1 * running.last) else 0.0


def _plateau_ratio(window: Window, running: float) -> float | None:
    """Share of the pool that `running` requests of the shape seen hold on average once they are in full swing; None if not known.

    A request holds its prompt at once and its output as it grows: on average prompt plus half the output.
    """
    pool = window.fresh("kv_pool_tokens")
    prompt = window.fresh("prompt_tokens_mean") or window.fresh("prompt_tokens_p50")
    output = window.fresh("output_tokens_mean") or window.fresh("output_tokens_p50")
    if pool is None or prompt is None or output is None or pool.last <= 0:
        return None
    block = window.fresh("block_size_tokens")
    rounding = block.last / 2 if block is not None else 0.0
    return running * (prompt.last + output.last / 2 + rounding) / pool.last
