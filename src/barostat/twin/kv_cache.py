"""Blocks for requests: whether they fit, which are taken, which are given back, and which become findable for others.

Source: vLLM 0.32.0, KVCacheManager.allocate_slots, SingleTypeKVCacheManager and SlidingWindowManager.
"""

from __future__ import annotations

from barostat.core.units import ceil_div
from barostat.twin.block_pool import NULL_BLOCK, BlockPool
from barostat.twin.prefix_lookup import Hit, PrefixLookup
from barostat.twin.request import Request
from barostat.twin.settings import KvGroup, Settings


class KvCache:
    """The pool and the rules by which requests draw on it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pool = BlockPool(settings.kv_blocks, unhashed_first=settings.behaviour.unhashed_reused_first)
        self._lookup = PrefixLookup(settings, self.pool)
        self._groups = tuple(enumerate(settings.groups))
        self._caps = tuple(settings.admission_cap_blocks(group) for group in settings.groups)
        self._scales = tuple(group.block_tokens // settings.hash_tokens for group in settings.groups)
        self._count = len(settings.groups)
        self._windows = any(group.window_tokens for group in settings.groups)

    @property
    def nothing(self) -> Hit:
        """No cached prefix."""
        return self._lookup.nothing

    def lookup(self, request: Request) -> Hit:
        """The cached prefix of the request; at least its last token is left to compute."""
        if not self.settings.prefix_caching:
            return self.nothing
        hit = self._lookup.longest(request.key, request.tokens - 1)
        request.shared_boundary_tokens = hit.boundary_tokens
        return hit

    def admit(self, request: Request, new_tokens: int, hit: Hit, watermark_blocks: int) -> bool:
        """True, and the request holds its hit and room for its first chunk; False, and nothing has changed, where they do not fit."""
        settings = self.settings
        if settings.reserve_full_isl:
            whole = min(request.tokens, settings.max_model_len)
            if self._need(whole, hit, capped=True) + watermark_blocks > self.pool.free_blocks:
                return False
        slots = min(hit.tokens + new_tokens, settings.max_model_len)
        if self._need(slots, hit, capped=False) + watermark_blocks > self.pool.free_blocks:
            return False
        if hit.found:
            self._adopt(request, hit)
        self._grow(request, slots)
        self.remember(request, min(hit.tokens + new_tokens, request.tokens))
        return True

    def extend(self, request: Request, new_tokens: int) -> bool:
        """True, and the running request has room for that many more tokens; False where the pool lacks it.

        Either way what has left its windows is free.
        """
        if self._windows:
            self._slide(request)
        reached = request.computed_tokens + new_tokens
        slots = min(reached, self.settings.max_model_len)
        need = sum(max(0, ceil_div(slots, group.block_tokens) - len(request.blocks[index])) for index, group in self._groups)
        if need > self.pool.free_blocks:
            return False
        if need:
            self._grow(request, slots)
        self.remember(request, min(reached, request.tokens))
        return True

    def _need(self, tokens: int, hit: Hit, *, capped: bool) -> int:
        """Free blocks that it takes to hold `tokens`: new ones, and those of the hit that nobody holds."""
        total = 0
        for index, group in self._groups:
            required = ceil_div(tokens, group.block_tokens)
            cap = self._caps[index]
            if capped and cap is not None:
                required = min(required, cap)
            skipped = _skipped_tokens(group, hit.tokens) // group.block_tokens
            cached = hit.blocks[index]
            total += max(0, required - max(skipped, len(cached)))
            total += sum(map(self.pool.is_free, cached[skipped:]))
        return total

    def _adopt(self, request: Request, hit: Hit) -> None:
        for index, group in self._groups:
            skipped = _skipped_tokens(group, hit.tokens) // group.block_tokens
            kept = hit.blocks[index][skipped:]
            self.pool.touch(kept)
            request.blocks[index] = [NULL_BLOCK] * skipped + kept
            request.hashed_blocks[index] = len(request.blocks[index])

    def _grow(self, request: Request, slots: int) -> None:
        for index, group in self._groups:
            table = request.blocks[index]
            more = ceil_div(slots, group.block_tokens) - len(table)
            if more > 0:
                table.extend(self.pool.get(more))

    def _slide(self, request: Request) -> None:
        """What lies before each window is free. Tokens in flight still read theirs, in the versions that wait for them."""
        processed = request.computed_tokens
        if self.settings.behaviour.window_freed_when_processed:
            processed -= request.in_flight_tokens
        for index, group in self._groups:
            table = request.blocks[index]
            left = min(_skipped_tokens(group, processed) // group.block_tokens, len(table))
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
        settings = self.settings
        if not settings.prefix_caching:
            return
        tokens -= tokens % settings.aligned_tokens
        for index, group in self._groups:
            done, full = request.hashed_blocks[index], tokens // group.block_tokens
            if done >= full:
                continue
            table, scale = request.blocks[index], self._scales[index]
            wanted = self._reachable(request, group, done, full)
            for position in range(done, full):
                if table[position] != NULL_BLOCK and (wanted is None or wanted[position - done]):
                    self.pool.register(table[position], request.key((position + 1) * scale - 1) * self._count + index)
            request.hashed_blocks[index] = full

    def _reachable(self, request: Request, group: KvGroup, start: int, end: int) -> list[bool] | None:
        """Which blocks start..end a later request could resume at; None for all. A window keeps only the tails that end where a
        repeat of this prompt, or a prompt that shares what other groups still have, would start to compute."""
        if group.window_tokens is None or not self.settings.behaviour.sparse_window_cache:
            return None
        size, aligned = group.block_tokens, self.settings.aligned_tokens
        needed = ceil_div(group.window_tokens - 1, size)
        wanted = [False] * (end - start)
        for boundary in (request.prompt_tokens - 1, request.shared_boundary_tokens):
            last = boundary // aligned * aligned // size
            for position in range(max(start, last - needed), min(end, last)):
                wanted[position - start] = True
        return wanted

    def release(self, request: Request) -> None:
        """The request holds nothing; the tail of what it held is reused first."""
        for index in range(self._count):
            self.pool.free(reversed(request.blocks[index]))
            request.blocks[index] = []
            request.hashed_blocks[index] = 0


def _skipped_tokens(group: KvGroup, computed_tokens: int) -> int:
    """Tokens before the window of the next token to compute."""
    return 0 if group.window_tokens is None else max(0, computed_tokens - group.window_tokens + 1)
