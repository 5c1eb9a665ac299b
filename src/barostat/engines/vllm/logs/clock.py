"""Time stamps that carry no year, and sometimes no day, become seconds that only go forward."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

# vLLM and its libraries print local time; what wraps a container's log prints an instant.
# The better kind wins, and the lesser are ignored from then on.
OTHER, ENGINE, WRAPPER = 1, 2, 3

_DAYS_BEFORE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_HALF_YEAR_S = 180 * 86_400.0
_STEP_S = 900.0
"""Processes of one log disagree by less than this; a larger step back is a clock that was set."""

_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?\s*(Z|[+-]\d\d:?\d\d)?"
)


class Stamp(NamedTuple):
    """One time stamp as printed.

    `rank`: OTHER, ENGINE or WRAPPER. `s`: unix seconds (WRAPPER), seconds of a year, or of a day
    (`day_known` False).
    """

    rank: int
    s: float
    day_known: bool = True


def local_stamp(
    month: int, day: int, hour: int, minute: int, second: float, rank: int = ENGINE
) -> Stamp | None:
    """The stamp of a date without a year, or None if it is no date."""
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 61):
        return None
    days = _DAYS_BEFORE[month - 1] + min(day, 28 if month == 2 else 31) - 1
    return Stamp(rank, days * 86_400.0 + hour * 3600.0 + minute * 60.0 + second)


def instant(text: str) -> float | None:
    """Unix seconds of an RFC 3339 instant at the start of the text (UTC where it names no zone), or
    None.
    """
    found = _RFC3339.match(text)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        at = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC
        ).timestamp()
    except (ValueError, OverflowError):
        return None
    if fraction:
        at += float("0." + fraction[:9])
    if zone and zone != "Z":
        offset_s = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        at += -offset_s if zone[0] == "+" else offset_s
    return at


class LogClock:
    """Turns stamps into times that never go back.

    A midnight without a date, a New Year and a clock that was set back all go on from where the
    time was. The seconds of the year leave February's 29th out, so that a gap over the turn of a
    month is never a day too long.
    """

    def __init__(self) -> None:
        self.rank = 0
        self.first: float | None = None
        self.now: float | None = None
        self.went_back_s = 0.0
        self._shift = 0.0

    @property
    def absolute(self) -> bool:
        """True if the times are unix seconds."""
        return self.rank == WRAPPER

    def read(self, stamp: Stamp | None) -> float | None:
        """Return the time after this stamp: its own, or the previous one if the stamp is not later."""
        if stamp is None or stamp.rank < self.rank:
            return self.now
        if stamp.rank > self.rank:
            if WRAPPER in (stamp.rank, self.rank):
                self.first = self.now = None
                self._shift = 0.0
            self.rank = stamp.rank
        s = stamp.s + self._shift
        if not stamp.day_known and self.now is not None:
            s += (self.now - s) // 86_400.0 * 86_400.0
            if self.now - s > 43_200.0:
                s += 86_400.0
        if self.now is None:
            self.first = self.now = s
            return s
        back_s = self.now - s
        if back_s > _HALF_YEAR_S and stamp.rank != WRAPPER:
            self._shift += 365 * 86_400.0
            s += 365 * 86_400.0
        elif back_s > _STEP_S:
            self.went_back_s = max(self.went_back_s, back_s)
            self._shift += back_s
            s = self.now
        self.now = max(self.now, s)
        return self.now
