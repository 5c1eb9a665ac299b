"""The block pool with whole tables at a time: what BlockPool does, on arrays.

The hashed part of the free list is an array of entries; a block's live entry is the one whose
position it remembers, so that taking a block out of the middle is forgetting that position, and
entries that nobody remembers are skipped at the head.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Blocks = npt.NDArray[np.int64]
_NONE = -1


class ArrayPool:
    """Blocks 1 to kv_blocks-1, who holds them, and under which key each is found. Keys are whole
    numbers from 0 on, dense.
    """

    def __init__(self, kv_blocks: int) -> None:
        self.free = kv_blocks - 1
        self._stack = np.arange(kv_blocks, 0, -1, dtype=np.int64)
        self._stack[: kv_blocks - 1] = np.arange(kv_blocks - 1, 0, -1)
        self._top = kv_blocks - 1
        self._queue = np.zeros(4 * kv_blocks + 16, dtype=np.int64)
        self._head = self._tail = 0
        self._entry = np.full(kv_blocks, _NONE, dtype=np.int64)
        self._holders = np.zeros(kv_blocks, dtype=np.int64)
        self._key_of = np.full(kv_blocks, _NONE, dtype=np.int64)
        self._block_of = np.full(1 << 16, _NONE, dtype=np.int32)
        self._more: dict[
            int, list[int]
        ] = {}  # key -> all its blocks in the order of registration, where there are several

    def keys_up_to(self, count: int) -> None:
        """Keys below `count` may be registered and looked for."""
        if count > len(self._block_of):
            known = len(self._block_of)
            grown = np.empty(max(count, 2 * known), dtype=np.int32)
            grown[:known] = self._block_of
            grown[known:] = _NONE
            self._block_of = grown

    def get(self, count: int) -> Blocks:
        """That many blocks from the head of the free list; each forgets what it held. The caller
        has checked that they are there.
        """
        taken = self._stack[max(0, self._top - count) : self._top][::-1].copy()
        self._top -= len(taken)
        if len(taken) < count:
            rest = self._shift(count - len(taken))
            self._forget(rest)
            taken = np.concatenate((taken, rest)) if len(taken) else rest
        self.free -= count
        self._holders[taken] = 1
        return taken

    def get_few(self, count: int) -> list[int]:
        """The same, block by block."""
        taken: list[int] = []
        queue, entry = self._queue, self._entry
        while len(taken) < count:
            if self._top:
                self._top -= 1
                block = self._stack.item(self._top)
            else:
                block = queue.item(self._head)
                self._head += 1
                if entry.item(block) != self._head - 1:
                    continue
                entry[block] = _NONE
                key = self._key_of.item(block)
                if key != _NONE:
                    self._key_of[block] = _NONE
                    self._forget_one(block, key)
            self._holders[block] = 1
            taken.append(block)
        self.free -= count
        return taken

    def _shift(self, count: int) -> Blocks:
        pieces: list[Blocks] = []
        while count:
            end = min(self._head + count, self._tail)
            piece = self._queue[self._head : end]
            live = piece[self._entry[piece] == np.arange(self._head, end)]
            self._head = end
            if len(live):
                pieces.append(live)
                count -= len(live)
        found = np.concatenate(pieces) if len(pieces) > 1 else pieces[0].copy()
        self._entry[found] = _NONE
        return found

    def touch(self, blocks: Blocks) -> None:
        """One more holder for each block; those that were free leave the free list."""
        idle = blocks[self._holders[blocks] == 0]
        self._entry[idle] = _NONE
        self.free -= len(idle)
        self._holders[blocks] += 1

    def idle(self, blocks: Blocks) -> int:
        """How many of the blocks nobody holds."""
        return len(blocks) - int(np.count_nonzero(self._holders[blocks]))

    def give_back(self, blocks: Blocks, hashed: int) -> None:
        """One holder less for each block of a table; of those without any, the unhashed (behind the
        first `hashed`) are reused first.
        """
        self._holders[blocks] -= 1
        tail = blocks[hashed:]  # nobody else ever holds an unhashed block
        self._stack[self._top : self._top + len(tail)] = tail
        self._top += len(tail)
        head = blocks[:hashed][::-1]
        head = head[self._holders[head] == 0]
        if self._tail + len(head) > len(self._queue):
            self._compact(len(head))
        self._queue[self._tail : self._tail + len(head)] = head
        self._entry[head] = np.arange(self._tail, self._tail + len(head))
        self._tail += len(head)
        self.free += len(head) + len(tail)

    def _compact(self, more: int) -> None:
        kept = self._queue[self._head : self._tail]
        kept = kept[self._entry[kept] == np.arange(self._head, self._tail)]
        if len(kept) + more > len(self._queue):
            self._queue = np.zeros(2 * (len(kept) + more), dtype=np.int64)
        self._queue[: len(kept)] = kept
        self._entry[kept] = np.arange(len(kept))
        self._head, self._tail = 0, len(kept)

    def register(self, blocks: Blocks, keys: Blocks) -> None:
        """Each block is found under its key from now on, after those that already are."""
        found = self._block_of[keys]
        self._key_of[blocks] = keys
        if (found == _NONE).all():
            self._block_of[keys] = blocks
            return
        for block, key, first in zip(blocks.tolist(), keys.tolist(), found.tolist(), strict=True):
            if first == _NONE:
                self._block_of[key] = block
            else:
                self._more.setdefault(key, [first]).append(block)

    def find(self, keys: Blocks) -> Blocks:
        """The blocks of the leading keys that all are there; of several of one key, the earliest
        registered.
        """
        found = self._block_of[keys].astype(np.int64)
        missing = found == _NONE
        return found[: int(missing.argmax())] if missing.any() else found

    def is_registered(self, blocks: Blocks) -> npt.NDArray[np.bool_]:
        """Which of the blocks are found under some key."""
        found: npt.NDArray[np.bool_] = self._key_of[blocks] != _NONE
        return found

    def _forget(self, blocks: Blocks) -> None:
        keys = self._key_of[blocks]
        known = keys != _NONE
        if not known.any():
            return
        blocks, keys = blocks[known], keys[known]
        self._key_of[blocks] = _NONE
        if not self._more:
            self._block_of[keys] = _NONE
            return
        for block, key in zip(blocks.tolist(), keys.tolist(), strict=True):
            self._forget_one(block, key)

    def _forget_one(self, block: int, key: int) -> None:
        others = self._more.get(key)
        if others is None:
            self._block_of[key] = _NONE
            return
        others.remove(block)
        self._block_of[key] = others[0]
        if len(others) == 1:
            del self._more[key]
