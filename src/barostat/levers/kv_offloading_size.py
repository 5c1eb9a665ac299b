"""What was evicted comes back from host memory instead of being computed again.

Meaning: --kv-offloading-size keeps a second prefix-cache tier in host memory. It makes the
re-prefill after a preemption cheap; it adds no room to run.
When: preemption thrash where recomputation is the cost, and the host has memory to spare.
Not when: before vLLM 0.11.1; where the host's free memory is not known: its use can go well beyond
the size given (vllm#53042: 1.92 times).
Undo: remove the argument; drain first.
Proof: external prefix-cache hits rise, prompt tokens computed locally fall; host memory stays below
its limit.
Source: vLLM 0.11.1 CacheConfig.kv_offloading_size, OffloadingConnector.
"""

from __future__ import annotations

import math

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import GIB, given, is_cpu, lacks, last_of

NAME = "kv-offloading-size"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Half of what the host has free, in whole GiB."""
    window = situation.window
    if (refusal := lacks(NAME, situation, "kv_offloading_size")) is not None:
        return refusal
    if is_cpu(window):
        return NotApplicable(NAME, Prose("on the CPU backend the pool lies in host memory already"))
    if given(window, "kv_offloading_size") or given(window, "kv_transfer_config"):
        return NotApplicable(NAME, Prose("a second tier or a KV connector is configured already"))
    used, limit = last_of(window, "host_memory_bytes"), last_of(window, "host_memory_limit_bytes")
    if used is None or limit is None:
        return NotApplicable(
            NAME,
            Prose(
                "the host's free memory was not measured, and too large a tier gets the pod killed"
            ),
        )
    size = math.floor((limit - used) / GIB / 2)
    if size < 4:
        return NotApplicable(
            NAME,
            Prose(
                f"the host has {(limit - used) / GIB:.0f} GiB free: too little for a tier that pays"
            ),
        )
    return Proposal(
        NAME,
        SetFlag("kv_offloading_size", size),
        Prose(
            f"the container has {(limit - used) / GIB:.0f} GiB free; half of it, since use can double"
        ),
        True,
        55,
    )


LEVER = Lever(
    NAME, Prose("a prefix-cache tier in host memory"), "supply", ("kv-preemption-thrash",), propose
)
