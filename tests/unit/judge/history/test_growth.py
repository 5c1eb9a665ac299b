"""Growth is told from enough days, with an interval, without being led astray by weekends."""

from __future__ import annotations

import math
import random

import pytest

from barostat.core.signal import Point
from barostat.judge.history.growth import DAY_S, CannotTell, Growth, daily_peaks, growth, reach

WEEK = (1.0, 1.0, 1.0, 1.0, 1.0, 0.6, 0.6)


def days(count: int, per_day: float, scatter: float = 0.0, seed: int = 1) -> list[Point]:
    dice = random.Random(seed)
    return [
        Point(day * DAY_S, 2.0 * WEEK[day % 7] + per_day * day + dice.gauss(0.0, scatter))
        for day in range(count)
    ]


def told(points: list[Point]) -> Growth:
    found = growth(points)
    assert isinstance(found, Growth)
    return found


@pytest.mark.parametrize("first", range(7))
def test_weekends_are_no_growth(first: int) -> None:
    found = told(days(30, 0.0)[first:])
    assert found.per_day == pytest.approx(0.0)
    assert not found.certain


def test_growth_is_found_below_its_scatter_and_has_an_interval() -> None:
    found = told(days(60, 0.02, scatter=0.1))
    assert found.low <= 0.02 <= found.high
    assert found.certain


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    held = sum(
        one.low <= 0.01 <= one.high
        for seed in range(200)
        for one in [told(days(28, 0.01, 0.2, seed))]
    )
    assert 180 <= held <= 198


@pytest.mark.parametrize("count", [14, 20, 28, 60])
def test_what_falls_has_the_interval_of_what_grows(count: int) -> None:
    rising = days(count, 0.01, 0.2)
    up, down = told(rising), told([Point(point.at, -point.value) for point in rising])
    assert (down.low, down.per_day, down.high) == pytest.approx((-up.high, -up.per_day, -up.low))


@pytest.mark.parametrize("count", [0, 1, 13])
def test_a_short_history_tells_nothing(count: int) -> None:
    found = growth(days(count, 0.1))
    assert isinstance(found, CannotTell)
    assert f"{count} whole days" in found.why


def test_when_it_is_full() -> None:
    found = Growth(per_day=0.1, low=0.05, high=0.2, level=2.0, days=30)
    soon = reach(found, 3.0)
    assert not soon.already
    assert (soon.soonest_days, soon.expected_days, soon.latest_days) == pytest.approx(
        (5.0, 10.0, 20.0)
    )
    assert reach(found, 2.0).already
    assert reach(found, 9.0).soonest_days is None  # further than a trend of 30 days reaches


def test_peaks_are_of_whole_days() -> None:
    hourly = [Point(3600.0 * (hour + 1), float(hour % 24)) for hour in range(60)]
    hourly[3] = Point(hourly[3].at, math.nan)
    assert daily_peaks(hourly, 3600.0) == [Point(0.0, 23.0), Point(DAY_S, 23.0)]
    assert daily_peaks(hourly[:10], 3600.0) == []
