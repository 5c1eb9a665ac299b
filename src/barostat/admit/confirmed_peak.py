"""A level that is learned from what is seen, that one wrong value cannot raise, and that decays."""

from __future__ import annotations

_KEPT = 1.0 - 1.0 / 256


class ConfirmedPeak:
    """The second largest value of late (`value`), and the largest. Each sample lets both decay by
    1/256 of what they are above `least`. Mutable.
    """

    __slots__ = ("_least", "largest", "value")

    def __init__(self, least: float = 0.0) -> None:
        self._least = least
        self.largest = least
        self.value = least

    def note(self, seen: float) -> None:
        """Take one more value in."""
        least = self._least
        self.largest = least + _KEPT * (self.largest - least)
        self.value = least + _KEPT * (self.value - least)
        if seen > self.largest:
            self.largest, self.value = seen, self.largest
        elif seen > self.value:
            self.value = seen
