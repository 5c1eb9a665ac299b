"""Blocks for requests: whether they fit, which are taken, which are given back, and which become
findable for others.

Source: vLLM 0.32.0, KVCacheManager.allocate_slots, SingleTypeKVCacheManager, SlidingWindowManager,
ChunkedLocalAttentionManager and MambaManager.
"""

from __future__ import annotations

from collections.abc import Iterable

from barostat.core.units import ceil_div
from barostat.twin.block_pool import moving_state
from barostat.twin.block_pool.block_pool import NULL_BLOCK, BlockPool
from barostat.twin.block_pool.prefix_lookup import Hit, PrefixLookup
from barostat.twin.request import Request
from barostat.twin.settings import KvGroup, Settings


class KvCache:
    """The pool and the rules by which requests draw on it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pool = BlockPool(
            settings.kv_blocks, unhashed_first=settings.behaviour.unhashed_reused_first
        )
        self._lookup = PrefixLookup(settings, self.pool)
        self._groups = tuple(enumerate(settings.groups))
        self._caps = tuple(settings.admission_cap_blocks(group) for group in settings.groups)
        self._scales = tuple(
            group.block_tokens // settings.hash_tokens for group in settings.groups
        )
        self._count = len(settings.groups)
        self._aligned = settings.aligned_tokens
        self._sizes = tuple(enumerate(group.block_tokens for group in settings.groups))
        self._sliding = tuple((index, one) for index, one in self._groups if not one.is_full)
        self._moves = any(group.state == "align" for group in settings.groups)
        sparse = settings.behaviour.sparse_window_cache
        self._in_part = tuple(
            sparse and (group.window_tokens is not None or bool(group.state))
            for group in settings.groups
        )
        self._windows = not all(group.is_full for group in settings.groups)
        self._states = any(group.state for group in settings.groups)
        self._new_states: set[int] = set()
        drafting = settings.drafting
        self._lookahead = 0 if drafting is None else drafting.lookahead_tokens

    @property
    def nothing(self) -> Hit:
        """The result of a lookup without a hit."""
        return self._lookup.nothing

    def step_starts(self) -> None:
        """States that were left behind in the step before can be resumed from now on."""
        if self._states:
            self._new_states.clear()

    def lookup(self, request: Request) -> Hit:
        """The cached prefix of the request; at least its last token is left to compute."""
        if not self.settings.prefix_caching:
            return self.nothing
        hit = self._lookup.longest(request.key, request.tokens - 1)
        request.shared_boundary_tokens = hit.boundary_tokens
        return hit

    def admit(self, request: Request, new_tokens: int, hit: Hit, watermark_blocks: int) -> bool:
        """True, and the request holds its hit and room for its first chunk; False, and nothing has
        changed, where they do not fit.
        """
        need = self.needed_to_admit(request, new_tokens, hit)
        if need + watermark_blocks > self.pool.free_blocks:
            return False
        self.hold(request, new_tokens, hit)
        return True

    def needed_to_admit(self, request: Request, new_tokens: int, hit: Hit) -> int:
        """Return the free blocks that it takes to admit the request with that first chunk."""
        settings = self.settings
        slots = min(hit.tokens + new_tokens + self._lookahead, settings.max_model_len)
        need = self._need(slots, hit, hit.tokens, capped=False)
        if settings.reserve_full_isl:
            whole = min(request.tokens, settings.max_model_len)
            need = max(need, self._need(whole, hit, hit.tokens, capped=True))
        return need

    def hold(self, request: Request, new_tokens: int, hit: Hit) -> None:
        """The request holds its hit and room for its first chunk, which the caller has checked."""
        reached = hit.tokens + new_tokens
        slots = min(reached + self._lookahead, self.settings.max_model_len)
        if hit.found:
            self._adopt(request, hit, hit.tokens)
        self._grow(request, slots)
        self.remember(request, min(reached, request.tokens))

    def pass_over(self, request: Request) -> None:
        """One more token of a running request: what left its windows is free, and it has a block
        for the token. The caller has checked that there is one. Its full blocks are not offered to
        the prefix cache.
        """
        if self._windows:
            self._slide(request)
        self._grow(request, request.computed_tokens + 1)

    def fetch(
        self, request: Request, tokens: int, hit: Hit, watermark_blocks: int, reserved_blocks: int
    ) -> bool:
        """True, and the request holds its hit and room for KV up to `tokens`, which comes from
        another engine; False, and nothing has changed, where they do not fit. Others can find the
        blocks when `remember` says that their KV is there. `reserved_blocks`: what prompts under way
        still need.
        """
        settings, free = self.settings, self.pool.free_blocks - watermark_blocks
        whole = min(request.tokens, settings.max_model_len)
        if settings.reserve_full_isl and self._need(whole, hit, tokens, capped=True) > free:
            return False
        if self._need(tokens, hit, tokens, capped=False) > free - reserved_blocks:
            return False
        self._adopt(request, hit, tokens)
        self._grow(request, tokens)
        return True

    def left_to_hold(self, request: Request) -> int:
        """Blocks that the request needs beside those that it holds, to hold all its known tokens."""
        total, tokens = 0, min(request.tokens, self.settings.max_model_len)
        for index, group in self._groups:
            required, cap = ceil_div(tokens, group.block_tokens), self._caps[index]
            if cap is not None:
                required = min(required, cap)
            total += max(0, required - len(request.blocks[index]))
        return total

    def resume(self, request: Request, new_tokens: int, watermark_blocks: int) -> bool:
        """True, and the request, whose fetched KV it holds, has room for that many more tokens;
        False if the pool lacks it.
        """
        if self.settings.reserve_full_isl:
            need = self.left_to_hold(request)
            if need + watermark_blocks > self.pool.free_blocks:
                return False
        return self.extend(request, new_tokens, watermark_blocks)

    def extend(self, request: Request, new_tokens: int, watermark_blocks: int = 0) -> bool:
        """True, and the request has room for that many more tokens; False if the pool lacks it.

        Either way what has left its windows is free.
        """
        if self._windows:
            self._slide(request)
        reached = request.computed_tokens + new_tokens
        slots = min(reached + self._lookahead, self.settings.max_model_len)
        if self._states:
            need = sum(
                self._more(group, slots, len(request.blocks[index]))
                for index, group in self._groups
            )
        else:
            need = 0
            for index, size in self._sizes:
                more = -(-slots // size) - len(request.blocks[index])
                if more > 0:
                    need += more
        if need + watermark_blocks > self.pool.free_blocks:
            return False
        if need:
            self._grow(request, slots)
        self.remember(request, min(reached, request.tokens))
        return True

    def _need(self, tokens: int, hit: Hit, computed_tokens: int, *, capped: bool) -> int:
        """Free blocks that it takes to hold `tokens`, `computed_tokens` of which need not be
        computed: new ones, and free ones of the hit.
        """
        total = 0
        for index, group in self._groups:
            if group.state:
                cached = hit.blocks[index]
                if cached and self.pool.key_of(cached[-1]) in self._new_states:
                    return (
                        self.settings.kv_blocks + 1
                    )  # its state is computed in this very step: the next one can read it
                if group.state == "align":
                    total += self._more(group, tokens, len(cached)) + sum(
                        map(self.pool.is_free, cached)
                    )
                    continue
            required = ceil_div(tokens, group.block_tokens)
            cap = self._caps[index]
            if capped and cap is not None:
                required = min(required, cap)
            skipped = group.skipped_tokens(computed_tokens) // group.block_tokens
            cached = hit.blocks[index]
            total += max(0, required - max(skipped, len(cached)))
            total += sum(map(self.pool.is_free, cached[skipped:]))
        return total

    def _more(self, group: KvGroup, tokens: int, table: int) -> int:
        """New blocks needed to hold the tokens beyond the existing places."""
        if group.state == "align":
            return moving_state.need(table, tokens, group.block_tokens)
        return max(0, ceil_div(tokens, group.block_tokens) - table)

    def _adopt(self, request: Request, hit: Hit, computed_tokens: int) -> None:
        for index, group in self._groups:
            skipped = group.skipped_tokens(computed_tokens) // group.block_tokens
            kept = hit.blocks[index][skipped:]
            self.pool.touch(kept)
            request.blocks[index] = [NULL_BLOCK] * skipped + kept
            request.hashed_blocks[index] = len(request.blocks[index])

    def _grow(self, request: Request, slots: int) -> None:
        if self._moves:
            self._grow_moving(request, slots)
            return
        tables, wanted, total = request.blocks, [], 0
        for index, size in self._sizes:
            more = -(-slots // size) - len(tables[index])
            if more > 0:
                wanted.append((tables[index], more))
                total += more
        if not total:
            return
        taken = self.pool.get(total)  # as group after group would take them
        start = 0
        for table, more in wanted:
            table.extend(taken[start : start + more])
            start += more

    def _grow_moving(self, request: Request, slots: int) -> None:
        for index, group in self._groups:
            if group.state == "align":
                moving_state.grow(request, index, slots, group.block_tokens, self.pool)
                continue
            table = request.blocks[index]
            more = ceil_div(slots, group.block_tokens) - len(table)
            if more > 0:
                table.extend(self.pool.get(more))

    def _slide(self, request: Request) -> None:
        """What lies before each window is free. Tokens in flight still read theirs, in the versions
        that wait for them.
        """
        processed = request.computed_tokens
        if self.settings.behaviour.window_freed_when_processed:
            processed -= request.in_flight_tokens
        for index, group in self._sliding:
            if group.state == "align":
                moving_state.slide(request, index, processed, group.block_tokens, self.pool)
                continue
            table = request.blocks[index]
            left = min(group.skipped_tokens(processed) // group.block_tokens, len(table))
            freed = []
            for position in range(left - 1, -1, -1):
                if table[position] == NULL_BLOCK:
                    break
                freed.append(table[position])
                table[position] = NULL_BLOCK
            if freed:
                self.pool.free(freed)

    def remember(self, request: Request, tokens: int) -> None:
        """The full blocks among the request's first `tokens` can be found by others from now on."""
        if not self.settings.prefix_caching:
            return
        exact = tokens
        tokens -= tokens % self._aligned
        for index, group in self._groups:
            if group.state == "align":
                self._still_there(request, index, tokens if self._count > 1 else exact)
            done, full = request.hashed_blocks[index], tokens // group.block_tokens
            if done >= full:
                continue
            table, scale = request.blocks[index], self._scales[index]
            wanted: Iterable[int] = range(done, full)
            if self._in_part[index]:
                wanted = self._reachable(request, group, done, full)
            for position in wanted:
                if table[position] != NULL_BLOCK:
                    key = request.key((position + 1) * scale - 1) * self._count + index
                    self.pool.register(table[position], key)
                    if group.state:
                        self._new_states.add(key)
            request.hashed_blocks[index] = full

    def let_go(self, request: Request, tokens: int) -> None:
        """The request, whose first `tokens` are computed, has ended and holds nothing. Nobody can
        look for the blocks that only it could have found.
        """
        settings = self.settings
        if settings.prefix_caching:
            aligned = self._aligned
            prompt = ceil_div(request.prompt_tokens, aligned) * aligned
            self.remember(request, min(tokens, prompt))
            for index, group in self._groups:
                done, full = request.hashed_blocks[index], tokens // aligned * aligned
                sparse = settings.behaviour.sparse_window_cache
                if group.is_full or group.chunk_tokens is not None or not sparse:
                    kept = request.blocks[index][done : full // group.block_tokens]
                    self.pool.mark_hashed(kept)
        self.release(request)

    def _still_there(self, request: Request, index: int, tokens: int) -> None:
        """The state at which a repeat of the prompt would resume counts as new as long as its
        request is not past it.

        Source: vLLM 0.32.0, MambaManager._cache_partial_tail_block, where whole blocks are hashed.
        """
        size = self.settings.groups[index].block_tokens
        place = tokens // size - 1
        if (
            tokens <= 0
            or tokens % size
            or tokens != (request.prompt_tokens - 1) // size * size
            or place >= len(request.blocks[index])
        ):
            return
        block = request.blocks[index][place]
        if block == NULL_BLOCK:
            return
        key = request.key(place) * self._count + index
        if self.pool.key_of(block) is None:
            self.pool.register(block, key)
        self._new_states.add(key)

    def _reachable(self, request: Request, group: KvGroup, start: int, end: int) -> Iterable[int]:
        """Which blocks start..end a later request could resume at, in their order. A window keeps
        only the tails that end where a repeat of this prompt, or a prompt that shares what other
        groups still have, would start to compute; a state only the last block.
        """
        size, aligned = group.block_tokens, self._aligned
        needed = 1 if group.window_tokens is None else ceil_div(group.window_tokens - 1, size)
        one = request.shared_boundary_tokens // aligned * aligned // size
        other = (request.prompt_tokens - 1) // aligned * aligned // size
        if one > other:
            one, other = other, one
        if other <= start or max(one - needed, 0) >= end:
            return ()
        first = range(max(start, one - needed), min(end, one))
        return (*first, *range(max(start, other - needed, one), min(end, other)))

    def leave_windows(self, request: Request) -> None:
        """What has left the request's windows is free."""
        if self._windows:
            self._slide(request)

    def release(self, request: Request) -> None:
        """The request holds nothing; the tail of what it held is reused first."""
        request.moving.clear()
        for index in range(self._count):
            self.pool.free(reversed(request.blocks[index]))
            request.blocks[index] = []
            request.hashed_blocks[index] = 0
