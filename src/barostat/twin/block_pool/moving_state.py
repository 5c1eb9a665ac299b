"""A recurrent state that moves on with its request, and the chunks that end where another request
may resume it.

    | - | - | - | S | N |      the state before (S) and the one now (N); nothing if no state was left (0 in the table)
                             a state stays behind, findable, where a prompt like this one would
                             start to compute

Source: vLLM 0.32.0, MambaManager in mamba_cache_mode "align", Scheduler._mamba_block_aligned_split;
without drafts, without checkpoints inside a chunk, and with one block size for hashing and caching.
"""

from __future__ import annotations

from typing import Protocol

from barostat.core.units import ceil_div
from barostat.twin.block_pool.block_pool import NULL_BLOCK, BlockPool
from barostat.twin.request import Moving, Request


def need(table: int, tokens: int, block_tokens: int) -> int:
    """New blocks for a request to have its state after `tokens`, where its table has so many
    places: one, or none.
    """
    return min(1, max(0, ceil_div(tokens, block_tokens) - table))


def grow(request: Request, index: int, tokens: int, block_tokens: int, pool: BlockPool) -> None:
    """The request has a place for its state after `tokens`; what lies between that and the one
    before stays empty.
    """
    table, required = request.blocks[index], ceil_div(tokens, block_tokens)
    if required <= len(table):
        return
    moving = request.moving.setdefault(index, Moving())
    if table:
        moving.last = len(table) - 1
    table.extend([NULL_BLOCK] * (required - 1 - len(table)))
    table.extend(pool.get(1))


def slide(
    request: Request, index: int, processed_tokens: int, block_tokens: int, pool: BlockPool
) -> None:
    """States that the request is past are free."""
    table = request.blocks[index]
    moving = request.moving.get(index)
    if moving is None:
        return
    last = min(max(0, processed_tokens - 1) // block_tokens, len(table))
    if last > moving.retired:
        freed = [
            table[place]
            for place in range(last - 1, moving.retired - 1, -1)
            if table[place] != NULL_BLOCK
        ]
        for place in range(moving.retired, last):
            table[place] = NULL_BLOCK
        pool.free(freed)
        moving.retired = last
    before = moving.last
    if (
        before is not None
        and before < ceil_div(processed_tokens, block_tokens) - 1
        and table[before] != NULL_BLOCK
    ):
        pool.free([table[before]])
        table[before] = NULL_BLOCK


class Prompt(Protocol):
    """A request, as far as where its chunks end depends on it."""

    tokens: int
    shared_boundary_tokens: int

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt alone."""


def chunk_end(request: Prompt, start: int, count: int, block_tokens: int, most_tokens: int) -> int:
    """How many of `count` tokens from `start` on are computed, so that a chunk of a prompt ends
    where its state can be kept.

    `most_tokens`: the longest chunk that a step allows. 0: the budget does not reach the next such
    place.
    """
    prefill_end = max(request.prompt_tokens, request.tokens - 1)
    if start >= prefill_end:
        return count
    end = start + count
    if end < prefill_end:
        aligned = end // block_tokens * block_tokens
        if aligned > start or block_tokens <= most_tokens:
            end = aligned
    junction = request.shared_boundary_tokens
    stops = [(request.tokens - 1) // block_tokens * block_tokens]
    if start % block_tokens:
        stops.append((start // block_tokens + 1) * block_tokens)
    if start < junction < end:
        stops.append(start + (junction - start) // block_tokens * block_tokens)
    end = min((stop for stop in stops if start < stop < end), default=end)
    return max(end - start, 0)
