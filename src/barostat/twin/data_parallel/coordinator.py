"""When the API servers hear how loaded the ranks are.

Source: vLLM 0.32.0, DPCoordinatorProc.process_input_socket,
EngineCoreProc._maybe_publish_request_counts.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from barostat.twin.data_parallel.balancer import Balancer, Counts

CHANGED_NS, UNCHANGED_NS = 100_000_000, 5_000_000_000


class Coordinator:
    """The ranks' last reports, and which were published. Mutable.

    A rank reports when its running or waiting requests change; how full its pool is goes with that
    and with nothing else. What changed is published a tenth of a second after the last time at the
    soonest, the same again after five seconds.
    """

    def __init__(self, ranks: int, balancers: Sequence[Balancer]) -> None:
        self._counts = [Counts()] * ranks
        self._balancers = balancers
        self._coming: list[tuple[int, int, int, Counts]] = []
        self._told = 0
        self._published_ns = 0
        self._changed_ns: int | None = None

    def tells(self, rank: int, counts: Counts, at_ns: int) -> None:
        """A rank's counts at that time; ranks may tell in any order."""
        self._told += 1
        heapq.heappush(self._coming, (at_ns, self._told, rank, counts))

    def until(self, at_ns: int) -> None:
        """Take in reports and publish what is due by then."""
        while self._coming and self._coming[0][0] <= at_ns:
            told_ns, _, rank, counts = heapq.heappop(self._coming)
            known = self._counts[rank]
            if (known.waiting, known.running) == (counts.waiting, counts.running):
                continue
            self._publish_until(told_ns)
            self._counts[rank] = counts
            if self._changed_ns is None:
                self._changed_ns = told_ns
        self._publish_until(at_ns)

    def _publish_until(self, at_ns: int) -> None:
        if self._changed_ns is not None:
            due_ns = max(self._changed_ns, self._published_ns + CHANGED_NS)
            if due_ns > at_ns:
                return
            self._publish(due_ns)
        if again := (at_ns - self._published_ns) // UNCHANGED_NS:
            self._publish(self._published_ns + again * UNCHANGED_NS)

    def _publish(self, at_ns: int) -> None:
        self._published_ns, self._changed_ns = at_ns, None
        for balancer in self._balancers:
            balancer.told(self._counts)
