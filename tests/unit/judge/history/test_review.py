"""What a month comes to: peaks, harm, growth, replicas."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.measured_past import month

from barostat.core.signal import Point
from barostat.judge.history.growth import CannotTell, Growth
from barostat.judge.history.review import Kept, review, shape_of
from barostat.judge.history.series import Series


def test_a_fleet_that_has_room_keeps_it() -> None:
    found = review(month(base=0.6))
    assert found.need is not None
    assert (found.need.now, found.need.have) == (2, 3)
    assert isinstance(found.growth, Growth)
    assert not found.growth.certain
    assert found.reach is not None
    assert not found.reach.already
    assert found.reach.soonest_days is None
    assert found.harm.preemptions == 0
    assert found.harm.worst_at is None


def test_a_fleet_that_grows_is_told_when_it_is_full() -> None:
    found = review(month(base=0.6, per_day=0.006))
    assert found.growth.per_day == pytest.approx(0.018, rel=0.05)  # type: ignore[union-attr]
    assert found.reach is not None
    assert found.reach.expected_days == pytest.approx((0.9 - 0.6 - 0.006 * 29) * 3 / 0.018, abs=4)
    assert found.need is not None
    assert found.need.later is not None
    assert found.need.later[1] >= 4


@pytest.mark.parametrize(
    ("nightly", "at_end", "have"),
    [(1, 1, 6), (6, 6, 6), (1, 8, 8)],
    ids=["scaled down for the night", "always the same", "made larger since"],
)
def test_an_autoscaled_fleet_is_judged_by_what_its_peak_had(
    nightly: int, at_end: int, have: int
) -> None:
    kept = month(replicas=6, base=0.6)
    there = [
        Point(point.at, 6.0 if point.value > 1.8 else nightly)
        for point in kept.line("demand_pools")
    ]
    found = review(
        replace(
            kept,
            lines={**kept.lines, "replicas": (*there[:-1], Point(there[-1].at, float(at_end)))},
        )
    )
    assert found.replicas == (min(nightly, at_end), max(6, at_end), at_end)
    assert found.need is not None
    assert (found.need.now, found.need.have) == (4, have)
    assert found.reach is not None
    assert not found.reach.already


def test_demand_is_seen_above_what_there_is() -> None:
    found = review(month(base=1.3))
    assert found.need is not None
    assert found.need.now == 5  # 3.9 pools with a tenth free
    assert found.harm.preemptions is not None
    assert found.harm.preemptions > 0
    assert found.harm.hours_waiting is not None
    assert 0 < found.harm.hours_waiting < found.harm.hours
    assert (
        found.harm.worst_at == max(found.kept.line("preemptions"), key=lambda point: point.value).at
    )


def test_the_busiest_hour_is_the_afternoon() -> None:
    assert max(review(month()).by_hour, key=lambda hour: hour.usual).hour in (13, 14)


def test_a_week_cannot_tell_growth() -> None:
    found = review(month(days=7))
    assert isinstance(found.growth, CannotTell)
    assert found.reach is None
    assert found.need is not None
    assert found.need.later is None


def test_what_was_not_kept_is_not_known() -> None:
    kept = month()
    found = review(replace(kept, lines={"replicas": kept.line("replicas")}, buckets={}))
    assert found.need is None
    assert found.requests_per_s is None
    assert found.harm.preemptions is None
    assert review(Kept(0.0, 1.0, 1.0, {})).replicas == (0, 0, 0)


def test_shapes_are_of_all_the_time_and_say_where_a_bucket_ends_them() -> None:
    at = (Point(1.0, 10.0), Point(2.0, 10.0))
    found = shape_of(
        [
            Series({"le": "1.0"}, at),
            Series({"le": "2.0"}, at),
            Series({"le": "+Inf"}, (Point(1.0, 40.0), Point(2.0, 40.0))),
        ]
    )
    assert found is not None
    assert found.p99 == 2.0
    assert found.beyond
    assert shape_of([]) is None
