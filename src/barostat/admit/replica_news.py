"""What the gateway hears of a replica: the pool it has, and what its metrics say."""

from __future__ import annotations

from typing import NamedTuple


class Pool(NamedTuple):
    """A replica's KV pool as its engine has it (usable: without the null block), its slots, and the
    longest sequence it takes.

    `shares_prefixes`: prefix caching is on, so that the n sequences of a request hold its prompt
    once.
    """

    kv_tokens: int
    block_tokens: int = 16
    slots: int = 1024
    longest_tokens: int | None = None
    shares_prefixes: bool = True
    watermark_ratio: float = 0.0


class AllPools(NamedTuple):
    """Summary of all pools: the largest, the longest sequence that each accepts (None if none
    reports it), and whether all use prefix caching.
    """

    largest_tokens: int = 0
    longest_tokens: int | None = None
    share_prefixes: bool = True


class Observation(NamedTuple):
    """One look at an engine's metrics: KV usage, requests running and waiting, preemptions since it
    started (a counter).

    `token_s`: mean gap between two tokens of an answer since the look before, None if none came
    or the engine does not tell.
    """

    usage_ratio: float
    running: int
    waiting: int
    preemptions: int
    token_s: float | None = None
