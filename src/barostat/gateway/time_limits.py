"""Everything that can run out of time is looked at once a second, a part of it on every tick: no
timer for a request or a connection.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

TICK_S = 0.125
PARTS = 8
"""Each member is checked once in TICK_S * PARTS, so a time-out may be that late."""


class Member(Protocol):
    """An object with a deadline. `part` belongs to Rounds."""

    part: int

    def look(self, now: float) -> None:
        """Called about once a second; may leave the rounds."""


class Rounds:
    """A coarse clock (`now`, seconds, only goes forward) and the members that it looks at in
    turn.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.now = clock()
        self.on_tick: list[Callable[[float], None]] = []
        self._parts: list[set[Member]] = [set() for _ in range(PARTS)]
        self._at = 0
        self._next = 0
        self._timer: asyncio.TimerHandle | None = None
        self.late_s = 0.0

    def add(self, member: Member) -> None:
        """The member is looked at from now on."""
        member.part = self._next
        self._parts[self._next].add(member)
        self._next = (self._next + 1) % PARTS

    def remove(self, member: Member) -> None:
        """The member is not looked at any more; it may have left before."""
        self._parts[member.part].discard(member)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def tick(self) -> None:
        """The clock is read, and one part of the members is looked at."""
        before, self.now = self.now, self._clock()
        self.late_s = max(0.0, self.now - before - TICK_S)
        self._at = (self._at + 1) % PARTS
        for member in tuple(self._parts[self._at]):
            member.look(self.now)
        for told in self.on_tick:
            told(self.now)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the timer; it ticks until `stop`."""

        def again() -> None:
            self._timer = loop.call_later(TICK_S, again)
            self.tick()

        self._timer = loop.call_later(TICK_S, again)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
