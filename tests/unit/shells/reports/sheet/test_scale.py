"""Axes end at values that a person would have chosen, and moments are written as a clock has
them.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.shells.reports.sheet.scale import instant, plain, top_of


@pytest.mark.parametrize(
    ("highest", "top"), [(0.0, 1.0), (1e-9, 1e-9), (35.0, 50.0), (0.97, 1.0), (1000.0, 1000.0)]
)
def test_an_axis_of_a_rate_ends_at_a_round_value_and_at_one_where_all_is_zero(
    highest: float, top: float
) -> None:
    assert top_of(highest) == pytest.approx(top)


@pytest.mark.parametrize(
    ("highest", "top"),
    [(0.0, 2.0), (1.0, 2.0), (3.0, 4.0), (9.0, 10.0), (13.0, 20.0), (35.0, 40.0), (101.0, 200.0)],
)
def test_an_axis_of_a_count_has_a_whole_half(highest: float, top: float) -> None:
    assert top_of(highest, whole=True) == top


@given(st.floats(0, 1e9))
def test_every_axis_reaches_its_value_and_a_count_is_never_halved(highest: float) -> None:
    assert top_of(highest, whole=True) % 2 == 0
    for top in (top_of(highest), top_of(highest, whole=True), top_of(highest, clock=True)):
        assert top >= highest * (1 - 1e-6)
        assert top <= max(2.0, 5.1 * highest)


def test_seconds_beyond_a_minute_end_at_a_clocks_step() -> None:
    assert top_of(250.0, clock=True) == 300.0
    assert top_of(1000.0, clock=True) == 1800.0


def test_moments_are_as_a_clock_has_them() -> None:
    assert [instant(at) for at in (-45, 0, 12.5, 125, 3600, 7380, 90000)] == [
        "-45 s",
        "0 s",
        "12.5 s",
        "2 min 5 s",
        "1 h",
        "2 h 3 min",
        "1 d 1 h",
    ]


def test_large_values_stay_short_enough_for_an_axis() -> None:
    assert [plain(value) for value in (99_999, 250_000, 2_500_000)] == ["99,999", "250k", "2.5M"]
