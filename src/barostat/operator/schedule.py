"""Decides which workloads are due for a verdict, and in which order. Pure.

    an alert asks for it                                  at once
    an engine looks worse, or an incident is open         AGAIN_S after the last verdict
    everything else                                       ROTATE_S after the last verdict

Earliest deadline first: where there is more to judge than time, urgent workloads go first, and the
others are late but none is left out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from barostat.operator.step import Key

AGAIN_S = 20.0
ROTATE_S = 120.0
RISING_S = 30.0
"""A workload whose pool fills is judged this often."""
ALERT_SLACK_S = 0.0
WORSE_SLACK_S = 10.0
ROTATION_SLACK_S = 60.0
_NEVER = float("-inf")


@dataclass(slots=True)
class Schedule:
    """Deadlines of the workloads, unix seconds."""

    _judged_at: dict[Key, float] = field(default_factory=dict)
    _wanted: dict[Key, tuple[float, float]] = field(default_factory=dict)
    """From when on a verdict is wanted, and its deadline."""
    _first_seen: dict[Key, float] = field(default_factory=dict)

    def ask(self, key: Key, now: float) -> None:
        """A verdict is wanted at once."""
        self._want(key, now, now + ALERT_SLACK_S)

    def worsened(self, key: Key, now: float) -> None:
        """A verdict is wanted soon."""
        begin = max(now, self._judged_at.get(key, _NEVER) + AGAIN_S)
        self._want(key, begin, begin + WORSE_SLACK_S)

    def age_s(self, key: Key, now: float) -> float:
        """Time since the last verdict; infinite where there was none."""
        return now - self._judged_at.get(key, _NEVER)

    def due(self, readable: Collection[Key], now: float) -> list[Key]:
        """All that are due, the earliest deadline first. `readable`: what a verdict can be made of."""
        for key in readable:
            begin = self._judged_at.get(key, _NEVER) + ROTATE_S
            if begin <= now:
                first = self._first_seen.setdefault(key, now)
                self._want(key, now, max(begin, first) + ROTATION_SLACK_S)
        ready = [(deadline, key) for key, (begin, deadline) in self._wanted.items() if begin <= now]
        return [key for _, key in sorted(ready)]

    def judged(self, key: Key, now: float) -> None:
        """The workload has its verdict."""
        self._judged_at[key] = now
        self._wanted.pop(key, None)

    def keep_only(self, present: Collection[Key]) -> None:
        """Forget all workloads that are not present."""
        for held in (self._judged_at, self._wanted, self._first_seen):
            for gone in held.keys() - set(present):
                del held[gone]

    def _want(self, key: Key, begin: float, deadline: float) -> None:
        known = self._wanted.get(key, (float("inf"), float("inf")))
        self._wanted[key] = min(known[0], begin), min(known[1], deadline)
