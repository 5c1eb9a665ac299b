"""Estimates whether demand grows and when it reaches capacity, from daily peaks, with an interval
or "inconclusive".

Demand has a weekly pattern, so only days with the same weekday are compared:

slope of each pair (same weekday)   the median of all is the growth
interval                            90 %, from the ranks (seasonal Kendall)

A trend is extrapolated over at most the time it was observed. Consecutive days are correlated, so
the interval is slightly too narrow.

Source: Sen 1968; Hirsch, Slack and Smith 1982.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from barostat.core.signal import Point

DAY_S = 86_400.0
WEEK_DAYS = 7
FEWEST_DAYS = 14
FEWEST_SHARE = 0.5
"""Days with less data than this share have no reliable peak."""
_NORMAL_90 = 1.645


@dataclass(frozen=True, slots=True)
class Growth:
    """The trend of daily peaks. Units: `per_day`, `low`, `high` in the measured unit per day;
    `level`: the last week's highest peak.
    """

    per_day: float
    low: float
    high: float
    level: float
    days: int

    @property
    def certain(self) -> bool:
        """True if it goes one way for sure."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class CannotTell:
    """Why no growth is stated."""

    why: str


@dataclass(frozen=True, slots=True)
class Reach:
    """When a level is reached. `already`: it is. None: not within `horizon_days`. `soonest` and
    `latest` from the interval's ends.
    """

    already: bool
    horizon_days: int
    expected_days: float | None = None
    soonest_days: float | None = None
    latest_days: float | None = None


def daily_peaks(points: Sequence[Point], step_s: float) -> list[Point]:
    """The highest value of each whole day (UTC) that was measured for at least half of it, dated
    with the day's beginning.
    """
    by_day: dict[int, list[float]] = {}
    for point in points:
        if math.isfinite(point.value):
            by_day.setdefault(int((point.at - step_s / 2) // DAY_S), []).append(point.value)
    whole = DAY_S / step_s
    last = max(by_day, default=0)
    return [
        Point(day * DAY_S, max(values))
        for day, values in sorted(by_day.items())
        if len(values) >= FEWEST_SHARE * whole and (day != last or len(values) >= 0.95 * whole)
    ]


def growth(peaks: Sequence[Point]) -> Growth | CannotTell:
    """The growth of daily peaks, or why it is unknown."""
    if len(peaks) < FEWEST_DAYS:
        return CannotTell(
            f"{len(peaks)} whole days were measured: growth is told from {FEWEST_DAYS} on, "
            "because a week has its own pattern"
        )
    days = [(round(point.at / DAY_S), point.value) for point in peaks]
    slopes = sorted(
        (two[1] - one[1]) / (two[0] - one[0])
        for one, two in combinations(days, 2)
        if (two[0] - one[0]) % WEEK_DAYS == 0
    )
    if len(slopes) < WEEK_DAYS:
        return CannotTell(
            f"too few of the {len(peaks)} days have one of the same weekday beside them: "
            "there are gaps"
        )
    seasons = Counter(day % WEEK_DAYS for day, _ in days)
    variance = sum(count * (count - 1) * (2 * count + 5) / 18 for count in seasons.values())
    reach = _NORMAL_90 * math.sqrt(variance)
    low = slopes[max(0, math.floor((len(slopes) - reach) / 2) - 1)]
    high = slopes[min(len(slopes) - 1, math.ceil((len(slopes) + reach) / 2))]
    return Growth(
        median(slopes),
        low,
        high,
        max(value for _, value in days[-WEEK_DAYS:]),
        days[-1][0] - days[0][0] + 1,
    )


def reach(found: Growth, capacity: float) -> Reach:
    """When the daily peak reaches that capacity."""
    horizon = found.days
    if found.level >= capacity:
        return Reach(True, horizon)

    def after(per_day: float) -> float | None:
        days = (capacity - found.level) / per_day if per_day > 0 else math.inf
        return days if days <= horizon else None

    return Reach(False, horizon, after(found.per_day), after(found.high), after(found.low))
