"""Event-skipping state with individually tracked blocks: workloads whose requests share prefixes.

As in EventSkippingState, a request that decodes is not touched; but its blocks are real ones, taken
in the order of the requests in each step. Generated blocks are registered only when a preempted
request leaves them behind: no other request could have found them before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from barostat.twin.block_pool.content import pieces
from barostat.twin.event_skipping.state import EventSkippingState, FreeCount, Mover
from barostat.twin.event_skipping.table_pool import TablePool
from barostat.twin.outcome import Life
from barostat.twin.request import Row
from barostat.twin.settings import Settings


class _Tables:
    """A request's blocks, and the keys of those that it may share."""

    __slots__ = ("blocks", "found", "hashed", "idle", "own_key", "shared")

    def __init__(self, shared: Sequence[int]) -> None:
        self.shared = shared
        self.own_key = -1
        self.blocks: list[int] = []
        self.found: list[int] = []
        self.idle = 0
        self.hashed = 0


_SILENT: tuple[Sequence[object], list[int]] = ((), [])


class BlockLeapState(EventSkippingState):
    """EventSkippingState over a TablePool."""

    tells_blocks_apart = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._tables: dict[Mover, _Tables] = {}
        self._chains: dict[tuple[int, object], int] = {}
        self._said: dict[
            tuple[str | None, str | None], tuple[Sequence[object], list[int]]
        ] = {}  # session and adapter -> its last prompt, and the first keys of its links
        self._keys = 0

    def _new_pool(self) -> FreeCount:
        self._blocks = TablePool(self.settings.kv_blocks)
        return self._blocks

    def arrived(self, row: Row, limit: int, life: Life) -> Mover:
        """The row as a request, with the keys of the blocks that it may share."""
        mover = Mover(row, limit, life)
        self._tables[mover] = _Tables(self._shared_keys(row))
        return mover

    def _shared_keys(self, row: Row) -> Sequence[int]:
        """A key for every full block whose tokens other requests may have too, the same for the
        same prefix.
        """
        size = self.size
        if row.prompt_token_ids is not None:
            tokens = row.prompt_token_ids
            return self._chained(
                [
                    tuple(tokens[start : start + size])
                    for start in range(0, len(tokens) - size + 1, size)
                ],
                1,
                row.adapter,
            )
        if row.hash_ids is None:
            return ()
        ids, id_tokens = row.hash_ids, row.id_tokens or size
        per_id, rest = divmod(id_tokens, size)
        if not rest:
            covered = min(len(ids) * per_id, row.input_tokens // size)
            return self._chained(ids[: -(-covered // per_id)], per_id, row.adapter, row.session_id)[
                :covered
            ]
        covered = min(len(ids) * id_tokens, row.input_tokens) // size
        return self._chained(
            [pieces(ids, id_tokens, index * size, (index + 1) * size) for index in range(covered)],
            1,
            row.adapter,
        )

    def _chained(
        self,
        links: Sequence[object],
        per_link: int,
        adapter: str | None,
        session: str | None = None,
    ) -> Sequence[int]:
        """`per_link` consecutive keys for each link of the chain. A session's chain is gone on with
        where its last turn ended. No two adapters share any.
        """
        before, known_firsts = self._said.get((session, adapter), _SILENT)
        if links[: len(before)] != before:
            before, known_firsts = _SILENT
        chains, firsts = self._chains, known_firsts.copy()
        first = firsts[-1] if firsts else -1
        if adapter is not None and not before:
            first = self._root_of(adapter)
        for link in links[len(before) :]:
            known = chains.get((first, link))
            if known is None:
                known = chains[first, link] = self._keys
                self._keys += per_link
            first = known
            firsts.append(first)
        if session is not None:
            self._said[session, adapter] = (links, firsts)
        if per_link == 1:
            return firsts
        return [*chain.from_iterable(range(first, first + per_link) for first in firsts)]

    def _root_of(self, adapter: str) -> int:
        root = self._chains.get((-1, adapter))
        if root is None:
            root = self._chains[-1, adapter] = self._keys
            self._keys += 1
        return root

    def grow(self, mover: Mover, count: int) -> None:
        """The request holds that many blocks more."""
        if count > 0:
            self._tables[mover].blocks += self._blocks.get(count)

    def grow_buckets(self, first: int, last: int, blocks: int) -> None:
        """In each step from `first` to before `last`, every request of its bucket takes one block,
        in the order of admission.
        """
        if not blocks:
            return
        taken = iter(self._blocks.get(blocks))
        ordered: dict[int, list[_Tables]] = {}
        for clock in range(first, last):
            index = clock % self.size
            tables = ordered.get(index)
            if tables is None:
                bucket = self.buckets[index]
                tables = ordered[index] = [self._tables[bucket[seq]] for seq in sorted(bucket)]
            for table in tables:
                table.blocks.append(next(taken))

    def find(self, mover: Mover) -> int:
        """Leading tokens of the waiting request that the pool still has."""
        table = self._tables[mover]
        limit = (mover.tokens - 1) // self.size
        found = self._blocks.find(table.shared[:limit])
        shared = len(table.shared)
        if table.own_key >= 0 and len(found) == shared < limit:
            found += self._blocks.find(range(table.own_key, table.own_key + limit - shared))
        table.found = found
        table.idle = self._blocks.idle(found)
        return len(found) * self.size

    def admit(self, mover: Mover, hit: int, reached: int, reserved: int) -> bool:
        """As for counted blocks; cached free blocks that were found leave the free list as well."""
        table, size = self._tables[mover], self.size
        need = max(0, -(-reserved // size) - hit // size) + table.idle
        if need + (self._watermark_blocks if self.running else 0) > self._blocks.free:
            return False
        if hit:
            self._blocks.touch(table.found)
        table.blocks = table.found
        table.hashed = hit // size
        table.found = []
        self.grow(mover, -(-reached // size) - hit // size)
        self._run(mover, hit)
        self.remember(mover, reached)
        return True

    def remember(self, mover: Mover, tokens: int) -> None:
        """The blocks that the request has computed of its shared prompt can be found by others."""
        table = self._tables[mover]
        full = min(tokens // self.size, len(table.shared))
        if full > table.hashed:
            self._blocks.register(
                table.blocks[table.hashed : full], table.shared[table.hashed : full]
            )
            table.hashed = full

    def release(self, mover: Mover, held: int, hashed: int, *, again: bool) -> None:
        """The request holds nothing. What it leaves of its own is registered if it may look for it
        again.
        """
        table = self._tables[mover]
        pool, blocks, hashed = self._blocks, table.blocks, hashed // self.size
        assert len(blocks) == self.blocks_of(held)
        shared = len(table.shared)
        if again and hashed > shared:
            if table.own_key < 0:
                table.own_key = self._keys
                self._keys += -(-(mover.prompt + mover.limit) // self.size) - shared
            new = [
                (block, key)
                for key, block in enumerate(blocks[shared:hashed], table.own_key)
                if not pool.is_registered(block)
            ]
            if new:
                pool.register(*zip(*new, strict=True))
        pool.give_back(blocks, hashed)
        table.blocks = []
        table.hashed = 0
        if not again:
            del self._tables[mover]
