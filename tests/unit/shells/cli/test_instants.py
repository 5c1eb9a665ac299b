"""Instants as people write them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from barostat.shells.cli.instants import parse_instant, parse_start

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
        ("2026-11-23 02:00 UTC", datetime(2026, 11, 23, 2, tzinfo=UTC).timestamp()),
        ("02:10Z", datetime(2026, 11, 23, 2, 10, tzinfo=UTC).timestamp()),
        ("yesterday 02:10 utc", datetime(2026, 11, 22, 2, 10, tzinfo=UTC).timestamp()),
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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "25:00",
        "2026-13-01",
        "soon ago",
        "02:00 XYZ",
        "12:60",
        "2027-11-23T00:00Z",
        "0001-01-01",
        "today 23:59",
    ],
)
def test_what_is_none_or_in_the_future_is_said(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"no instant|in the future"):
        parse_instant(text, NOW)


@pytest.mark.parametrize(
    ("start", "end", "begins"),
    [
        ("02:00", "04:00", here(23, 2, 0)),
        (
            "02:00",
            "12:45",
            here(22, 2, 0),
        ),  # 12:45 has not come today: it is yesterday's, and so is what began before it
        ("12:00", "12:45", here(22, 12, 0)),
        ("22:00", "04:00", here(22, 22, 0)),
        ("12:00", "now", here(23, 12, 0)),
        ("12:00 UTC", "2026-11-20T13:00Z", datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()),
        ("yesterday 02:00", "04:00", here(22, 2, 0)),
        ("today 02:00", "04:00", here(23, 2, 0)),
        ("2h ago", "now", NOW - 7200),
    ],
)
def test_a_range_of_clock_times_begins_before_it_ends(start: str, end: str, begins: float) -> None:
    ends = parse_instant(end, NOW)
    assert parse_start(start, ends, NOW) == begins
    assert begins < ends


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clocks go from 3:00 back to 2:00 on 2026-10-25, and from 2:00 to 3:00 on 2026-03-29."""
    with monkeypatch.context() as patch:
        patch.setenv(
            "TZ", "CET-1CEST,M3.5.0,M10.5.0/3"
        )  # the rule itself: this machine may keep no zones
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("text", "now", "at"),
    [
        ("2026-10-20 14:00", "2026-11-23 12:00", "2026-10-20 12:00"),
        ("2026-10-20 14:00 CEST", "2026-11-23 12:00", "2026-10-20 12:00"),
        ("2026-10-25 02:30 CET", "2026-11-23 12:00", "2026-10-25 01:30"),
        ("2026-03-20 14:00", "2026-06-23 12:00", "2026-03-20 13:00"),
        ("yesterday 02:00", "2026-10-25 12:00", "2026-10-24 00:00"),
        ("23:00", "2026-10-25 12:00", "2026-10-24 21:00"),
        ("01:30", "2026-10-25 12:00", "2026-10-24 23:30"),
        ("today 01:30", "2026-03-29 12:00", "2026-03-29 00:30"),
        ("02:30", "2026-10-25 12:00", "2026-10-25 01:30"),  # twice there: the later one
        ("02:30", "2026-10-25 00:45", "2026-10-25 00:30"),  # and the earlier one before that
        ("2026-03-20T14:00+02:00", "2026-06-23 12:00", "2026-03-20 12:00"),
    ],
)
def test_a_time_without_a_zone_has_the_offset_that_held_then(text: str, now: str, at: str) -> None:
    utc_now, utc_at = (datetime.fromisoformat(one).replace(tzinfo=UTC) for one in (now, at))
    assert datetime.fromtimestamp(parse_instant(text, utc_now.timestamp()), UTC) == utc_at
