"""Reduce the engine's host memory.

Meaning: reduce or remove arguments that put KV blocks or weights into host memory.
When: the engine was OOM-killed (host memory) while one of them is set.
Not when: none is set: loading or the tokenizer uses the memory, and the limit is too low.
Undo: restore the argument.
Proof: the container's memory falls by what the argument took; no OOMKilled.
Source: vLLM 0.33.0 CacheConfig.kv_offloading_size, OffloadConfig; V0 allocates --swap-space per
card as pinned memory.
"""

from __future__ import annotations

from barostat.catalog.vllm_behaviours import behaves
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag, UnsetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import given

NAME = "host-memory-less"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Propose half of the first consumer that is set, or its removal."""
    window = situation.window
    if given(window, "kv_offloading_size") and (size := window.config.number("kv_offloading_size")):
        return Proposal(
            NAME,
            SetFlag("kv_offloading_size", max(1, int(size) // 2)),
            Prose(f"{size:g} GiB of KV cache are in host memory, and actual use can be twice that"),
            True,
            22,
        )
    if given(window, "cpu_offload_gb") and (size := window.config.number("cpu_offload_gb")):
        return Proposal(
            NAME,
            SetFlag("cpu_offload_gb", size / 2),
            Prose(f"{size:g} GiB of weights per card are in host memory"),
            True,
            23,
        )
    if given(window, "swap_space") and window.config.number("swap_space"):
        if behaves("v1-default", window.version):
            return NotApplicable(
                NAME, Prose("--swap-space takes no memory on the V1 engine"), classic=True
            )
        shown = window.config.get("swap_space")
        if (
            shown is not None and shown.provenance == "metric"
        ):  # it may be the default, which applies again without the argument
            size = window.config.number("swap_space") or 0.0
            return Proposal(
                NAME,
                SetFlag("swap_space", 0),
                Prose(f"the V0 engine pins {size:g} GiB of host memory per card"),
                True,
                24,
            )
        return Proposal(
            NAME,
            UnsetFlag("swap_space"),
            Prose("the V0 engine pins that much host memory per card"),
            True,
            24,
        )
    return NotApplicable(
        NAME, Prose("no argument is known that puts KV blocks or weights into host memory")
    )


LEVER = Lever(NAME, Prose("less host memory"), "host", ("host-oom",), propose)
