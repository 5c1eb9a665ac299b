"""How many standard deviations are kept above what is expected to be held: moved by the preemptions
that happen.

Each preemption raises it by one step, each answer that ends lowers it by the step times the share
that may be preempted: it rests where just that share is (Robbins and Monro 1951). What the normal
bound gets wrong (tails, drift, lengths that hang together) ends up in it.
"""

from __future__ import annotations

_STEP = 0.12
_MOST_AT_ONCE = 4
_LOWEST, _HIGHEST = -0.5, 4.0
_AIM = 0.6
"""Of the share that may be preempted: the rest is for what happens before the margin has moved."""


class Margin:
    """The margin `z` of all replicas of a model: they have the same traffic. Mutable."""

    __slots__ = ("preempted", "z")

    def __init__(self, z: float = 2.5) -> None:
        self.z = z
        self.preempted = 0

    def preemptions(self, count: int) -> None:
        """So many were preempted since the last look."""
        self.preempted += count
        self.z = min(_HIGHEST, self.z + _STEP * min(count, _MOST_AT_ONCE))

    def ended(self, preempted_ratio: float) -> None:
        """An answer has ended."""
        self.z = max(_LOWEST, self.z - _STEP * _AIM * preempted_ratio)
