"""The later part of a window against the earlier one: what changed."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from barostat.core.signal import Signal
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window

READINGS_TO_COMPARE = 4
"""Two readings on each side: with fewer, one odd scrape would be a trend."""


@dataclass(frozen=True, slots=True)
class HalvesCompared:
    """Medians of the two halves, in the signal's unit, and what each half rests on."""

    earlier: float
    later: float
    readings: int
    span_s: float

    @property
    def ratio(self) -> float:
        """Later over earlier; infinite where something came out of nothing, 1 where nothing stayed
        nothing.
        """
        if self.earlier > 0:
            return self.later / self.earlier
        return 1.0 if self.later <= 0 else float("inf")

    @property
    def confidence(self) -> float:
        """Return the confidence that this number of readings gives (0..1)."""
        return 0.9 if self.readings >= 8 else 0.7


def change(signal: Signal) -> HalvesCompared | None:
    """How the signal moved within the window, or None if there are too few readings to say."""
    values = signal.values
    if len(values) < READINGS_TO_COMPARE or signal.span_s <= 0:
        return None
    half = len(values) // 2
    return HalvesCompared(median(values[:half]), median(values[-half:]), len(values), signal.span_s)


TOO_FEW = (
    f"fewer than {READINGS_TO_COMPARE} readings: too few to compare earlier with later; watch "
    f"longer (--for 60s)"
)

GROWTH_RATIO = 1.5
"""Half as long again is a change of traffic, not its scatter."""


def longer(window: Window, name: str, what: str, least_tokens: float) -> Verdict:
    """Present if the lengths in the signal grew by half within the window, and by at least
    `least_tokens`.

    `what`: the noun for the sentence. Short lengths often vary by half, hence the minimum growth.
    """
    lengths = window[name]
    moved = change(lengths)
    if moved is None:
        return Unknown(TOO_FEW)
    evidence = (lengths.evidence(window.at, moved.later, f"earlier {moved.earlier:.0f}"),)
    if moved.ratio >= GROWTH_RATIO and moved.later - moved.earlier >= least_tokens:
        grew = (
            f"the mean {what} grew from {moved.earlier:.0f} to {moved.later:.0f} tokens within "
            f"{moved.span_s:.0f} s"
        )
        return Present(grew, evidence, moved.confidence)
    return Absent(
        f"the mean {what}: {moved.earlier:.0f} tokens earlier, {moved.later:.0f} now", evidence
    )
