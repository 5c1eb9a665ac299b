"""How far the operator may go with one workload, and when.

The first that says something decides: the workload's annotation, its ServingLimits, its namespace's
annotation, the operator's flag. `--max-autonomy` is a ceiling for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from barostat.core.errors import InputError
from barostat.core.limits import RemedyLimits

Autonomy = Literal["observe", "recommend", "act"]
LEVELS: tuple[Autonomy, ...] = ("observe", "recommend", "act")
AUTONOMY, SWITCH, QUIET_HOURS = (
    "barostat.dev/autonomy",
    "barostat.dev/operator",
    "barostat.dev/quiet-hours",
)
OFF = "disabled"
CHANGES_PER_HOUR = 2
_DURATION = re.compile(r"^(\d+)(m|h)$")
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_LONGEST_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Hours with little traffic: a cron schedule in UTC, and for how long from each start.

    Remedies that restart or replace replicas begin only then. `fields`: minute, hour, day, month
    and weekday, each as the values that match. `day_or_weekday`: both are restricted, and either
    matches, as in cron.
    """

    fields: tuple[frozenset[int], ...]
    for_s: int
    written: str
    day_or_weekday: bool = False

    def covers(self, at: float) -> bool:
        """True if the instant is within the hours."""
        minute = datetime.fromtimestamp(at, UTC).replace(second=0, microsecond=0)
        for _ in range(self.for_s // 60):
            if self._starts(minute):
                return True
            minute -= timedelta(minutes=1)
        return False

    def _starts(self, at: datetime) -> bool:
        minutes, hours, days, months, weekdays = self.fields
        day, weekday = at.day in days, at.isoweekday() % 7 in weekdays
        matches = (day or weekday) if self.day_or_weekday else (day and weekday)
        return at.minute in minutes and at.hour in hours and at.month in months and matches


def quiet_hours(written: str) -> QuietHours:
    """The hours in a text such as `0 2 * * * 4h`: five cron fields, then minutes or hours.

    Errors: InputError.
    """
    words = written.split()
    if len(words) != 6 or not (length := _DURATION.match(words[5])):
        raise InputError(
            "is not quiet hours; write five cron fields (UTC) and a duration: '0 2 * * * 4h'",
            written,
        )
    for_s = int(length[1]) * (60 if length[2] == "m" else 3600)
    if not 60 <= for_s <= _LONGEST_S:
        raise InputError("lasts less than a minute, or more than 24h", written)
    fields = [
        _field(word, low, high, written)
        for word, (low, high) in zip(words[:5], _BOUNDS, strict=True)
    ]
    fields[4] = frozenset(day % 7 for day in fields[4])
    both = words[2] != "*" and words[4] != "*"
    return QuietHours(tuple(fields), for_s, written, both)


def _field(word: str, low: int, high: int, written: str) -> frozenset[int]:
    found: set[int] = set()
    for part in word.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        try:
            start = low if span == "*" else int(first)
            end = high if span == "*" or (step and not last) else int(last or first)
            every = int(step or 1)
        except ValueError:
            raise InputError(f"has a cron field that is none: {word}", written) from None
        if not (low <= start <= end <= high and every >= 1):
            raise InputError(f"has a cron field outside {low} to {high}: {word}", written)
        found.update(range(start, end + 1, every))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Defaults:
    """Defaults from the operator's flags."""

    autonomy: Autonomy = "observe"
    most: Autonomy = "act"
    quiet: QuietHours | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """How far the operator may go with one workload.

    `disabled`: it is neither reported nor healed. `problem`: a setting that could not be read; the
    workload is then only observed. `max_replicas`: None if no limit is set.
    """

    autonomy: Autonomy = "observe"
    disabled: bool = False
    changes_per_hour: int = CHANGES_PER_HOUR
    quiet: QuietHours | None = None
    max_replicas: int | None = None
    problem: str = ""


def policy_of(
    defaults: Defaults,
    workload: Mapping[str, object],
    namespace: Mapping[str, object],
    remedy: RemedyLimits | None,
) -> Policy:
    """The policy for a workload with these annotations, in a namespace with those. `remedy`: of its
    ServingLimits.
    """
    limits = remedy or RemedyLimits()
    said = workload.get(AUTONOMY) or limits.autonomy or namespace.get(AUTONOMY) or defaults.autonomy
    problem = ""
    if said not in LEVELS:
        problem = f"{AUTONOMY} is {str(said)[:40]!r}; it takes {', '.join(LEVELS)}"
        said = "observe"
    quiet = defaults.quiet
    if written := str(workload.get(QUIET_HOURS) or namespace.get(QUIET_HOURS) or ""):
        try:
            quiet = quiet_hours(written)
        except InputError as error:
            problem, said = f"{QUIET_HOURS}: {error}", "observe"
    level = min(LEVELS.index(said), LEVELS.index(defaults.most))
    changes = limits.changes_per_hour
    return Policy(
        LEVELS[level],
        OFF in (workload.get(SWITCH), namespace.get(SWITCH)),
        CHANGES_PER_HOUR if changes is None else changes,
        quiet,
        limits.max_replicas,
        problem,
    )
