"""Named random streams: each is a function of the seed and its own name, so that using one does not
shift another.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from functools import cache

_MASK = (1 << 64) - 1
AT_ONCE = 1024
_WORTH_IT = 100
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class Dice:
    """One stream of random numbers. Mutable: each throw moves it on.

    Source: SplitMix64 (Steele, Lea, Flood 2014); gamma by Marsaglia and Tsang (2000).
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int, name: str) -> None:
        digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
        self._state = int.from_bytes(digest, "big")

    def bits(self) -> int:
        """Return 64 random bits."""
        self._state = (self._state + _STEP) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * _FIRST) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * _SECOND) & _MASK
        return mixed ^ (mixed >> 31)

    def uniform(self) -> float:
        """At least 0, below 1."""
        return (self.bits() >> 11) * 2.0**-53

    def uniforms(self, count: int) -> list[float]:
        """Return `count` draws of `uniform`, at a fraction of the cost."""
        found: list[float] = []
        while len(found) + _WORTH_IT < count:
            thrown = _thrown(self._state)[: count - len(found)]
            self._state = (self._state + len(thrown) * _STEP) & _MASK
            found += thrown
        return found + [self.uniform() for _ in range(count - len(found))]

    def exponential(self, mean: float) -> float:
        """Time to the next of events that come at random."""
        return -mean * math.log1p(-self.uniform())

    def normal(self) -> float:
        """Return a standard normal number (mean 0, deviation 1)."""
        return math.sqrt(-2 * math.log1p(-self.uniform())) * math.cos(2 * math.pi * self.uniform())

    def lognormal(self, mean: float, sigma: float) -> float:
        """With that mean; sigma 0 gives the mean itself."""
        return mean * math.exp(sigma * self.normal() - sigma * sigma / 2) if sigma else mean

    def lognormals(self, means: Sequence[float], sigma: float) -> list[float]:
        """A throw of `lognormal` for each mean."""
        if not sigma:
            return list(means)
        thrown = iter(self.uniforms(2 * len(means)))
        half, sqrt, log1p, cos, exp, turn = (
            sigma * sigma / 2,
            math.sqrt,
            math.log1p,
            math.cos,
            math.exp,
            2 * math.pi,
        )
        return [
            mean * exp(sigma * (sqrt(-2 * log1p(-first)) * cos(turn * second)) - half)
            for mean, first, second in zip(means, thrown, thrown, strict=True)
        ]

    def gamma(self, shape: float) -> float:
        """Return a gamma-distributed number of mean `shape` and variance `shape`."""
        if shape < 1:
            return float(self.gamma(shape + 1) * (1 - self.uniform()) ** (1 / shape))
        d = shape - 1 / 3
        while True:
            x = self.normal()
            v = (1 + x / math.sqrt(9 * d)) ** 3
            if v > 0 and math.log1p(-self.uniform()) < x * x / 2 + d - d * v + d * math.log(v):
                return d * v


@cache
def _lanes() -> tuple[int, int, int]:
    """Words of 64 bits side by side in one whole number, each in a lane of 128, so that a product
    stays in its lane: 1 in every lane, all bits of every word, and how far the state is moved by
    the throw of each lane.
    """
    ones = int.from_bytes((b"\x01" + bytes(15)) * AT_ONCE, "little")
    places = int.from_bytes(
        b"".join(place.to_bytes(16, "little") for place in range(1, AT_ONCE + 1)), "little"
    )
    return ones, ones * _MASK, places * _STEP & (ones * _MASK)


def _thrown(state: int) -> list[float]:
    """The next throws of `uniform` from that state on."""
    ones, words, moves = _lanes()
    mixed = moves + ones * state & words
    mixed = ((mixed ^ (mixed >> 30)) & words) * _FIRST & words
    mixed = ((mixed ^ (mixed >> 27)) & words) * _SECOND & words
    mixed = (mixed ^ (mixed >> 31)) & words
    return [
        (one >> 11) * 2.0**-53
        for one in struct.unpack(f"<{2 * AT_ONCE}Q", mixed.to_bytes(16 * AT_ONCE, "little"))[::2]
    ]
