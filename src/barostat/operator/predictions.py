"""Harm predicted if the trend of one replica continues, and replicas that differ from the others.

the pool fills          judge/diagnosis/forecast.py, by the report
the SLO breaks          its p99 rises steadily and reaches the limit within the horizon
host memory leaks       the engine's host memory rises for an hour and reaches the limit
KV blocks leak          blocks stay held while no request runs
a replica is slower     its time per token is above that of its equals, over several looks
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median, pstdev
from typing import NamedTuple

from barostat.core.diagnosis import ReplicaReport
from barostat.core.limits import ServiceLevel
from barostat.core.signal import Signal
from barostat.core.units import seconds
from barostat.core.window import Window
from barostat.operator.step import Prediction

SLO_HORIZON_S = 900.0
LEAK_HORIZON_S = 24 * 3600.0
LEAK_SEEN_S = 3600.0
LEAST_POINTS = 4
LEAST_SLO_SPAN_S = 40.0
IDLE_HELD_RATIO = 0.02
IDLE_SEEN_S = 60.0
SLOWER_BY = 1.5
EQUALS = 3
"""Fewer replicas have no middle to differ from."""
STEADY_SHARE = 0.75
"""Share of a trend's steps that must rise: in a noisy constant series, half of them do."""
_SLO_SIGNALS = (("ttft_p99_s", "ttft_p99_seconds"), ("itl_p99_s", "itl_p99_seconds"))


Points = tuple[tuple[float, float], ...]
"""(unix seconds, value), the oldest first."""


class PoolLook(NamedTuple):
    """The pool at one look. `at`: unix seconds. `usage`: ratio of the blocks. `running`: requests."""

    at: float
    usage: float
    running: float


USAGE_SEEN_S = 540.0
USAGE_HORIZON_S = 600.0
LEAST_USAGE = 0.5
"""Below this a slope is the noise of single requests."""
QUARTERS = 4
SURE = 3.0
"""The rise has to be this many times its standard error."""
DEMAND_SHARE = 0.5
"""Running requests must rise by half as much as usage, relative to before: a few requests that grow
long end by themselves.
"""
INDEPENDENT_S = 30.0
"""Usage at two instants closer than this is of the same requests: no two measurements."""


@dataclass(frozen=True, slots=True)
class MemoryTrend:
    """Host memory of one replica: (unix seconds, bytes), the oldest first, and its limit."""

    points: Points
    limit_bytes: float


def predictions(
    reports: Sequence[ReplicaReport],
    windows: Mapping[str, Window],
    slo: ServiceLevel,
    memory: Mapping[str, MemoryTrend] | None = None,
    looks: Mapping[str, Sequence[PoolLook]] | None = None,
) -> tuple[Prediction, ...]:
    """Return the predictions for the replicas of one workload, the nearest first. `looks`: at the
    KV pool, over a longer time than the windows.
    """
    found: list[Prediction] = []
    for report in reports:
        window = windows.get(report.name)
        if window is None:
            continue
        coming = report.forecast
        if coming.exhaustion_in_s is not None:
            sentence = (
                f"{report.name}: the KV pool will be full in about "
                f"{seconds(coming.exhaustion_in_s)}: {coming.because}."
            )
            found.append(Prediction("PoolWillFill", sentence, coming.exhaustion_in_s))
        elif (in_s := pool_fills_in_s((looks or {}).get(report.name, ()))) is not None:
            sentence = (
                f"{report.name}: KV usage has risen for {seconds(USAGE_SEEN_S)}; the pool will be "
                f"full in about {seconds(in_s)}."
            )
            found.append(Prediction("PoolWillFill", sentence, in_s))
        found += _slo(report.name, window, slo)
        found += _held_for_nobody(report.name, window)
    for name, trend in (memory or {}).items():
        found += _leak(name, trend)
    found += _slower(windows)
    return tuple(sorted(found, key=lambda one: float("inf") if one.in_s is None else one.in_s))


def pool_fills_in_s(looks: Sequence[PoolLook]) -> float | None:
    """Seconds until usage reaches 1 if it goes on rising as in the last minutes; None where it does
    not rise for sure, takes longer than the horizon, or rises without more running requests.
    """
    if len(looks) < 4 * QUARTERS or looks[-1].at - looks[0].at < USAGE_SEEN_S:
        return None
    size = len(looks) // QUARTERS
    parts = [looks[at : at + size] for at in range(len(looks) - QUARTERS * size, len(looks), size)]
    means = [fmean(one.usage for one in part) for part in parts]
    if means[-1] < LEAST_USAGE or any(after <= before for before, after in pairwise(means)):
        return None
    apart_s = parts[1][0].at - parts[0][0].at
    independent = max(1.0, apart_s / INDEPENDENT_S)
    error = fmean(pstdev([one.usage for one in part]) for part in parts) * (2 / independent) ** 0.5
    rise = means[-1] - means[0]
    if rise < SURE * error:
        return None
    before, after = (fmean(one.running for one in part) for part in (parts[0], parts[-1]))
    if (after - before) * means[0] < DEMAND_SHARE * rise * before:
        return None
    in_s = (1.0 - means[-1]) / (rise / ((QUARTERS - 1) * apart_s)) - apart_s / 2
    return max(0.0, in_s) if in_s <= USAGE_HORIZON_S else None


def _slo(name: str, window: Window, slo: ServiceLevel) -> list[Prediction]:
    found = []
    for signal_name, limit_name in _SLO_SIGNALS:
        limit, signal = getattr(slo, limit_name), window.fresh(signal_name)
        if limit is None or signal is None or signal.last >= limit:
            continue
        if signal.span_s < LEAST_SLO_SPAN_S or (slope := _steady_slope(signal)) is None:
            continue
        in_s = (limit - signal.last) / slope
        if in_s <= min(SLO_HORIZON_S, 3.0 * signal.span_s):
            sentence = (
                f"{name}: {signal_name} is {signal.last:.3g} s and rises by {slope * 60:.2g} s a "
                f"minute; it reaches the SLO of {limit:g} s in about {seconds(in_s)}."
            )
            found.append(Prediction("SloWillBreak", sentence, in_s))
    return found


def _steady_slope(signal: Signal) -> float | None:
    """The slope of a signal that rises at nearly every step; None for any other."""
    points = signal.points
    if len(points) < LEAST_POINTS:
        return None
    rises = sum(after.value > before.value for before, after in pairwise(points))
    slope = signal.slope_per_s()
    if slope is None or slope <= 0 or rises < STEADY_SHARE * (len(points) - 1):
        return None
    return slope


def _held_for_nobody(name: str, window: Window) -> list[Prediction]:
    """Blocks that no running request explains: held for a while in which nothing runs or waits."""
    usage, running = window.fresh("kv_usage_ratio"), window.fresh("running_requests")
    waiting = window.fresh("waiting_requests")
    if usage is None or running is None or waiting is None:
        return []
    idle_s = running.held_for_s(lambda value: value == 0)
    held_s = usage.held_for_s(lambda value: value > IDLE_HELD_RATIO)
    if idle_s is None or held_s is None or waiting.high > 0 or min(idle_s, held_s) < IDLE_SEEN_S:
        return []
    sentence = (
        f"{name}: {usage.last:.0%} of the KV pool has been held for {seconds(min(idle_s, held_s))} "
        "while no request runs: blocks leak, or a connector holds them for a transfer."
    )
    return [Prediction("KvBlocksUnexplained", sentence)]


def _leak(name: str, trend: MemoryTrend) -> list[Prediction]:
    """Host memory that rises for an hour and reaches the container's limit within a day."""
    points = trend.points
    if len(points) < 2 * LEAST_POINTS or points[-1][0] - points[0][0] < LEAK_SEEN_S:
        return []
    quarter = max(2, len(points) // 4)
    parts = [points[at : at + quarter] for at in range(0, len(points) - quarter + 1, quarter)]
    lows = [min(value for _, value in part) for part in parts]
    if any(after <= before for before, after in pairwise(lows)):
        return []  # what is freed again is no leak: each quarter's lowest value has to rise
    slope = (lows[-1] - lows[0]) / (parts[-1][0][0] - parts[0][0][0])
    in_s = (trend.limit_bytes - points[-1][1]) / slope
    if not 0 < in_s <= LEAK_HORIZON_S:
        return []
    sentence = (
        f"{name}: host memory rises by {slope * 3600 / 2**20:.0f} MiB an hour; it reaches the limit "
        f"of {trend.limit_bytes / 2**30:.3g} GiB in about {seconds(in_s)}. Restart the replica in "
        "quiet hours, one at a time, before it is OOM-killed."
    )
    return [Prediction("HostMemoryLeaks", sentence, in_s)]


def _slower(windows: Mapping[str, Window]) -> list[Prediction]:
    """Replicas whose time per token stays above that of their equals at a comparable load."""
    paces: dict[str, tuple[float, float]] = {}
    for name, window in windows.items():
        gap, running = window.fresh("itl_mean_s"), window.fresh("running_requests")
        if gap is not None and running is not None and running.mean > 0:
            paces[name] = gap.mean, running.mean
    if len(paces) < EQUALS:
        return []
    middle = median(pace for pace, _ in paces.values())
    load = median(running for _, running in paces.values())
    return [
        Prediction(
            "ReplicaSlower",
            f"{name}: a token takes {pace * 1000:.0f} ms, {pace / middle:.1f} times as long as on "
            f"the other replicas at a comparable load. Check its card: clocks, temperature, ECC.",
        )
        for name, (pace, running) in paces.items()
        if pace > SLOWER_BY * middle and running <= 1.25 * load
    ]
