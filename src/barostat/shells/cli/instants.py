"""Instants as people write them: 02:00, yesterday 02:00, 2026-11-23 02:00, RFC 3339, 90m ago, unix
seconds.
"""

from __future__ import annotations

import argparse
import re
import time
from datetime import datetime, timedelta, timezone, tzinfo

from barostat.shells.cli.durations import parse_duration

_CLOCK = re.compile(r"(?:(yesterday|today)\s+)?(\d{1,2}):(\d{2})(?::(\d{2}))?")
_AGO = re.compile(r"(?:-(.+)|(.+?)\s+ago)")
HINT = "write 02:00, yesterday 02:00, 2026-11-23T02:00Z or 90m ago"


def parse_instant(text: str, now: float) -> float:
    """The instant in unix seconds. A clock time is the last one that has passed, and a time without
    a zone is this machine's.

    Errors: argparse.ArgumentTypeError for what is no instant, or lies in the future.
    """
    given = text.strip()
    at = _parsed(given, now)
    if at is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no instant; {HINT}")
    if at > now + 60:
        raise argparse.ArgumentTypeError(f"{text!r} lies in the future; {HINT}")
    return min(at, now)


def parse_start(text: str, end: float, now: float) -> float:
    """Where a range begins: as `parse_instant`, but a clock time without a day is the last one
    before the range's end.

    Errors: argparse.ArgumentTypeError.
    """
    bare = _CLOCK.fullmatch(_zoned(text.strip())[0])
    return parse_instant(text, now if bare is None or bare[1] else end)


def _parsed(given: str, now: float) -> float | None:
    if given == "now":
        return now
    if re.fullmatch(r"\d{9,10}(\.\d+)?", given):
        return float(given)
    if ago := _AGO.fullmatch(given):
        try:
            return now - parse_duration(ago[1] or ago[2])
        except argparse.ArgumentTypeError:
            return None
    given, zone = _zoned(given)
    here = datetime.fromtimestamp(now, zone)
    # Without a zone until the end: which offset from UTC holds then is the zone's to say, and it
    # need not be today's.
    try:
        if clock := _CLOCK.fullmatch(given):
            day, hour, minute, second = clock.groups()
            at = here.replace(
                hour=int(hour), minute=int(minute), second=int(second or 0), microsecond=0
            )
            if day == "yesterday":
                return _last(at - timedelta(days=1), now)
            found = _last(at, now)
            return found if day == "today" or found <= now else _last(at - timedelta(days=1), now)
        dated = datetime.fromisoformat(given)
        return (dated if zone is None or dated.tzinfo else dated.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _zoned(given: str) -> tuple[str, tzinfo | None]:
    """The text without the zone's name behind it, and that zone: UTC, or one of this machine's two,
    as reports print them.
    """
    named = re.fullmatch(r"(.*[\d:])\s*([A-Za-z]+)", given)
    if named is None:
        return given, None
    offsets_s = {
        **dict.fromkeys(("Z", "UTC", "GMT"), 0),
        time.tzname[0]: -time.timezone,
        time.tzname[1]: -time.altzone,
    }
    offset_s = offsets_s.get(named[2], offsets_s.get(named[2].upper()))
    return (given, None) if offset_s is None else (named[1], timezone(timedelta(seconds=offset_s)))


def _last(clock: datetime, now: float) -> float:
    """Return the last occurrence of that time of day; of a repeated hour when clocks are set back,
    the later one if it has passed.
    """
    once, again = (clock.replace(fold=fold).timestamp() for fold in (0, 1))
    return max((at for at in (once, again) if at <= now), default=once)
