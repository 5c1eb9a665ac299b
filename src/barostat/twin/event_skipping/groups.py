"""The state of the fast form for models with several KV groups: sliding windows, local chunks,
recurrent states, blocks of several sizes.

A decoding request takes a block of every group of one block size in the same phase of the clock,
and gives back what left a window in another phase:

    takes a block           computed tokens are a multiple of the block size
    leaves a window's block (tokens taken in - window + 1) is a multiple of the block size
    leaves a local chunk    tokens taken in are a multiple of the chunk: all its blocks together

"Taken in" is one token behind with asynchronous scheduling. In the one or two steps after a prompt,
or after a step without budget, it is further behind: such a request is *unsettled* and looked at in
every step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from barostat.core.units import ceil_div
from barostat.twin.block_pool.moving_state import chunk_end
from barostat.twin.event_skipping.state import DECODE, EventSkippingState, FreeCount, Mover
from barostat.twin.outcome import Life
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings

_NEVER = 1 << 62
OFFER = -1
"""In place of a kind of groups: others may look for a block that the request fills then."""
Phases = dict[int, dict[int, "GroupMover"]]
"""Decoding requests by their phase of the clock, then by order of admission."""


class GroupMover(Mover):
    """A request with blocks in several groups. `left[k]`: leading blocks that it no longer holds in
    groups of shrinking kind k; kept by the clock once it is settled. `states`: the places in its
    table that hold a state, until then. `given`: (clock, tokens) of the last step that scheduled it.
    """

    __slots__ = ("anchor", "given", "left", "shared_boundary_tokens", "slid_clock", "states")

    def __init__(self, row: Row, limit: int, life: Life, kinds: int) -> None:
        super().__init__(row, limit, life)
        self.left = [0] * kinds
        self.given = (-1, 0)
        self.anchor = 0
        self.slid_clock = -1
        self.states: list[int] = []
        self.shared_boundary_tokens = 0

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt alone."""
        return self.prompt


class Kind:
    """Groups that grow or shrink together, `count` of them: `indices` among all. `window`: their window, where they
    shrink by one. `one_block`: each step that moves them moves a block of each, and no more.
    """

    __slots__ = ("block", "count", "group", "indices", "one_block", "phases", "window")

    def __init__(self, group: KvGroup, window: int = 0) -> None:
        self.group = group
        self.window = window
        self.block = group.block_tokens
        self.count = 0
        self.indices: list[int] = []
        self.one_block = True
        self.phases: Phases = {}

    def join(self, index: int, group: KvGroup) -> None:
        """One more group moves with the others."""
        self.indices.append(index)
        self.count += 1
        self.one_block = self.one_block and group.state != "align"


class GroupsState(EventSkippingState):
    """Who runs, and in which phases each request takes and gives back blocks."""

    served_one_by_one = True

    def __init__(self, settings: Settings) -> None:
        self.wake_blocks = _NEVER
        self._state_tokens = settings.state_tokens
        self._async = settings.async_scheduling
        behind = self._async and settings.behaviour.window_freed_when_processed
        self._behind = int(behind)
        grows: dict[int, Kind] = {}
        shrinks: dict[KvGroup, Kind] = {}
        for place, group in enumerate(settings.groups):
            if group.block_tokens < settings.max_model_len:
                grows.setdefault(group.block_tokens, Kind(group)).join(place, group)
            if not group.is_full:
                shrinks.setdefault(group, Kind(group, _window(group))).join(place, group)
        self._grows = list(grows.values())
        self._sizes = list(Counter(group.block_tokens for group in settings.groups).items())
        self._shrinks = list(shrinks.values())
        self._windows = [
            (index, kind, _window(kind.group))
            for index, kind in enumerate(self._shrinks)
            if kind.group.chunk_tokens is None
        ]
        self._moving = [*self._grows, *(kind for _, kind, _ in self._windows)]
        self._chunks = [
            (index, kind, kind.group.chunk_tokens)
            for index, kind in enumerate(self._shrinks)
            if kind.group.chunk_tokens is not None
        ]
        offers_late = settings.prefix_caching and settings.aligned_tokens > settings.hash_tokens
        self._settles = bool(self._shrinks) or offers_late
        self.unsettled: dict[int, GroupMover] = {}
        self._calendar: dict[int, list[tuple[GroupMover, int, int]]] = {}
        self._looked_clock = -1  # the step of the two lists below
        self._crossing: list[tuple[GroupMover, int]] = []  # leave a local chunk
        self._offering: list[GroupMover] = []  # fill blocks that others may look for
        super().__init__(settings)

    def arrived(self, row: Row, limit: int, life: Life) -> Mover:
        """The row as a request that waits for nothing yet."""
        return GroupMover(row, limit, life, len(self._shrinks))

    def admission_starts(self) -> None:
        """Nothing that waits is known to need more blocks than are free."""
        self.wake_blocks = _NEVER

    def chunk(self, mover: Mover, start: int, count: int) -> int:
        """The chunk, ended where the request's state can be kept."""
        if not self._state_tokens or count <= 0:
            return count
        assert isinstance(mover, GroupMover)
        most = self.settings.longest_chunk_tokens
        return chunk_end(mover, start, count, self._state_tokens, most)

    # The clock

    def _place(self, mover: Mover) -> None:
        assert isinstance(mover, GroupMover)
        for kind in self._grows:
            kind.phases.setdefault(-mover.base % kind.block, {})[mover.seq] = mover
        if self._settles:
            self.unsettled[mover.seq] = mover

    def _unplace(self, mover: Mover) -> None:
        assert isinstance(mover, GroupMover)
        for kind in self._grows:
            del kind.phases[-mover.base % kind.block][mover.seq]
        if self._settles and self.unsettled.pop(mover.seq, None) is None:
            mover.anchor += 1
            for _, kind, window in self._windows:
                phase = self._window_phase(mover, window, kind.block)
                kind.phases.get(phase, {}).pop(mover.seq, None)

    def _window_phase(self, mover: Mover, window: int, block: int) -> int:
        return (self._behind + window - 1 - mover.base) % block

    def _settle(self, mover: GroupMover, clock: int) -> None:
        """From the step after `clock` on, the clock says when blocks of the request are free."""
        self.unsettled.pop(mover.seq, None)
        taken_in = mover.base + clock + 1 - self._behind  # in the next step
        for index, kind, window in self._windows:
            passed = taken_in - window + 1
            if passed > 0:
                phase = self._window_phase(mover, window, kind.block)
                kind.phases.setdefault(phase, {})[mover.seq] = mover
            else:
                self._note(mover, index, clock + 1 + kind.block - passed)
        for index, _, chunk in self._chunks:
            self._note(mover, index, clock + 1 + -taken_in % chunk)

    def _note(self, mover: GroupMover, index: int, clock: int) -> None:
        if clock <= mover.end_clock:
            self._calendar.setdefault(clock, []).append((mover, mover.anchor, index))

    def start_decoding(self, mover: Mover, clock: int) -> None:
        """From step `clock` on the request computes one token per step, until its limit."""
        assert isinstance(mover, GroupMover)
        mover.anchor += 1
        super().start_decoding(mover, clock)

    def stop_decoding(self, mover: Mover, *, served: bool) -> None:
        """The request no longer takes part in the clock; what it holds is counted out."""
        assert isinstance(mover, GroupMover)
        if self._settles and mover.seq not in self.unsettled:
            mover.left = self._left_by_clock(mover, served=served)
        super().stop_decoding(mover, served=served)

    def hold_back(self, mover: Mover) -> None:
        """The decoding request has no part in this step."""
        assert isinstance(mover, GroupMover)
        settled = self._settles and mover.seq not in self.unsettled
        if settled:
            mover.left = self._left_by_clock(mover, served=False)
            mover.given = (-1, 0)
        super().hold_back(mover)
        if settled and not self._behind:
            self._settle(mover, self.clock)

    def _left_by_clock(self, mover: GroupMover, *, served: bool) -> list[int]:
        """What a settled request has given back, before this step or, `served`, in it."""
        last = self.clock if served or mover.slid_clock == self.clock else self.clock - 1
        return self._left(mover.base + last - self._behind)

    def _left(self, taken_in: int) -> list[int]:
        return [kind.group.skipped_tokens(taken_in) // kind.block for kind in self._shrinks]

    # One step

    def decode_need(self) -> int:
        """Return the blocks that the decoding requests take in this step, whatever they give
        back.
        """
        clock = self.clock
        if self._looked_clock != clock:
            self._looked_clock, self._crossing, self._offering = clock, [], []
        for mover, anchor, index in self._calendar.pop(clock, ()):
            if mover.anchor != anchor or mover.mode is not DECODE or mover.seq in self.unsettled:
                continue
            if index == OFFER:
                self._offering.append(mover)
                continue
            kind = self._shrinks[index]
            if kind.group.chunk_tokens is None:
                kind.phases.setdefault(clock % kind.block, {})[mover.seq] = mover
            else:
                self._crossing.append((mover, index))
                self._note(mover, index, clock + kind.group.chunk_tokens)
        need = 0
        for kind in self._grows:
            movers = kind.phases.get(clock % kind.block)
            if movers:
                need += kind.count * len(movers)
        return need

    def due(self) -> Collection[int]:
        """The decoding requests whose blocks this step changes, by their order of admission."""
        found = {*self.unsettled}
        for kind in self._moving:
            found.update(kind.phases.get(self.clock % kind.block, ()))
        found.update(mover.seq for mover, _ in self._crossing)
        found.update(mover.seq for mover in self._offering)
        return found

    def _given_back(self) -> int:
        """Blocks that settled requests give back in this step."""
        clock, blocks = self.clock, 0
        for _, kind, _ in self._windows:
            movers = kind.phases.get(clock % kind.block)
            if movers:
                blocks += kind.count * len(movers)
        for mover, index in self._crossing:
            blocks += _freed_by_chunk(self._shrinks[index], mover.base + clock - self._behind)
        return blocks

    def chunk_need(self, mover: Mover, count: int) -> int:
        """Return the blocks that more tokens of the request take, ignoring those it frees."""
        return self._blocks(mover.computed + count) - self._blocks(mover.computed)

    def _blocks(self, tokens: int) -> int:
        """Blocks of all groups that hold the tokens, none freed."""
        blocks = 0
        for block_tokens, groups in self._sizes:
            blocks += groups * -(-tokens // block_tokens)
        return blocks

    def serve_step(self, *, waiting: bool) -> bool:
        """Serve a step in which all that run decode. False, and nothing has changed, where the pool
        may be short, or where a request that waits might be admitted.
        """
        need = self.decode_need()
        if need > self.pool.free:
            return False
        if waiting and (self.unsettled or self._may_admit(need)):
            return False
        self.serve_decodes(need)
        return True

    def _may_admit(self, need: int) -> bool:
        """True if the first request that waits may fit after this step has taken `need` blocks."""
        return self.pool.free - need + self._given_back() >= self.wake_blocks

    def _in_flight(self, mover: GroupMover) -> int:
        """Tokens of the request that the step before this one computes and that are not taken in."""
        clock, tokens = mover.given
        return tokens if self._async and clock == self.clock - 1 else 0

    def _schedule(self, mover: GroupMover, count: int) -> None:
        """Advance the request by the tokens of this step."""
        in_flight = self._in_flight(mover)
        mover.given = (self.clock, count)
        if (
            mover.mode is DECODE
            and mover.seq in self.unsettled
            and (not self._behind or in_flight == 1)
        ):
            self._settle(mover, self.clock)
            mover.slid_clock = self.clock


class TellApartError(Exception):
    """A request was preempted that may find blocks of its own: counts no longer say all."""


class CountedGroups(GroupsState):
    """Blocks are only counted: without prefix caching nothing tells them apart, nor does anything
    with it as long as no two requests share a prefix and nobody is preempted.

    Errors: TellApartError, from any step, where caching is on and a request is preempted.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._caching = settings.prefix_caching
        self._state_groups = sum(group.state == "align" for group in settings.groups)
        alike = Counter(
            (
                group.block_tokens,
                1 if group.state == "align" else settings.admission_cap_blocks(group),
            )
            for group in settings.groups
        )
        self._caps = [(block, groups, cap) for (block, cap), groups in alike.items()]

    def _new_pool(self) -> FreeCount:
        self._free = _Free(self.settings.usable_blocks)
        return self._free

    def chunk_need(self, mover: Mover, count: int) -> int:
        """Return the blocks that so many more tokens of the request take, whatever it gives
        back.
        """
        return self._between(mover.computed, mover.computed + count)

    def _between(self, start: int, end: int) -> int:
        """Blocks that it takes to come from `start` to `end` tokens: of a state, one at most."""
        blocks = self._blocks(end) - self._blocks(start)
        if self._state_groups:
            places = ceil_div(end, self._state_tokens) - ceil_div(start, self._state_tokens)
            blocks -= self._state_groups * max(0, places - 1)
        return blocks

    def hold_back(self, mover: Mover) -> None:
        """The decoding request has no part in this step."""
        computed = self.computed(mover)
        super().hold_back(mover)
        assert isinstance(mover, GroupMover)
        for index, kind in enumerate(self._shrinks):
            if kind.group.state == "align":
                mover.states = [*range(mover.left[index], ceil_div(computed, kind.block))]

    def _schedule(self, mover: GroupMover, count: int) -> None:
        if self._state_tokens and (mover.mode is not DECODE or mover.seq in self.unsettled):
            self._keep_state(mover, self.computed(mover) + count)
        super()._schedule(mover, count)

    def _keep_state(self, mover: GroupMover, tokens: int) -> None:
        """The request has a place for its state after so many tokens, and none on the way there."""
        places, states = ceil_div(tokens, self._state_tokens), mover.states
        if not states or states[-1] < places - 1:
            states.append(places - 1)
        for index, kind in enumerate(self._shrinks):
            if kind.group.state == "align":
                mover.left[index] = places - len(states)

    def serve_decodes(self, need: int) -> None:
        """Give every decoding request its blocks of this step, and take back what they leave."""
        self._free.free += self._given_back() - need
        for mover in tuple(self.unsettled.values()):
            assert isinstance(mover, GroupMover)
            self._slide(mover)
            self._schedule(mover, 1)

    def serve_chunk(self, mover: Mover, count: int, need: int) -> None:
        """Give a request the blocks for the first tokens of its prompt."""
        assert isinstance(mover, GroupMover)
        self._slide(mover)
        self._free.free -= need
        self._schedule(mover, count)

    def extend(self, mover: Mover, count: int) -> bool:
        """True, and the running request has room for that many more tokens; False if the pool
        lacks it. Either way what it has left is free.
        """
        assert isinstance(mover, GroupMover)
        if self._shrinks and mover.slid_clock != self.clock:
            self._slide(mover)
            mover.slid_clock = self.clock
        computed = self.computed(mover)
        if count == 1:
            need = sum([kind.count for kind in self._grows if not computed % kind.block])
        else:
            need = self._between(computed, computed + count)
        if need > self._free.free:
            return False
        self._free.free -= need
        self._schedule(mover, count)
        return True

    def _slide(self, mover: GroupMover) -> None:
        """What lies before each window of the request is free."""
        if not self._shrinks:
            return
        computed = self.computed(mover)
        if mover.mode is DECODE and mover.seq not in self.unsettled:
            self._free.free += self._left_in_step(computed - self._behind)
            return
        taken_in = computed - (self._in_flight(mover) if self._behind else 0)
        left = mover.left
        for index, kind in enumerate(self._shrinks):
            blocks = kind.group.skipped_tokens(taken_in) // kind.block
            if kind.group.state == "align":
                kept = [place for place in mover.states if place >= blocks]
                blocks = left[index] + len(mover.states) - len(kept)
                mover.states = kept
            if blocks > left[index]:
                self._free.free += kind.count * (blocks - left[index])
                left[index] = blocks

    def _left_in_step(self, taken_in: int) -> int:
        """Blocks that a request gives back when it comes from one token less to so many."""
        blocks = 0
        for _, kind, window in self._windows:
            passed = taken_in - window + 1
            if passed > 0 and not passed % kind.block:
                blocks += kind.count
        for _, kind, chunk in self._chunks:
            if not taken_in % chunk:
                blocks += _freed_by_chunk(kind, taken_in)
        return blocks

    def admit(self, mover: Mover, hit: int, reached: int, reserved: int) -> bool:
        """The request runs, last of all, and holds its first `reached` tokens; if that leaves the
        watermark free, with room for `reserved` tokens as far as admission counts them.
        """
        assert isinstance(mover, GroupMover)
        need = now = self._between(0, reached)
        if self.settings.reserve_full_isl:
            need = max(need, self._reserved(min(reserved, self.settings.max_model_len)))
        need += self._watermark_blocks if self.running else 0
        if need > self._free.free:
            self.wake_blocks = need
            return False
        self._free.free -= now
        self._run(mover, hit)
        mover.left = [0] * len(self._shrinks)
        mover.states = []
        self._schedule(mover, reached - hit)
        return True

    def _reserved(self, tokens: int) -> int:
        """Blocks that admission counts for a request of that length."""
        blocks = 0
        for block_tokens, groups, cap in self._caps:
            more = ceil_div(tokens, block_tokens)
            blocks += groups * (more if cap is None else min(more, cap))
        return blocks

    def release(self, mover: Mover, held: int, hashed: int, *, again: bool) -> None:
        """The request held the blocks of `held` tokens but what it had left, and holds nothing
        now.
        """
        del hashed
        assert isinstance(mover, GroupMover)
        if again and self._caching:
            raise TellApartError
        blocks = self._blocks(held)
        for index, kind in enumerate(self._shrinks):
            blocks -= kind.count * mover.left[index]
        self._free.free += blocks


class _Free:
    """A count of free blocks."""

    __slots__ = ("free",)

    def __init__(self, free: int) -> None:
        self.free = free


def _freed_by_chunk(kind: Kind, taken_in: int) -> int:
    """Blocks that a request frees when its first `tokens` tokens end a local chunk."""
    skipped = kind.group.skipped_tokens
    return kind.count * (skipped(taken_in) // kind.block - skipped(taken_in - 1) // kind.block)


def _window(group: KvGroup) -> int:
    """The window, in tokens; of a state only the last one counts."""
    return 2 if group.window_tokens is None else group.window_tokens
