"""The capacity review: what the fleet has, what traffic asks of it, how often it hurt, when it will
not fit, and how many replicas that is.

Demand is measured in pools: the KV that running requests hold, and what those that wait would hold
if they ran as well (as much each as one that runs). A full pool bounds the first and not the sum,
so that demand is seen above what there is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median

from barostat.core.signal import Point
from barostat.engines.vllm.metrics.quantiles import Histogram, histogram, quantile
from barostat.judge.history.growth import CannotTell, Growth, Reach, daily_peaks, growth, reach
from barostat.judge.history.series import Series

HEADROOM_RATIO = 0.1
"""Share of the pool kept free for the growth of running requests, as in the limits."""
HOUR_S = 3600.0

Points = tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """The queried history, step by step: sums over the fleet by name, and the gains of histogram
    buckets.
    """

    start: float
    end: float
    step_s: float
    lines: Mapping[str, Points]
    buckets: Mapping[str, Sequence[Series]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    prefix: str = "vllm:"
    """What the metrics' names begin with there."""

    def line(self, name: str) -> Points:
        """The points of that line; none where it was not kept."""
        return self.lines.get(name, ())


@dataclass(frozen=True, slots=True)
class Shape:
    """Lengths or latencies over the whole time. None: nothing was observed. `beyond`: the 99th
    percentile lies above the last bucket.
    """

    p50: float
    p95: float
    p99: float
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of the day (UTC): the median day and the busiest one."""

    hour: int
    usual: float
    most: float


@dataclass(frozen=True, slots=True)
class Harm:
    """Harm in the reviewed period. `hours_*`: hours within which it happened; None: not measured."""

    preemptions: float | None = None
    per_thousand: float | None = None
    hours_preempting: float | None = None
    hours_waiting: float | None = None
    hours: float = 0.0
    worst_at: float | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """Replicas that the peak needs with headroom, now and at the end of the horizon (None: cannot
    be told).

    `have`: what the peak had, or what there is at the end if that is more: of an autoscaled fleet
    the end says what the hour asked for.
    """

    now: int
    later: tuple[int, int] | None = None
    have: int = 0


@dataclass(frozen=True, slots=True)
class Review:
    """A review of the past weeks."""

    kept: Kept
    replicas: tuple[int, int, int]
    """Fewest, most, and at the end."""
    requests_per_s: tuple[float, float] | None
    """Mean, and the highest step's mean."""
    shapes: Mapping[str, Shape]
    by_hour: tuple[Hour, ...]
    peak: Point | None
    peaks: tuple[Point, ...]
    harm: Harm
    growth: Growth | CannotTell
    reach: Reach | None
    need: Need | None


def review(kept: Kept) -> Review:
    """The review of what was kept."""
    counts = [point.value for point in kept.line("replicas")]
    replicas = (int(min(counts)), int(max(counts)), int(counts[-1])) if counts else (0, 0, 0)
    requests = [point.value for point in kept.line("requests_per_s")]
    demand = kept.line("demand_pools")
    peaks = tuple(daily_peaks(demand, kept.step_s))
    grown = growth(peaks)
    peak = max(demand, key=lambda point: point.value, default=None)
    have = replicas[2] if peak is None else max(replicas[2], _there(kept, peak.at, replicas[1]))
    usable = have * (1 - HEADROOM_RATIO)
    reached = reach(grown, usable) if isinstance(grown, Growth) and usable > 0 else None
    return Review(
        kept,
        replicas,
        (sum(requests) / len(requests), max(requests)) if requests else None,
        {
            name: shape
            for name, series in kept.buckets.items()
            if (shape := shape_of(series)) is not None
        },
        by_hour(kept.line("requests_per_s")),
        peak,
        peaks,
        harm_of(kept),
        grown,
        reached,
        _need(peak, grown, have) if peak is not None else None,
    )


def _there(kept: Kept, at: float, otherwise: int) -> int:
    """The replicas of that step."""
    return next((int(point.value) for point in kept.line("replicas") if point.at == at), otherwise)


def shape_of(series: Sequence[Series]) -> Shape | None:
    """Quantiles of what the buckets gained in all the time."""
    whole: Histogram | None = histogram(
        [
            (one.labels, sum(point.value for point in one.points if point.value > 0))
            for one in series
        ]
    )
    if whole is None:
        return None
    found = [quantile(whole, share) for share in (0.5, 0.95, 0.99)]
    p50, p95, p99 = found
    return (
        None
        if p50 is None or p95 is None or p99 is None
        else Shape(p50.value, p95.value, p99.value, p99.beyond)
    )


def by_hour(points: Sequence[Point]) -> tuple[Hour, ...]:
    """For each hour of the day that was seen: the median of its values and the highest."""
    found: dict[int, list[float]] = {}
    for point in points:
        found.setdefault(datetime.fromtimestamp(point.at - 1, UTC).hour, []).append(point.value)
    return tuple(Hour(hour, median(values), max(values)) for hour, values in sorted(found.items()))


def harm_of(kept: Kept) -> Harm:
    """Preemptions and queues within the time, and the step that was worst: most preemptions, else
    the longest queue.
    """
    preempted, waiting, requests = (
        kept.line("preemptions"),
        kept.line("waiting"),
        kept.line("requests_per_s"),
    )
    hours = len(kept.line("replicas")) * kept.step_s / HOUR_S
    total = sum(point.value for point in preempted) if preempted else None
    finished = sum(point.value for point in requests) * kept.step_s
    worst = next(
        (
            max(line, key=lambda point: point.value)
            for line in (preempted, waiting)
            if line and max(p.value for p in line) > 0.5
        ),
        None,
    )
    return Harm(
        total,
        1000 * total / finished if total is not None and finished > 0 else None,
        sum(point.value >= 0.5 for point in preempted) * kept.step_s / HOUR_S
        if preempted
        else None,
        sum(point.value >= 0.5 for point in waiting) * kept.step_s / HOUR_S if waiting else None,
        hours,
        worst.at if worst is not None else None,
    )


def _need(peak: Point, grown: Growth | CannotTell, have: int) -> Need:
    def replicas(pools: float) -> int:
        return max(1, math.ceil(pools / (1 - HEADROOM_RATIO) - 1e-9))

    if not isinstance(grown, Growth):
        return Need(replicas(peak.value), None, have)
    low, high = (
        max(0.0, grown.level + per_day * grown.days) for per_day in (grown.low, grown.high)
    )
    return Need(replicas(peak.value), (replicas(low), replicas(high)), have)
