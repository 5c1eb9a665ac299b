"""Limit on the sequences that run on a replica, so that it keeps the promised time between tokens
(ITL). It is learned from the ITL that the engine reports.

A step takes longer the more sequences it decodes, so an engine with a large pool can miss its SLO
long before the pool is full. No step time is modelled here: if the mean ITL is too high in two
observations in a row, the limit falls in proportion; if it is well below the target and the limit
binds, the limit rises. The SLO is a 99th percentile and only the mean is measured; a mean above the
SLO is a certain violation.

If fewer sequences hardly speed the engine up, it is slow for another reason or the SLO is out of
reach. The limit is then lifted for some minutes, because it would only reject requests.
"""

from __future__ import annotations

# shares of the promised ITL
_TARGET_RATIO = 0.85  # a new limit aims at this
_TOO_SLOW_RATIO = 0.95  # above this, fewer may run
_FAST_RATIO = 0.8  # below this, more may run
_STRONGEST_CUT = 0.5
_FASTEST_GROWTH = 1.25
_LEAST_SPEEDUP = (
    0.2  # least relative speed-up per relative cut; below this, running fewer does not help
)
_LIFTED_FOR_CALLS = 300
_HIGHEST_DECAY = 0.99  # decay per observation of the highest number that ran


class PaceLimit:
    """Limit of one replica. Mutable. `most`: sequences that may run; None: no limit."""

    __slots__ = ("_before_s", "_first", "_highest", "_lifted_for", "most")

    def __init__(self) -> None:
        self.most: int | None = None
        self._first = (0, 0.0)  # sequences running before the first cut, and their ITL
        self._lifted_for = 0
        self._highest = 0.0
        self._before_s = 0.0

    def look(self, token_s: float | None, running: int, itl_s: float | None) -> None:
        """Update the limit. `token_s`: mean ITL since the last call (None: no token came);
        `running`: sequences that run now; `itl_s`: the promised ITL (None: no promise, no limit).
        """
        before_s, self._before_s = self._before_s, token_s or 0.0
        self._lifted_for = max(0, self._lifted_for - 1)
        if itl_s is None or self._lifted_for:
            self.most = None
            return
        if token_s is None or running <= 0:
            return
        highest = self._highest = max(running, self._highest * _HIGHEST_DECAY)
        steady_s = min(before_s, token_s)
        if steady_s > _TOO_SLOW_RATIO * itl_s:
            self._cut(running, steady_s, _TARGET_RATIO * itl_s)
        elif self.most is not None and token_s < _FAST_RATIO * itl_s:
            if running >= self.most - 1:
                self.most = max(
                    self.most + 1,
                    int(self.most * min(_FASTEST_GROWTH, _TARGET_RATIO * itl_s / token_s)),
                )
            if self.most > highest:
                self.most = None

    def _cut(self, running: int, token_s: float, aim_s: float) -> None:
        if self.most is None:
            self._first = (running, token_s)
        elif running > self.most:
            return  # sequences above the limit are still finishing
        fewer = 1.0 - running / self._first[0]
        if fewer > 0.0 and 1.0 - token_s / self._first[1] < _LEAST_SPEEDUP * fewer:
            self.most, self._lifted_for = None, _LIFTED_FOR_CALLS
        else:
            self.most = max(1, int(running * max(_STRONGEST_CUT, aim_s / token_s)))
