"""A number that was not measured, with how far it may be off."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value between `low` and `high`; about nine of ten lie there. `source`: how it was come by,
    in a sentence.

    `measured` numbers have low = value = high.
    """

    name: str
    value: float
    low: float
    high: float
    source: str

    @property
    def is_exact(self) -> bool:
        """True if nothing is left open."""
        return self.low == self.value == self.high


def exact(name: str, value: float, source: str) -> Estimate:
    """A number that is measured, given or arithmetic."""
    return Estimate(name, value, value, value, source)


def within(name: str, value: float, ratio: float, source: str) -> Estimate:
    """A number that is right to within this ratio of itself."""
    return Estimate(name, value, value * (1 - ratio), value * (1 + ratio), source)
