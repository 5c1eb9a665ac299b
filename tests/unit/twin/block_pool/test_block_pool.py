"""The free list's order, as the real pool keeps it; and the pool of tables and the counted pool
against it.
"""

from __future__ import annotations

import random

import pytest

from barostat.twin.block_pool.block_pool import BlockPool
from barostat.twin.event_skipping.counted_pool import CountedPool
from barostat.twin.event_skipping.table_pool import TablePool


def test_hashed_blocks_are_reused_last_and_tail_first() -> None:
    """As seen on 0.32.0: 40 tokens on blocks 1, 2, 3 of which two are full; afterwards 3, 4, ...,
    10, 2, 1 are free.
    """
    pool = BlockPool(11)
    assert pool.get(3) == [1, 2, 3]
    pool.register(1, 100)
    pool.register(2, 101)
    pool.free([3, 2, 1])
    assert pool.free_block_ids() == [3, 4, 5, 6, 7, 8, 9, 10, 2, 1]


def test_before_0_23_everything_joins_at_the_tail() -> None:
    pool = BlockPool(6, unhashed_first=False)
    pool.free(reversed(pool.get(2)))
    assert pool.free_block_ids() == [3, 4, 5, 2, 1]


def test_a_reused_block_forgets_and_a_touched_one_stays() -> None:
    pool = BlockPool(4)
    first, second, third = pool.get(3)
    pool.register(first, 7)
    pool.register(second, 8)
    pool.free([third, second, first])
    pool.touch([first])
    assert pool.free_block_ids() == [third, second]
    assert pool.get(2) == [third, second]
    assert pool.find(8) is None
    assert pool.find(7) == first


def test_the_earliest_of_several_is_found() -> None:
    pool = BlockPool(4)
    pool.get(3)
    for block in (2, 1, 3):
        pool.register(block, 5)
    assert pool.find(5) == 2
    pool.free([2])
    assert pool.get(1) == [2]
    assert pool.find(5) == 1


@pytest.mark.parametrize("seed", range(30))
def test_whole_tables_at_a_time_come_to_the_same(seed: int) -> None:
    dice = random.Random(seed)
    blocks = dice.randint(12, 60)
    plain, tables = BlockPool(blocks), TablePool(blocks)
    held: list[tuple[list[int], int]] = []
    for _ in range(300):
        assert plain.free_blocks == tables.free
        if plain.free_blocks and dice.random() < 0.55:
            start = dice.randrange(6) * 30
            keys = list(range(start, start + dice.randint(1, 8)))
            found = tables.find(keys)
            assert found == list(_leading(plain, keys))
            assert tables.idle(found) == sum(map(plain.is_free, found))
            plain.touch(found)
            tables.touch(found)
            count = dice.randint(0, min(plain.free_blocks, 9))
            fresh = plain.get(count)
            assert fresh == tables.get(count)
            new = keys[len(found) :][: len(fresh)]
            for block, key in zip(fresh, new, strict=False):
                plain.register(block, key)
            if new:
                tables.register(fresh[: len(new)], new)
            held.append((found + fresh, len(found) + len(new)))
        elif held:
            table, hashed = held.pop(dice.randrange(len(held)))
            plain.free(reversed(table))
            tables.give_back(table, hashed)


def _leading(pool: BlockPool, keys: list[int]) -> list[int]:
    found = []
    for key in keys:
        block = pool.find(key)
        if block is None:
            break
        found.append(block)
    return found


def test_counts_lose_the_tail_of_the_oldest_chain_first() -> None:
    pool = CountedPool(11, caching=True)
    pool.take(10)
    chain = pool.give_back(6, hashed=4)
    other = pool.give_back(4, hashed=4)
    assert chain is not None
    assert other is not None
    pool.take(2 + 1)
    assert (chain.left, other.left, pool.free) == (3, 4, 7)
    assert pool.reclaim(chain) == 3
    pool.take(4)
    assert other.left == 0
    assert pool.free == 0
