"""Durations on the command line."""

from __future__ import annotations

import argparse

import pytest

from barostat.shells.cli.durations import brief, parse_duration, some_time


@pytest.mark.parametrize(
    ("text", "expected_s"),
    [
        ("30s", 30),
        ("2m", 120),
        ("500ms", 0.5),
        ("1h", 3600),
        ("1h30m", 5400),
        ("0", 0),
        ("12", 12),
        ("1.5s", 1.5),
        (" 5s ", 5),
        ("2min", 120),
    ],
)
def test_what_people_write_is_read_as_seconds(text: str, expected_s: float) -> None:
    assert parse_duration(text) == pytest.approx(expected_s)


@pytest.mark.parametrize("text", ["", "s", "-5s", "five", "5x", "5s 3", "1m30", "8d", "1e3s", "nan", "5s;"])
def test_what_is_no_duration_is_refused_with_the_way_to_write_one(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"no duration; write 30s|longer than a week"):
        parse_duration(text)


def test_no_time_at_all_is_refused_where_some_is_needed() -> None:
    assert some_time("1ms") == 0.001
    with pytest.raises(argparse.ArgumentTypeError, match="no time at all"):
        some_time("0s")


@pytest.mark.parametrize(("duration_s", "expected"), [(0.5, "0.5 s"), (30, "30 s"), (120, "2 min"), (5400, "90 min"), (10800, "3 h")])
def test_a_duration_is_shown_in_the_unit_that_suits_it(duration_s: float, expected: str) -> None:
    assert brief(duration_s) == expected
