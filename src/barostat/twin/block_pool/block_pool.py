"""Block pool: free blocks in the order of reuse, and which blocks hold a cached prefix.

    head                                                          tail
    | unhashed: last freed first (LIFO) | hashed: first freed first |       get: from the head; a hashed block loses its prefix
      ^ freed without a hash              ^ hit: taken out of the middle  ^ freed with a hash

Since unhashed blocks join only at the head and hashed ones only at the tail, the two parts never
mix. The unhashed part is kept as a stack, the hashed part as a queue. A block taken out of its
middle leaves a stale entry: its earliest one.

Source: vLLM 0.32.0, BlockPool and FreeKVCacheBlockQueue; before 0.23.0 every freed block joined at
the tail.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable

NULL_BLOCK = 0
_NOBODYS = -(1 << 100)  # key of no content


class BlockPool:
    """Blocks 1 to kv_blocks-1 (block 0 is the null block), with their reference counts and prefix
    keys.
    """

    def __init__(self, kv_blocks: int, *, unhashed_first: bool = True) -> None:
        self.kv_blocks = kv_blocks
        self.free_blocks = kv_blocks - 1
        self._unhashed_first = unhashed_first
        self._stack = list(range(kv_blocks - 1, 0, -1))
        self._queue: deque[int] = deque()
        self._stale = [0] * kv_blocks
        self._stale_entries = 0
        self._holders = [0] * kv_blocks
        self._key_of: list[int | None] = [None] * kv_blocks
        self._by_key: dict[int, int | dict[int, None]] = {}

    def get(self, count: int) -> list[int]:
        """Take blocks from the head of the free list; each loses its prefix. The caller checks that
        enough are free.
        """
        stack, keys, holders = self._stack, self._key_of, self._holders
        if count <= len(stack):
            split = len(stack) - count
            taken = stack[split:]
            del stack[split:]
            taken.reverse()
        else:
            taken = stack[::-1]
            stack.clear()
            taken.extend(self._shift(count - len(taken)))
        self.free_blocks -= count
        for block in taken:
            holders[block] = 1
            if keys[block] is not None:
                self._forget(block)
        return taken

    def get_one(self) -> int:
        """Take the block at the head of the free list; it loses its prefix."""
        block = self._stack.pop() if self._stack else self._shift(1)[0]
        self.free_blocks -= 1
        self._holders[block] = 1
        if self._key_of[block] is not None:
            self._forget(block)
        return block

    def _shift(self, count: int) -> list[int]:
        queue, stale = self._queue, self._stale
        taken: list[int] = []
        if not self._stale_entries:
            return [queue.popleft() for _ in range(count)]
        while len(taken) < count:
            block = queue.popleft()
            if stale[block]:
                stale[block] -= 1
                self._stale_entries -= 1
            else:
                taken.append(block)
        return taken

    def would_reuse(self, count: int, blocks: Container[int]) -> bool:
        """True if one of `blocks`, all free, is among the next `count` blocks to be taken."""
        left = count - len(self._stack)
        if left <= 0:
            return False
        skipped: dict[int, int] = {}
        for block in self._queue:
            stale = self._stale[block] - skipped.get(block, 0) if self._stale_entries else 0
            if stale > 0:
                skipped[block] = skipped.get(block, 0) + 1
                continue
            if block in blocks:
                return True
            left -= 1
            if not left:
                break
        return False

    def touch(self, blocks: Iterable[int]) -> None:
        """Increment each block's reference count; free blocks leave the free list."""
        for block in blocks:
            if block == NULL_BLOCK:
                continue
            if not self._holders[block]:
                self._stale[block] += 1
                self._stale_entries += 1
                self.free_blocks -= 1
            self._holders[block] += 1

    def free(self, blocks: Iterable[int]) -> None:
        """Decrement each block's reference count; blocks at 0 join the free list, in this order."""
        holders, keys = self._holders, self._key_of
        unhashed: list[int] = []
        hashed: list[int] = []
        for block in blocks:
            if block == NULL_BLOCK:
                continue
            holders[block] -= 1
            if not holders[block]:
                if keys[block] is None and self._unhashed_first:
                    unhashed.append(block)
                else:
                    hashed.append(block)
        unhashed.reverse()
        self._stack.extend(unhashed)
        self._queue.extend(hashed)
        self.free_blocks += len(unhashed) + len(hashed)

    def free_one(self, block: int) -> None:
        """Decrement the block's reference count; at 0 it joins the free list."""
        self._holders[block] -= 1
        if self._holders[block]:
            return
        self.free_blocks += 1
        if self._key_of[block] is None and self._unhashed_first:
            self._stack.append(block)
        else:
            self._queue.append(block)

    def mark_hashed(self, blocks: Iterable[int]) -> None:
        """Mark blocks as holding a prefix that is never looked up: they are reused as late as
        cached ones.
        """
        keys = self._key_of
        for block in blocks:
            if keys[block] is None and block != NULL_BLOCK:
                keys[block] = _NOBODYS

    def is_free(self, block: int) -> bool:
        """True if the block's reference count is 0 (it may still be in the prefix cache)."""
        return block != NULL_BLOCK and not self._holders[block]

    def register(self, block: int, key: int) -> None:
        """Register the block under the key, after blocks already registered."""
        self._key_of[block] = key
        found = self._by_key.get(key)
        if found is None:
            self._by_key[key] = block
        elif isinstance(found, dict):
            found[block] = None
        else:
            self._by_key[key] = {found: None, block: None}

    def find(self, key: int) -> int | None:
        """Return the earliest registered block with this prefix; None if there is none."""
        found = self._by_key.get(key)
        return next(iter(found)) if isinstance(found, dict) else found

    def key_of(self, block: int) -> int | None:
        """Return the key under which the block is registered; None if it is not."""
        return self._key_of[block]

    def _forget(self, block: int) -> None:
        key = self._key_of[block]
        self._key_of[block] = None
        if key is None or key == _NOBODYS:
            return
        found = self._by_key[key]
        if isinstance(found, dict):
            del found[block]
            if found:
                return
        del self._by_key[key]

    def free_block_ids(self) -> list[int]:
        """Return the free list, head first."""
        listed = self._stack[::-1]
        stale: dict[int, int] = {}
        for block in self._queue:
            seen = stale.get(block, 0)
            if seen < self._stale[block]:
                stale[block] = seen + 1
            else:
                listed.append(block)
        return listed
