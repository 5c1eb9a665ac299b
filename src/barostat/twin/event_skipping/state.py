"""The state of the fast form: requests that decode are not touched at all while nothing happens to
them.

All of them advance by one token per step, so that one clock counts for all:

    computed tokens of a decoding request  =  base + clock
    it needs a block when that is a multiple of the block size: it stands in bucket (-base) mod
    block size, and step `clock` serves bucket clock mod block size; it ends at a clock known when
    it starts to decode

What happens to a request (admission, a chunk of its prompt, preemption, a step without budget for
it, its end) re-anchors it.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import Protocol

from barostat.twin.event_skipping.counted_pool import Chain, CountedPool
from barostat.twin.outcome import Life
from barostat.twin.request import Row
from barostat.twin.scheduler.waiting import queue_for
from barostat.twin.settings import Settings


class Mode(IntEnum):
    """Phase of a request. ENDING: its last token is being computed, and it still holds its blocks
    (asynchronous scheduling).
    """

    WAITING = 0
    PREFILL = 1
    DECODE = 2
    ENDING = 3


WAITING, PREFILL, DECODE, ENDING = Mode  # looked up in the class, a member costs ten times as much


class Mover:
    """A request of the fast form. `computed` counts while it prefills; while it decodes, `base`
    does.
    """

    __slots__ = (
        "adapter", "arrival_s", "base", "chain", "computed", "end_clock", "fresh_clock", "last_ns", "life", "limit", "lost", "mode", "name",
        "priority", "prompt", "row", "seq", "starved", "tokens",
    )  # fmt: skip

    def __init__(self, row: Row, limit: int, life: Life) -> None:
        self.row = row
        self.name = row.request_id
        self.arrival_s = row.arrival_s
        self.priority = row.priority
        self.adapter = row.adapter
        self.prompt = row.input_tokens
        self.limit = limit
        self.life = life
        self.tokens = row.input_tokens
        self.computed = 0
        self.base = 0
        self.seq = 0
        self.mode = WAITING
        self.end_clock = -1
        self.fresh_clock = -1
        self.lost = 0
        self.last_ns = 0
        self.starved = False
        self.chain: Chain | None = None

    @property
    def order(self) -> tuple[int, float, str]:
        """Place in a queue by priority."""
        return (self.priority, self.arrival_s, self.name)


class FreeCount(Protocol):
    """A pool, as far as a plan looks at it."""

    @property
    def free(self) -> int:
        """Number of free blocks."""


class EventSkippingState:
    """Who runs, who prefills, who decodes in which phase, and what is free.

    Blocks are only counted here; another state with the same methods tracks blocks individually
    where that matters.
    """

    tells_blocks_apart = False
    served_one_by_one = False
    """True if a run of steps asks `serve_step` for each of them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.size = settings.groups[0].block_tokens
        self.pool = self._new_pool()
        self.waiting = queue_for(settings.policy, Mover)
        self.running: dict[int, Mover] = {}  # by order of admission
        self.prefills: list[Mover] = []
        self.buckets: list[dict[int, Mover]] = [{} for _ in range(self.size)]
        self.ends: dict[int, list[Mover]] = {}
        self.starved: dict[int, Mover] = {}
        self.decodes = 0
        self.base_sum = 0
        self.clock = 0
        self.last_end_ns = 0
        self._admitted = 0
        self._watermark_blocks = settings.watermark_blocks

    def _new_pool(self) -> FreeCount:
        settings = self.settings
        self._counted = CountedPool(
            settings.kv_blocks,
            caching=settings.prefix_caching,
            unhashed_first=settings.behaviour.unhashed_reused_first,
        )
        return self._counted

    def arrived(self, row: Row, limit: int, life: Life) -> Mover:
        """The row as a request that waits for nothing yet."""
        return Mover(row, limit, life)

    def step_starts(self) -> None:
        """Called when another step is scheduled."""

    def admission_starts(self) -> None:
        """Requests that wait are tried in this step."""

    def chunk(self, mover: Mover, start: int, count: int) -> int:
        """How many of the next `count` tokens of a prompt, from `start` on, one step computes."""
        del mover, start
        return count

    def decode_need(self) -> int:
        """Return the blocks that the decoding requests take in this step, at most."""
        return len(self.buckets[self.clock % self.size]) if self.decodes else 0

    def due(self) -> Collection[int]:
        """The decoding requests whose blocks this step changes, by their order of admission."""
        return tuple(self.buckets[self.clock % self.size])

    def chunk_need(self, mover: Mover, count: int) -> int:
        """Return the most blocks that more tokens of the request can take."""
        return self.blocks_of(mover.computed + count) - self.blocks_of(mover.computed)

    def serve_decodes(self, need: int) -> None:
        """Give every decoding request its blocks of this step, `need` together."""
        if need:
            self.grow_buckets(self.clock, self.clock + 1, need)

    def serve_chunk(self, mover: Mover, count: int, need: int) -> None:
        """Give a request the blocks for the first tokens of its prompt."""
        self.grow(mover, need)
        self.remember(mover, mover.computed + count)

    def serve_step(self, *, waiting: bool) -> bool:
        """Serve a step in which all that run decode. False, and nothing has changed, where the pool
        may be short, or where a request that waits might be admitted.
        """
        raise NotImplementedError

    def extend(self, mover: Mover, count: int) -> bool:
        """True, and the running request has room for that many more tokens; False if the pool
        lacks it.
        """
        computed = self.computed(mover)
        need = self.blocks_of(computed + count) - self.blocks_of(computed)
        if need > self.pool.free:
            return False
        self.grow(mover, need)
        if mover.mode is PREFILL:
            self.remember(mover, computed + count)
        return True

    def grow(self, mover: Mover, count: int) -> None:
        """The request holds that many blocks more."""
        del mover
        self._counted.take(count)

    def grow_buckets(self, first: int, last: int, blocks: int) -> None:
        """In each step from `first` to before `last`, every request of its bucket holds one block
        more: so many together.
        """
        del first, last
        self._counted.take(blocks)

    def find(self, mover: Mover) -> int:
        """Leading tokens of the waiting request that the prefix cache still has; its last token is
        left to compute.
        """
        return mover.chain.left * self.size if mover.chain is not None else 0

    def admit(self, mover: Mover, hit: int, reached: int, reserved: int) -> bool:
        """The request runs, last of all, and holds its first `reached` tokens, `hit` of which were
        just found; if that leaves the watermark free, with room for `reserved` tokens.
        Else False, and it waits.
        """
        size, pool = self.size, self._counted
        if -(-reserved // size) + (self._watermark_blocks if self.running else 0) > pool.free:
            return False  # what it found is free as well
        if mover.chain is not None:
            pool.reclaim(mover.chain)
            mover.chain = None
        pool.take(-(-reached // size) - hit // size)
        self._run(mover, hit)
        return True

    def remember(self, mover: Mover, tokens: int) -> None:
        """Make the computed part of the request's prompt available to others."""

    def release(self, mover: Mover, held: int, hashed: int, *, again: bool) -> None:
        """The request held the blocks of `held` tokens and holds nothing now. Those of `hashed`
        tokens can be found by it, if it comes `again`, until they are reused.
        """
        del again
        mover.chain = self._counted.give_back(self.blocks_of(held), hashed // self.size)

    def blocks_of(self, tokens: int) -> int:
        """Blocks needed for that many tokens."""
        return -(-tokens // self.size)

    def computed(self, mover: Mover) -> int:
        """Tokens whose keys and values are there, or on their way, before this step."""
        return mover.base + self.clock if mover.mode is DECODE else mover.computed

    def _run(self, mover: Mover, computed: int) -> None:
        self._admitted += 1
        mover.seq = self._admitted
        mover.mode = PREFILL
        mover.computed = computed
        self.running[mover.seq] = mover
        self.prefills.append(mover)

    def start_decoding(self, mover: Mover, clock: int) -> None:
        """From step `clock` on the request computes one token per step, until its limit."""
        left = mover.limit - (mover.tokens - mover.prompt)
        mover.mode = DECODE
        mover.base = mover.computed - clock
        mover.fresh_clock = clock
        mover.end_clock = clock + left - 1
        self.decodes += 1
        self.base_sum += mover.base
        self._place(mover)
        self.ends.setdefault(mover.end_clock, []).append(mover)

    def _place(self, mover: Mover) -> None:
        """The clock serves the request, from where its `base` is."""
        self.buckets[-mover.base % self.size][mover.seq] = mover

    def _unplace(self, mover: Mover) -> None:
        """The clock serves the request no more."""
        del self.buckets[-mover.base % self.size][mover.seq]

    def stop_decoding(self, mover: Mover, *, served: bool) -> None:
        """The request no longer takes part in the clock; `computed` says how far it came before
        this step. `served`: this step has given it its blocks.
        """
        del served
        mover.computed = mover.base + self.clock
        mover.tokens = mover.computed + 1
        self.decodes -= 1
        self.base_sum -= mover.base
        self._unplace(mover)

    def hold_back(self, mover: Mover) -> None:
        """The decoding request has no part in this step: everything of it comes one step later."""
        if not mover.starved:
            mover.starved = True
            mover.last_ns = self.last_end_ns
            self.starved[mover.seq] = mover
        self._unplace(mover)
        mover.base -= 1
        self.base_sum -= 1
        self._place(mover)
        mover.end_clock += 1
        self.ends.setdefault(mover.end_clock, []).append(mover)

    def preempt(self, mover: Mover, granted_tokens: int) -> None:
        """The request waits again and holds nothing. `granted`: what this very step had given it
        before it was chosen.
        """
        mode = mover.mode
        hashed = self._hashed_tokens(mover, granted_tokens)
        if mode is DECODE:
            self.stop_decoding(mover, served=granted_tokens > 0)
            if not mover.starved:
                mover.last_ns = self.last_end_ns
            self.starved.pop(mover.seq, None)
            mover.starved = False
        elif mode is PREFILL:
            self.prefills.remove(mover)
        self.release(mover, mover.computed + granted_tokens, hashed, again=True)
        del self.running[mover.seq]
        mover.lost = mover.computed
        mover.computed = 0
        mover.mode = WAITING
        mover.life.preemptions += 1
        self.waiting.put_back(mover)

    def _hashed_tokens(self, mover: Mover, granted: int) -> int:
        """How far the request's blocks have been offered to the prefix cache. Asynchronous
        scheduling offers a generated token only when it is known, which the one of the step before
        is not yet.
        """
        reached = self.computed(mover) + granted
        if not self.settings.async_scheduling or mover.mode is PREFILL or mover.starved:
            return reached
        return reached - granted if mover.fresh_clock == self.clock else reached - 1

    def prefills_are_last(self) -> bool:
        """True if no decoding request was admitted after one that still prefills: then decodes come
        before prefills in a step.
        """
        left = len(self.prefills)
        for mover in reversed(self.running.values()):
            if not left:
                return True
            if mover.mode is not PREFILL:
                return False
            left -= 1
        return True
