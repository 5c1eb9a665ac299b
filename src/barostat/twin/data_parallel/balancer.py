"""Which data-parallel rank a request goes to, as an API server of vLLM chooses it.

Source: vLLM 0.32.0, DPLBAsyncMPClient.get_core_engine_for_request and process_engine_outputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

# A queue counts more the fuller the pool behind it is: nothing up to half, thrice at the top.
_WAITING_WEIGHT, _FREE_OF_CHARGE = 6.0, 0.5


class Counts(NamedTuple):
    """A rank's last report of its load. `usage_ratio`: of its KV cache."""

    waiting: int = 0
    running: int = 0
    usage_ratio: float = 0.0


class Balancer:
    """The choice of one API server of several (`servers`, this one is `server`). Mutable."""

    def __init__(self, ranks: int, servers: int = 1, server: int = 0) -> None:
        self._ranks = ranks
        self._servers = servers
        self._told = [Counts()] * ranks
        self._chosen = [0] * ranks  # since the ranks last told, as this server knows
        self._unfinished = [0] * ranks  # of this server
        self._first = ranks * server // servers

    def told(self, counts: Sequence[Counts]) -> None:
        """Replace the known loads by those that the coordinator published."""
        self._told = list(counts)
        self._chosen = [0] * self._ranks

    def choose(self, pinned: int | None = None) -> int:
        """The request's rank. `pinned`: the one that a router before the engine asked for."""
        rank = self._least_loaded() if pinned is None else pinned
        self._unfinished[rank] += 1
        return rank

    def finished(self, rank: int) -> None:
        """One of this server's requests there is over."""
        self._unfinished[rank] -= 1

    def _least_loaded(self) -> int:
        least, found = math.inf, 0
        for offset in range(self._ranks):
            rank = (self._first + offset) % self._ranks
            counts = self._told[rank]
            waiting = counts.waiting + self._chosen[rank]
            load: float = max(self._servers * self._unfinished[rank], waiting + counts.running)
            if waiting:
                load += waiting * _WAITING_WEIGHT * max(0.0, counts.usage_ratio - _FREE_OF_CHARGE)
            if load < least:
                least, found = load, rank
        self._chosen[found] += self._servers
        self._first = (self._first + 1) % self._ranks
        return found
