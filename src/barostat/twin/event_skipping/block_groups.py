"""The state of the fast form for several KV groups whose blocks have to be told apart: prefix
caching.

The block tables are those of the step-by-step form; a decoding request's are touched only in the
steps in which it takes or gives back a block. The blocks that it fills meanwhile are offered to the
prefix cache when it lets go of them: they hold tokens that no other request could look up before.
"""

from __future__ import annotations

from barostat.core.units import ceil_div
from barostat.twin.block_pool.block_pool import NULL_BLOCK
from barostat.twin.block_pool.content import Contents
from barostat.twin.block_pool.kv_cache import KvCache
from barostat.twin.block_pool.prefix_lookup import Hit
from barostat.twin.event_skipping.groups import OFFER, GroupMover, GroupsState, Kind
from barostat.twin.event_skipping.state import DECODE, FreeCount, Mover
from barostat.twin.intake import request_of
from barostat.twin.outcome import Life
from barostat.twin.request import Request, Row
from barostat.twin.settings import Settings


class BlockMover(GroupMover):
    """A request with its block tables; `hit`: what the prefix cache had of it when last asked."""

    __slots__ = ("hit", "request")

    def __init__(self, row: Row, limit: int, life: Life, kinds: int, request: Request) -> None:
        super().__init__(row, limit, life, kinds)
        self.request = request
        self.hit: Hit | None = None


class BlockGroups(GroupsState):
    """GroupsState over the block tables of a KvCache."""

    tells_blocks_apart = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._contents = Contents(settings.hash_tokens)
        self._watched: set[int] = set()
        self._every_block_offered = not settings.behaviour.sparse_window_cache

    def _new_pool(self) -> FreeCount:
        self._kv = KvCache(self.settings)
        return _FreeBlocks(self._kv)

    def arrived(self, row: Row, limit: int, life: Life) -> Mover:
        """The row as a request, with the keys of the blocks that it may share."""
        request = request_of(row, limit, self.settings, self._contents)
        return BlockMover(row, limit, life, len(self._shrinks), request)

    def step_starts(self) -> None:
        """States that were left behind in the step before can be resumed from now on."""
        self._kv.step_starts()

    # Waiting

    def admission_starts(self) -> None:
        """Nothing that waits is known to need more blocks than are free."""
        super().admission_starts()
        self._watched.clear()

    def find(self, mover: Mover) -> int:
        """Leading tokens of the waiting request that every group still has."""
        assert isinstance(mover, BlockMover)
        mover.request.tokens = mover.tokens
        mover.hit = self._kv.lookup(mover.request)
        mover.shared_boundary_tokens = mover.hit.boundary_tokens
        return mover.hit.tokens

    def admit(self, mover: Mover, hit: int, reached: int, reserved: int) -> bool:
        """The request runs, last of all, and holds its first `reached` tokens, if that leaves the
        watermark free.
        """
        del reserved
        assert isinstance(mover, BlockMover)
        kv, request, cached = self._kv, mover.request, mover.hit or self._kv.nothing
        request.tokens = mover.tokens
        need = kv.needed_to_admit(request, reached - hit, cached)
        need += self._watermark_blocks if self.running else 0
        if need > kv.pool.free_blocks:
            # A state that this very step computes can be resumed from the next on.
            self.wake_blocks = 0 if need > self.settings.kv_blocks else need
            self._watched = {
                block
                for table in (*cached.blocks, cached.boundary_blocks)
                for block in table
                if block != NULL_BLOCK and kv.pool.is_free(block)
            }
            return False
        kv.hold(request, reached - hit, cached)
        mover.hit = None
        self._run(mover, hit)
        self._schedule(mover, reached - hit)
        return True

    def _may_admit(self, need: int) -> bool:
        """True if the first request that waits may fit after this step, or if the step reuses a
        block of what is cached of it.
        """
        if self._offering or super()._may_admit(need):
            return True
        return bool(self._watched) and self._kv.pool.would_reuse(need, self._watched)

    # Running

    def serve_step(self, *, waiting: bool) -> bool:
        """Serve a step in which all that run decode."""
        self._kv.step_starts()
        return super().serve_step(waiting=waiting)

    def serve_decodes(self, need: int) -> None:
        """Give and take the blocks of this step, in the order of admission."""
        del need
        clock = self.clock
        due: dict[int, GroupMover] = {}
        alone: dict[int, Kind | None] = {}  # the one kind that a request has something of
        for kind in self._moving:
            if movers := kind.phases.get(clock % kind.block):
                for seq in movers:
                    alone[seq] = kind if seq not in due and kind.one_block else None
                due.update(movers)
        for mover, _ in self._crossing:
            due[mover.seq] = mover
            alone[mover.seq] = None
            if not self._every_block_offered:
                self._offer(mover)
        unsettled: dict[int, Mover] = {**self.unsettled}
        for mover in self._offering:
            unsettled[mover.seq] = mover
        for seq in sorted({*due, *unsettled}):
            if seq not in unsettled:
                one = None if self._every_block_offered else alone[seq]
                if one is None:
                    self._pass_over(due[seq])
                else:
                    self._move(due[seq], one)
            else:
                fits = self.extend(unsettled[seq], 1)
                assert fits

    def _move(self, mover: GroupMover, kind: Kind) -> None:
        """The decoding request takes a block in each group of a kind, or gives one back in each."""
        assert isinstance(mover, BlockMover)
        tables, pool = mover.request.blocks, self._kv.pool
        computed = mover.base + self.clock
        if not kind.window:
            for index in kind.indices:
                tables[index].append(pool.get_one())
            return
        place = (computed - self._behind - kind.window + 1) // kind.block - 1
        for index in kind.indices:
            block, tables[index][place] = tables[index][place], NULL_BLOCK
            if block != NULL_BLOCK:
                pool.free_one(block)

    def _settle(self, mover: GroupMover, clock: int) -> None:
        """The last blocks of a prompt are offered only with the next block of every group."""
        super()._settle(mover, clock)
        aligned = self.settings.aligned_tokens
        if aligned > self.settings.hash_tokens:
            full = ceil_div(mover.prompt, aligned) * aligned
            offered = full - mover.base - (0 if self._async else 1)
            if offered > clock:
                self._note(mover, OFFER, offered)

    def _pass_over(self, mover: GroupMover) -> None:
        assert isinstance(mover, BlockMover)
        request, computed = mover.request, mover.base + self.clock
        request.computed_tokens = computed
        request.in_flight_tokens = int(self._async)
        if self._every_block_offered:
            self._offer(mover)
        self._kv.pass_over(request)

    def _offer(self, mover: GroupMover) -> None:
        """What the decoding request has filled can be found, before it gives some of it back."""
        assert isinstance(mover, BlockMover)
        self._kv.remember(mover.request, mover.base + self.clock - int(self._async))

    def serve_chunk(self, mover: Mover, count: int, need: int) -> None:
        """Give a request the blocks for the first tokens of its prompt."""
        del need
        fits = self.extend(mover, count)
        assert fits

    def extend(self, mover: Mover, count: int) -> bool:
        """True, and the running request has room for that many more tokens; False if the pool
        lacks it. Either way what it has left is free.
        """
        assert isinstance(mover, BlockMover)
        request, computed = mover.request, self.computed(mover)
        request.computed_tokens = computed
        if mover.mode is DECODE:
            settled = mover.seq not in self.unsettled
            request.in_flight_tokens = int(self._async) if settled else self._in_flight(mover)
            request.tokens = computed if request.in_flight_tokens else computed + 1
            if self._every_block_offered or self._chunks:
                self._offer(mover)
        else:
            request.tokens = mover.tokens
            request.in_flight_tokens = self._in_flight(mover)
        if not self._kv.extend(request, count):
            return False
        self._schedule(mover, count)
        return True

    def release(self, mover: Mover, held: int, hashed: int, *, again: bool) -> None:
        """The request holds nothing; what it has filled can be found until it is reused."""
        del held
        assert isinstance(mover, BlockMover)
        if again:
            self._kv.remember(mover.request, hashed)
            self._kv.release(mover.request)
        else:
            self._kv.let_go(mover.request, hashed)


class _FreeBlocks:
    """The count of a cache's free blocks."""

    __slots__ = ("_pool",)

    def __init__(self, kv: KvCache) -> None:
        self._pool = kv.pool

    @property
    def free(self) -> int:
        """Number of free blocks."""
        return self._pool.free_blocks
