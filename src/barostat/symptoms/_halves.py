"""The later part of a window against the earlier one: what changed."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from barostat.core.signal import Signal

READINGS_TO_COMPARE = 4
"""Two readings on each side: with fewer, one odd scrape would be a trend."""


@dataclass(frozen=True, slots=True)
class Change:
    """Medians of the two halves, in the signal's unit, and what each half rests on."""

    earlier: float
    later: float
    readings: int
    span_s: float

    @property
    def ratio(self) -> float:
        """Later over earlier; infinite where something came out of nothing, 1 where nothing stayed nothing."""
        if self.earlier > 0:
            return self.later / self.earlier
        return 1.0 if self.later <= 0 else float("inf")

    @property
    def confidence(self) -> float:
        """How sure so many readings make us (0..1)."""
        return 0.9 if self.readings >= 8 else 0.7


def change(signal: Signal) -> Change | None:
    """How the signal moved within the window, or None where there are too few readings to say."""
    values = signal.values
    if len(values) < READINGS_TO_COMPARE or signal.span_s <= 0:
        return None
    half = len(values) // 2
    return Change(median(values[:half]), median(values[-half:]), len(values), signal.span_s)


TOO_FEW = f"fewer than {READINGS_TO_COMPARE} readings: an earlier part cannot be told from a later one; watch longer (--for 60s)"
