"""The KV pool is larger, because the engine may take more of the card.

Meaning: what weights, activations and graphs leave of --gpu-memory-utilization times total memory
is the pool; more of the one is more of the other.
When: KV pressure, or a pool too small to start, and the setting has room: steps of 0.02 to 0.03,
not above 0.95.
Not when: the card is shared; the pool's size is set by hand (--num-gpu-blocks-override,
--kv-cache-memory-bytes); out of memory outside the pool.
Undo: restore the former value; drain first.
Proof: the pool logged at start grows by the difference over the bytes per block; no out-of-memory
in a sustained run.
Source: vLLM 0.33.0 GPUWorker.determine_available_memory; since 0.20.0 graphs are inside the budget.
"""

from __future__ import annotations

from barostat.catalog.settings.defaults import assumed_default
from barostat.catalog.vllm_behaviours import behaves
from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import GIB, given, how_sure, is_cpu, last_of, setting

NAME = "gpu-memory-utilization-up"
MOST = 0.95


def propose(situation: Situation) -> Proposal | NotApplicable:
    """A step of up to 0.03 towards 0.95; larger for a pool that does not fit at all."""
    window = situation.window
    if situation.variant == "states":
        return NotApplicable(
            NAME, Prose("the log names how many slots fit; fewer slots is the surer change")
        )
    for owner in ("num_gpu_blocks_override", "kv_cache_memory_bytes"):
        if given(window, owner):
            return NotApplicable(
                NAME,
                Prose(
                    f"{setting(window, owner).source} sets the pool's size: memory utilisation "  # type: ignore[union-attr]
                    "changes nothing"
                ),
            )
    if is_cpu(window):
        return NotApplicable(
            NAME, Prose("on the CPU backend the pool is set by VLLM_CPU_KVCACHE_SPACE")
        )
    found = setting(window, "gpu_memory_utilization")
    now = window.config.number("gpu_memory_utilization")
    if found is None or now is None:
        return NotApplicable(NAME, Prose("the present memory utilisation is not known"))
    if now >= MOST:
        return NotApplicable(
            NAME,
            Prose(
                f"it is {now:g} already: more leaves no room for fragmentation, and trades "
                "preemption for out of memory"
            ),
        )
    foreign = last_of(window, "gpu_foreign_memory_bytes")
    if foreign is not None and foreign > GIB:
        return NotApplicable(
            NAME, Prose(f"other processes hold {foreign / GIB:.1f} GiB of the card")
        )
    starting = situation.cause == "kv-pool-too-small"
    unsure = found.provenance == "version-default" and not found.certain
    start = max(now, float(assumed_default("gpu_memory_utilization"))) if unsure else now
    target = round(
        max(0.9, min(MOST, start + 0.03))
        if starting
        else min(MOST, start + (0.03 if behaves("graphs-in-budget", window.version) else 0.02)),
        3,
    )
    total = last_of(window, "gpu_memory_total_bytes")
    gain = (
        f": {(target - now) * total / GIB:.1f} GiB more per card, all of it pool"
        if total is not None and found.certain
        else ""
    )
    sure = how_sure(found)
    return Proposal(
        NAME,
        SetFlag("gpu_memory_utilization", target),
        Prose(f"it is {now:g} now{sure}{gain}"),
        True,
        22 if starting else 50,
    )


LEVER = Lever(
    NAME,
    Prose("a larger pool"),
    "supply",
    (*KV_CAUSES, "kv-pool-too-small"),
    propose,
    sets=SetsFlag("gpu_memory_utilization"),
)
