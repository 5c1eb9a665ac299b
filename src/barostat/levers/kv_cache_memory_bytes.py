"""The pool has exactly the size that the card has room for.

Meaning: --kv-cache-memory-bytes sets the pool per card; the memory accounting and
--gpu-memory-utilization no longer count for it; that share must still be free at the start.
When: the card has memory free beside a pool under pressure; serving runs out of memory and the pool
should give a known amount back; or the pool that was set does not go in, or is too small to start
with, which removes the argument.
Not when: before vLLM 0.10.2; where the pool's present size is not in the log.
Undo: remove the argument; drain first.
Proof: the log shows the new pool; no out-of-memory in a sustained run.
Source: vLLM 0.10.2 CacheConfig.kv_cache_memory_bytes, GPUWorker.determine_available_memory.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag, UnsetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import GIB, given, is_cpu, lacks, last_of, short_of_the_pool

NAME = "kv-cache-memory-bytes"
SPARE_GIB = 2.0


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Propose a pool size: the pool plus free memory less 2 GiB; if the engine ran out of memory
    while serving, the current pool less 1 GiB; if the configured pool does not fit, vLLM's default.
    """
    window = situation.window
    if (refusal := lacks(NAME, situation, "kv_cache_memory_bytes")) is not None:
        return refusal
    if is_cpu(window) or given(window, "num_gpu_blocks_override"):
        return NotApplicable(NAME, Prose("the pool's size is not set by the card's memory here"))
    set_bytes = (
        window.config.number("kv_cache_memory_bytes")
        if given(window, "kv_cache_memory_bytes")
        else None
    )
    if situation.cause == "kv-pool-too-small":
        if set_bytes is None:
            return NotApplicable(NAME, Prose("the pool's size is not set by hand"))
        why = (
            f"the pool is set by hand to {set_bytes / GIB:.1f} GiB; without it the engine takes "
            "what --gpu-memory-utilization leaves"
        )
        return Proposal(
            NAME, UnsetFlag("kv_cache_memory_bytes", int(set_bytes)), Prose(why), True, 15
        )
    if short_of_the_pool(situation) and set_bytes is not None:
        why = (
            "the card has no room for the pool that was set; without it the engine takes what "
            "is left"
        )
        return Proposal(
            NAME, UnsetFlag("kv_cache_memory_bytes", int(set_bytes)), Prose(why), True, 22
        )
    if (
        situation.cause == "gpu-oom"
        and situation.variant != "startup"
        and set_bytes is not None
        and set_bytes > 2 * GIB
    ):
        why = f"the pool is set to {set_bytes / GIB:.1f} GiB; 1 GiB less stays free"
        return Proposal(
            NAME, SetFlag("kv_cache_memory_bytes", int(set_bytes - GIB)), Prose(why), True, 26
        )
    pool_gib = window.config.number("available_kv_cache_memory_gib")
    if pool_gib is None or pool_gib <= 0:
        return NotApplicable(NAME, Prose("the pool's present size in bytes is not in the log"))
    if situation.cause == "gpu-oom":
        if situation.variant != "serving" or pool_gib <= 2:
            return NotApplicable(NAME, Prose("the pool is not what should give memory back here"))
        return Proposal(
            NAME,
            SetFlag("kv_cache_memory_bytes", int((pool_gib - 1) * GIB)),
            Prose(f"the pool has {pool_gib:g} GiB; 1 GiB less stays free"),
            True,
            26,
        )
    free = last_of(window, "gpu_memory_free_bytes")
    if free is None:
        return NotApplicable(NAME, Prose("the free memory of the card was not measured"))
    gain = free / GIB - SPARE_GIB
    if gain < 0.05 * pool_gib:
        return NotApplicable(
            NAME,
            Prose(f"the card has {free / GIB:.1f} GiB free, which peaks and fragmentation need"),
        )
    return Proposal(
        NAME,
        SetFlag("kv_cache_memory_bytes", int((pool_gib + gain) * GIB)),
        Prose(f"{free / GIB:.1f} GiB are free beside a pool of {pool_gib:g} GiB"),
        True,
        51,
    )


LEVER = Lever(
    NAME,
    Prose("set the pool in bytes"),
    "supply",
    ("kv-preemption-thrash", "kv-admission-queueing", "gpu-oom", "kv-pool-too-small"),
    propose,
)
