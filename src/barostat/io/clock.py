"""The clock: what time it is, and waiting."""

from __future__ import annotations

import time
from typing import Protocol

DRIFT_S = 2.0
"""The wall clock may wander this far from the steady one within a recording before it is worth a
sentence.
"""


class Clock(Protocol):
    """Time as the recorder needs it. Units: unix seconds."""

    def now(self) -> float:
        """Return the current time, never earlier than the previous result."""

    def sleep(self, for_s: float) -> None:
        """Returns after `for_s` seconds."""

    def set_by_s(self) -> float:
        """How far the machine's clock was set since the start; negative where it was set back."""

    def problem(self) -> str:
        """Return a note on jumps of the system clock; empty if there were none."""


class SteadyClock:
    """The wall clock as it stood at the start, carried on by the monotonic one.

    Scrapes keep their order when the system time is changed.
    """

    def __init__(self) -> None:
        self._wall = time.time()
        self._steady = time.monotonic()

    def now(self) -> float:
        """Unix seconds; grows with real time, whatever happens to the wall clock."""
        return self._wall + (time.monotonic() - self._steady)

    def sleep(self, for_s: float) -> None:
        """Returns after `for_s` seconds (at once for 0 and less)."""
        if for_s > 0:
            time.sleep(for_s)

    def set_by_s(self) -> float:
        """How far the wall clock is ahead of this one, in seconds."""
        return time.time() - self.now()

    def problem(self) -> str:
        """A sentence if the wall clock was set during the recording."""
        drift_s = self.set_by_s()
        if abs(drift_s) < DRIFT_S:
            return ""
        way = "back" if drift_s < 0 else "forward"
        return (
            f"the clock of this machine was set {way} by {abs(drift_s):.0f} s during the "
            "recording; times here go on from its start"
        )
