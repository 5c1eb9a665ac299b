"""How many sequences may run on a replica while its tokens come as fast as is promised: learned
from the pace that the engine tells.

A step takes longer the more it decodes, so an engine whose pool holds many can be too slow for what
is promised long before its pool is full. Nothing is reckoned of steps here: where tokens come too
slowly in two looks in a row, fewer may run, in proportion; where they come well in time and the
limit is what holds, more may. What is promised of the slowest of a hundred gaps is asked of their
mean, which is no longer: so it is only held to what breaks the promise for certain.

An engine that is hardly quicker with fewer is slow for another reason, or promised more than it
can: the limit is given up, for minutes, since it would only refuse.
"""

from __future__ import annotations

_AIM, _TOO_SLOW, _IN_TIME = (
    0.85,
    0.95,
    0.8,
)  # of the promised gap: what is aimed at, above which fewer may run, below which more
_MOST_AT_ONCE = 0.5
_FASTEST_GROWTH = 1.25
_WORTH = 0.2  # of what ran less, by how much less a token takes: below, fewer are no help
_GIVEN_UP_LOOKS = 300
_FORGOTTEN = 0.99  # of the highest number that ran, with each look


class PaceLimit:
    """Of one replica. Mutable. `most`: sequences that may run, None while nothing holds them."""

    __slots__ = ("_before_s", "_first", "_given_up", "_highest", "most")

    def __init__(self) -> None:
        self.most: int | None = None
        self._first = (0, 0.0)  # what ran before the first cut, and how long a token took
        self._given_up = 0
        self._highest = 0.0
        self._before_s = 0.0

    def look(self, token_s: float | None, running: int, itl_s: float | None) -> None:
        """The mean gap between tokens since the last look (None: no token came), what runs now, and
        what is promised of a gap.
        """
        before_s, self._before_s = self._before_s, token_s or 0.0
        self._given_up = max(0, self._given_up - 1)
        if itl_s is None or self._given_up:
            self.most = None
            return
        if token_s is None or running <= 0:
            return
        highest = self._highest = max(running, self._highest * _FORGOTTEN)
        steady_s = min(before_s, token_s)
        if steady_s > _TOO_SLOW * itl_s:
            self._cut(running, steady_s, _AIM * itl_s)
        elif self.most is not None and token_s < _IN_TIME * itl_s:
            if running >= self.most - 1:
                self.most = max(
                    self.most + 1, int(self.most * min(_FASTEST_GROWTH, _AIM * itl_s / token_s))
                )
            if self.most > highest:
                self.most = None

    def _cut(self, running: int, token_s: float, aim_s: float) -> None:
        if self.most is None:
            self._first = (running, token_s)
        elif running > self.most:
            return  # what is too many is still ending
        fewer = 1.0 - running / self._first[0]
        if fewer > 0.0 and 1.0 - token_s / self._first[1] < _WORTH * fewer:
            self.most, self._given_up = None, _GIVEN_UP_LOOKS
        else:
            self.most = max(1, int(running * max(_MOST_AT_ONCE, aim_s / token_s)))
