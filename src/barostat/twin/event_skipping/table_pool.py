"""The block pool with whole tables at a time: what BlockPool does, for the fast form.

    head                                                          tail
    | unhashed: last freed first (LIFO) | hashed: first freed first |       get: from the head; a hashed block loses its prefix

The hashed part is a dict in the order of insertion: tables join it and leave it as wholes, without
a look at each block, and a block taken out of the middle is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

_AT_FIRST = 16  # keys that are looked up before it is known how far the cache reaches
_GAPS = 1 << 13
"""Deleted entries at the head of a dict after which it is made again: each `get` steps over them."""


class TablePool:
    """Blocks 1 to kv_blocks-1, who holds them, and under which key each is found."""

    def __init__(self, kv_blocks: int) -> None:
        self.free = kv_blocks - 1
        self._unhashed = list(range(kv_blocks - 1, 0, -1))
        self._hashed: dict[int, None] = {}
        self._gaps = 0
        self._further_holders: dict[int, int] = {}
        self._key_of: list[int | None] = [None] * kv_blocks
        self._block_of: dict[int, int] = {}
        self._more: dict[int, list[int]] = {}
        """Key -> all its blocks in the order of registration, where there are several."""

    def get(self, count: int) -> list[int]:
        """Take blocks from the head of the free list; each loses its prefix. The caller checks that
        enough are free.
        """
        self.free -= count
        unhashed = self._unhashed
        split = max(0, len(unhashed) - count)
        taken = unhashed[split:]
        del unhashed[split:]
        taken.reverse()
        if len(taken) < count:
            taken += self._oldest_hashed(count - len(taken))
        return taken

    def _oldest_hashed(self, count: int) -> list[int]:
        taken = [*islice(self._hashed, count)]
        hashed, key_of, block_of, more = self._hashed, self._key_of, self._block_of, self._more
        for block in taken:
            del hashed[block]
            key = key_of[block]
            if key is not None:
                key_of[block] = None
                if more and key in more:
                    self._forget(block, key)
                else:
                    del block_of[key]
        self._gaps += count
        if self._gaps > _GAPS:
            self._hashed, self._gaps = dict.fromkeys(hashed), 0
        return taken

    def touch(self, blocks: Sequence[int]) -> None:
        """Increment each block's reference count; free blocks leave the free list."""
        hashed, further = self._hashed, self._further_holders
        for block in blocks:
            if block in hashed:
                del hashed[block]
                self.free -= 1
            else:
                further[block] = further.get(block, 0) + 1

    def idle(self, blocks: Sequence[int]) -> int:
        """Return how many of the blocks are free."""
        return sum(map(self._hashed.__contains__, blocks))

    def give_back(self, table: list[int], hashed: int) -> None:
        """One holder less for each block of a table; of those without any, the unhashed (behind the
        first `hashed`) are reused first.
        """
        unhashed = table[hashed:]  # nobody else ever holds an unhashed block
        self._unhashed += unhashed
        further = self._further_holders
        idle = dict.fromkeys(reversed(table[:hashed]))
        for block in further.keys() & idle.keys():
            del idle[block]
            further[block] -= 1
            if not further[block]:
                del further[block]
        self._hashed.update(idle)
        self.free += len(unhashed) + len(idle)

    def register(self, blocks: Sequence[int], keys: Sequence[int]) -> None:
        """Each block is found under its key from now on, after those that already are."""
        key_of, block_of = self._key_of, self._block_of
        for block, key in zip(blocks, keys, strict=True):
            key_of[block] = key
        if block_of.keys().isdisjoint(keys):
            block_of.update(zip(keys, blocks, strict=True))
            return
        for block, key in zip(blocks, keys, strict=True):
            first = block_of.setdefault(key, block)
            if first != block:
                self._more.setdefault(key, [first]).append(block)

    def find(self, keys: Sequence[int]) -> list[int]:
        """The blocks of the leading keys that all are there; of several of one key, the earliest
        registered.
        """
        found: list[int] = []
        start, length = 0, _AT_FIRST
        while start < len(keys):
            piece = [*map(self._block_of.get, keys[start : start + length])]
            leading = [block for block in piece if block is not None]
            if len(leading) < len(piece):
                return found + leading[: piece.index(None)]
            found += leading
            start, length = start + length, 2 * length
        return found

    def is_registered(self, block: int) -> bool:
        """True if the block is found under some key."""
        return self._key_of[block] is not None

    def _forget(self, block: int, key: int) -> None:
        others = self._more[key]
        others.remove(block)
        self._block_of[key] = others[0]
        if len(others) == 1:
            del self._more[key]
