"""The queue of requests that do not run: in order of arrival with the preempted first, or by
priority.

Source: vLLM 0.32.0, FCFSRequestQueue and PriorityRequestQueue (ties by arrival, then by request id
as text).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable
from typing import Generic, Protocol, TypeVar


class Ordered(Protocol):
    """What has a place in a queue by priority: lower is earlier."""

    @property
    def order(self) -> tuple[int, float, str]:
        """Sort key: (priority, arrival, request id)."""


T = TypeVar("T", bound=Ordered)


class ArrivalQueue(deque[T]):
    """First come, first served; what comes back goes to the front. A deque, and its own methods,
    because every step asks for them.
    """

    add = deque.append
    put_back = deque.appendleft
    take = deque.popleft

    def put_back_all(self, requests: Iterable[T]) -> None:
        """The requests are first, in this order."""
        self.extendleft(reversed(list(requests)))

    def first(self) -> T:
        """The request that is next."""
        return self[0]

    def everyone(self) -> list[T]:
        """Return all waiting requests."""
        return list(self)


class PriorityQueue(Generic[T]):
    """Lowest (priority, arrival, request id) first, whenever it came."""

    def __init__(self) -> None:
        self._heap: list[tuple[tuple[int, float, str], int, T]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, request: T) -> None:
        """The request is in its place."""
        self._count += 1
        heapq.heappush(self._heap, (request.order, self._count, request))

    put_back = add

    def put_back_all(self, requests: Iterable[T]) -> None:
        """Each request is in its place."""
        for request in requests:
            self.add(request)

    def first(self) -> T:
        """The request that is next."""
        return self._heap[0][2]

    def take(self) -> T:
        """The request that was next, now gone."""
        return heapq.heappop(self._heap)[2]

    def remove(self, request: T) -> None:
        """The request is not here."""
        self._heap = [entry for entry in self._heap if entry[2] is not request]
        heapq.heapify(self._heap)

    def everyone(self) -> list[T]:
        """Return all waiting requests."""
        return [entry[2] for entry in self._heap]


def queue_for(policy: str, _kind: type[T]) -> ArrivalQueue[T] | PriorityQueue[T]:
    """An empty queue of that policy."""
    return PriorityQueue() if policy == "priority" else ArrivalQueue()


def has_slot(adapter: str | None, in_use: Collection[str | None], slots: int) -> bool:
    """True if a step that serves these adapters may serve that one too; None is the base model."""
    return adapter is None or adapter in in_use or len(in_use) < slots
