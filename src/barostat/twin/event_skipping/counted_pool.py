"""The pool for workloads in which no two requests share a prefix: how many blocks are where says
all that a decision needs.

    head                                                  tail
    | unhashed: a count | hashed: [whose, how many], ...      |

Only a preempted request can find hashed blocks again: its own, and of those the leading ones
longest, because a table is given back with its tail first. So a run of hashed blocks is one entry
with its owner, and what is taken from the head shortens it.
"""

from __future__ import annotations

from collections import deque


class Chain:
    """A request's own hashed blocks in the free list. `left`: how many are still there, from the
    first of the request's on.
    """

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


class CountedPool:
    """Counts of free blocks in the order of reuse. Without caching, every block counts as
    unhashed.
    """

    __slots__ = ("_queue", "_unhashed_first", "caching", "free", "unhashed")

    def __init__(self, kv_blocks: int, *, caching: bool, unhashed_first: bool = True) -> None:
        self.caching = caching
        self._unhashed_first = unhashed_first
        self.free = kv_blocks - 1
        self.unhashed = kv_blocks - 1
        self._queue: deque[Chain] = deque()

    def take(self, count: int) -> None:
        """Take blocks from the head. The caller checks that enough are free."""
        self.free -= count
        if not self.caching:
            return
        self.unhashed -= count
        while self.unhashed < 0:
            first = self._queue[0]
            if first.left <= -self.unhashed:
                self.unhashed += first.left
                first.left = 0
                self._queue.popleft()
            else:
                first.left += self.unhashed
                self.unhashed = 0

    def give_back(self, count: int, hashed: int) -> Chain | None:
        """The blocks join the free list, the hashed ones at its tail; they can be found again
        through what this returns.
        """
        self.free += count
        if not self.caching:
            return None
        if self._unhashed_first:
            self.unhashed += count - hashed
        elif count > hashed:
            self._queue.append(Chain(count - hashed))
        if not hashed:
            return None
        chain = Chain(hashed)
        self._queue.append(chain)
        return chain

    def reclaim(self, chain: Chain) -> int:
        """Remove the rest of the chain from the list; returns the number of blocks."""
        found = chain.left
        chain.left = 0
        self.free -= found
        return found
