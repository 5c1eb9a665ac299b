"""The longest prefix of a request that every group still holds in the pool.

Full attention needs every block from the start (scan from the left); a sliding window needs only
the blocks that the window reaches back over (scan from the right), local chunks those of the last
chunk, a state one block. Groups of one kind are looked up together, full attention first; each may
only shorten what the others found, until all agree.

Source: vLLM 0.32.0, HybridKVCacheCoordinator, FullAttentionManager, SlidingWindowManager,
ChunkedLocalAttentionManager and MambaManager (find_longest_cache_hit).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from barostat.core.units import ceil_div
from barostat.twin.block_pool.block_pool import NULL_BLOCK, BlockPool
from barostat.twin.settings import KvGroup, Settings


@dataclass(frozen=True, slots=True)
class Hit:
    """Cached prefix of a request: its blocks per group (0 where a window does not need one), and
    how many tokens they cover.

    `boundary_tokens` is where a longer prefix ends that some group still has and another has not; 0
    for none. `boundary_blocks`: that group's blocks up to there.
    """

    blocks: tuple[list[int], ...]
    tokens: int
    boundary_tokens: int = 0
    boundary_blocks: tuple[int, ...] = ()

    @property
    def found(self) -> bool:
        """True if any group holds anything."""
        return any(self.blocks)


@dataclass(frozen=True, slots=True)
class _Kind:
    group: KvGroup
    ids: tuple[int, ...]


def kinds(settings: Settings) -> tuple[_Kind, ...]:
    """The groups gathered by kind, full attention first."""
    gathered: dict[KvGroup, list[int]] = {}
    for index, group in enumerate(settings.groups):
        gathered.setdefault(group, []).append(index)
    found = [_Kind(group, tuple(ids)) for group, ids in gathered.items()]
    return tuple(sorted(found, key=lambda kind: not kind.group.is_full))


class PrefixLookup:
    """Looks prefixes up in one pool for one configuration."""

    def __init__(self, settings: Settings, pool: BlockPool) -> None:
        self._pool = pool
        self._kinds = kinds(settings)
        self._groups = len(settings.groups)
        self._hash_tokens = settings.hash_tokens
        self._aligned_tokens = settings.aligned_tokens
        self._one_pass = len(self._kinds) == 1 or (
            len(self._kinds) == 2 and self._kinds[0].group.is_full
        )
        self._drops_block = settings.drafting is not None and settings.drafting.drops_block
        self.nothing = Hit(tuple([] for _ in settings.groups), 0)

    def longest(self, key: Callable[[int], int], limit_tokens: int) -> Hit:
        """The longest cached prefix of at most `limit_tokens`. `key(i)`: content key of hash block
        i.
        """
        if self._drops_block:
            return self._without_last(key, limit_tokens)
        hit = limit_tokens
        longest = 0
        longest_tables: list[list[int]] = []
        blocks: list[list[int]] = [[] for _ in range(self._groups)]
        full_tokens: dict[KvGroup, int] = {}
        while True:
            current = hit
            for kind in self._kinds:
                if kind.group in full_tokens:
                    current = min(current, full_tokens[kind.group])
                    continue
                found = self._found(kind, key, current)
                current = len(found[0]) * kind.group.block_tokens
                if kind.group.is_full:
                    current -= current % self._aligned_tokens
                    full_tokens[kind.group] = current
                for index, table in zip(kind.ids, found, strict=True):
                    blocks[index] = table
                if current > longest:
                    longest, longest_tables = current, found
            if current >= hit:
                break
            hit = current
            if self._one_pass:
                break
        beyond: tuple[int, ...] = ()
        if longest > hit:
            beyond = tuple(block for table in longest_tables for block in table)
        for kind in self._kinds:
            if kind.group.is_full:
                for index in kind.ids:
                    del blocks[index][ceil_div(hit, kind.group.block_tokens) :]
        return Hit(tuple(blocks), hit, longest if longest > hit else 0, beyond)

    def _without_last(self, key: Callable[[int], int], limit_tokens: int) -> Hit:
        """The longest prefix less its last block, in the one group that such an engine has."""
        (kind,) = self._kinds
        (blocks,) = self._from_left(kind, key, limit_tokens)
        del blocks[-1:]
        return Hit((blocks,), len(blocks) * kind.group.block_tokens)

    def _found(self, kind: _Kind, key: Callable[[int], int], limit_tokens: int) -> list[list[int]]:
        if kind.group.chunk_tokens is not None:
            start = (
                limit_tokens
                // kind.group.chunk_tokens
                * kind.group.chunk_tokens
                // kind.group.block_tokens
            )
            return self._from_left(kind, key, limit_tokens, start)
        if kind.group.state:
            return self._last(kind, key, limit_tokens)
        return (
            self._from_left(kind, key, limit_tokens)
            if kind.group.is_full
            else self._from_right(kind, key, limit_tokens)
        )

    def _last(self, kind: _Kind, key: Callable[[int], int], limit_tokens: int) -> list[list[int]]:
        """The latest state that is still there: one block, and nothing before it."""
        for index in range(limit_tokens // kind.group.block_tokens - 1, -1, -1):
            found = self._find(kind, key, index)
            if found is not None:
                return [[NULL_BLOCK] * index + [block] for block in found]
        return [[] for _ in kind.ids]

    def _find(self, kind: _Kind, key: Callable[[int], int], index: int) -> list[int] | None:
        scale = kind.group.block_tokens // self._hash_tokens
        content = key((index + 1) * scale - 1) * self._groups
        found = []
        for group in kind.ids:
            block = self._pool.find(content + group)
            if block is None:
                return None
            found.append(block)
        return found

    def _from_left(
        self, kind: _Kind, key: Callable[[int], int], limit_tokens: int, start: int = 0
    ) -> list[list[int]]:
        """Blocks from `start` on as long as they are there; what lies before is not looked at any
        more.
        """
        tables: list[list[int]] = [[NULL_BLOCK] * start for _ in kind.ids]
        for index in range(start, limit_tokens // kind.group.block_tokens):
            found = self._find(kind, key, index)
            if found is None:
                break
            for table, block in zip(tables, found, strict=True):
                table.append(block)
        return tables

    def _from_right(
        self, kind: _Kind, key: Callable[[int], int], limit_tokens: int
    ) -> list[list[int]]:
        size = kind.group.block_tokens
        needed = ceil_div((kind.group.window_tokens or 1) - 1, size)
        count = limit_tokens // size
        tables = [[NULL_BLOCK] * count for _ in kind.ids]
        run = 0
        for index in range(count - 1, -1, -1):
            found = self._find(kind, key, index)
            if found is None:
                run = 0
                continue
            if not run and (index + 1) * size % self._aligned_tokens:
                continue
            for table, block in zip(tables, found, strict=True):
                table[index] = block
            run += 1
            if run >= needed:
                for table in tables:
                    del table[index + run :]
                return tables
        # What is left of a run at the very start is a hit however short, cut to where hits may end.
        keep = run - run * size % self._aligned_tokens // size
        for table in tables:
            del table[keep:]
        return tables
