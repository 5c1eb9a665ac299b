"""Instants as people write them."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

import pytest

from barostat.shells.cli.instants import parse_instant

NOW = datetime(2026, 11, 23, 12, 30, tzinfo=UTC).timestamp()


def here(day: int, hour: int, minute: int) -> float:
    return datetime(2026, 11, day, hour, minute).astimezone().timestamp()


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("now", NOW),
        ("90m ago", NOW - 5400),
        ("-2h", NOW - 7200),
        ("2026-11-23T02:00Z", datetime(2026, 11, 23, 2, tzinfo=UTC).timestamp()),
        ("2026-11-23 02:00 Z", datetime(2026, 11, 23, 2, tzinfo=UTC).timestamp()),
        ("2026-11-23T02:00:30+02:00", datetime(2026, 11, 23, 0, 0, 30, tzinfo=UTC).timestamp()),
        ("1795000000", 1795000000.0),
        ("yesterday 02:00", here(22, 2, 0)),
        ("2026-11-20 14:15", here(20, 14, 15)),
    ],
)
def test_it_is_understood(text: str, at: float) -> None:
    assert parse_instant(text, NOW) == at


def test_a_clock_time_is_the_last_one_that_has_passed() -> None:
    for hour in range(24):
        at = parse_instant(f"{hour}:00", NOW)
        assert 0 <= NOW - at < 86_400
        assert datetime.fromtimestamp(at).hour == hour


@pytest.mark.parametrize("text", ["", "tomorrow", "25:00", "2026-13-01", "soon ago", "12:60", "2027-11-23T00:00Z"])
def test_what_is_none_or_in_the_future_is_said(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"no instant|in the future"):
        parse_instant(text, NOW)
