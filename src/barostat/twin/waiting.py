"""The queue of requests that do not run: in order of arrival with the preempted first, or by priority.

Source: vLLM 0.32.0, FCFSRequestQueue and PriorityRequestQueue (ties by arrival, then by request id as text).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable

from barostat.twin.request import Request


class ArrivalQueue:
    """First come, first served; what comes back goes to the front."""

    def __init__(self) -> None:
        self._queue: deque[Request] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, request: Request) -> None:
        """The request is last."""
        self._queue.append(request)

    def put_back(self, request: Request) -> None:
        """The request is first."""
        self._queue.appendleft(request)

    def put_back_all(self, requests: Iterable[Request]) -> None:
        """The requests are first, in this order."""
        self._queue.extendleft(reversed(list(requests)))

    def first(self) -> Request:
        """The request that is next."""
        return self._queue[0]

    def take(self) -> Request:
        """The request that was next, now gone."""
        return self._queue.popleft()

    def remove(self, request: Request) -> None:
        """The request is not here."""
        self._queue.remove(request)


class PriorityQueue:
    """Lowest (priority, arrival, request id) first, whenever it came."""

    def __init__(self) -> None:
        self._heap: list[tuple[tuple[int, float, str], int, Request]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, request: Request) -> None:
        """The request is in its place."""
        self._count += 1
        heapq.heappush(self._heap, (request.order, self._count, request))

    put_back = add

    def put_back_all(self, requests: Iterable[Request]) -> None:
        """Each request is in its place."""
        for request in requests:
            self.add(request)

    def first(self) -> Request:
        """The request that is next."""
        return self._heap[0][2]

    def take(self) -> Request:
        """The request that was next, now gone."""
        return heapq.heappop(self._heap)[2]

    def remove(self, request: Request) -> None:
        """The request is not here."""
        self._heap = [entry for entry in self._heap if entry[2] is not request]
        heapq.heapify(self._heap)


Queue = ArrivalQueue | PriorityQueue


def queue_for(policy: str) -> Queue:
    """The queue of that policy."""
    return PriorityQueue() if policy == "priority" else ArrivalQueue()
