"""The engine leaves more of the card outside its pool.

Meaning: a lower --gpu-memory-utilization takes the difference out of the KV pool, one to one.
When: out of GPU memory outside the pool (graphs, activations, LoRA, images), or the card has less
free memory at start than asked for.
Not when: KV pressure. It shrinks the very thing that is short: from 0.9 to 0.7 a card of 80 GiB
with an 16 GiB model loses a third of its pool. The pool's size is set by hand
(--num-gpu-blocks-override, --kv-cache-memory-bytes): that is what to lower.
Undo: restore the former value; drain first.
Proof: the engine starts, or serves without out-of-memory; the pool logged at start is smaller by
the difference.
Source: vLLM 0.33.0 GPUWorker.determine_available_memory; the start-up check "Free memory on
device".
"""

from __future__ import annotations

import math

from barostat.catalog.vllm_behaviours import behaves
from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import (
    GIB,
    detail_of,
    given,
    how_sure,
    is_cpu,
    last_of,
    number_in,
    setting,
    short_of_the_pool,
)

NAME = "gpu-memory-utilization-down"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """What the card has free at start, or 0.02 to 0.05 less than now; for KV causes the reason why
    not.
    """
    window = situation.window
    now = window.config.number("gpu_memory_utilization")
    if situation.cause in KV_CAUSES or situation.cause == "kv-pool-too-small":
        total = last_of(window, "gpu_memory_total_bytes")
        loss = (
            f" ({(now - 0.7) * total / GIB:.0f} GiB of it at 0.7)"
            if total is not None and now is not None and now > 0.7
            else ""
        )
        return NotApplicable(
            NAME,
            Prose(
                f"this shrinks the KV pool{loss}, which is already too small; it only helps "
                "against OOM outside the pool"
            ),
            True,
        )
    if is_cpu(window):
        return NotApplicable(NAME, Prose("the CPU backend has no GPU memory"))
    line = detail_of(window, "log_gpu_oom_startup", "log_gpu_oom")
    free = number_in(r"Free memory on device[^(]*\(([\d.]+)/", line)
    total_gib = number_in(r"Free memory on device[^(]*\([\d.]+/([\d.]+)", line)
    if free is not None and total_gib:
        target = math.floor((free / total_gib - 0.01) * 100) / 100
        if target < 0.1:
            return NotApplicable(
                NAME,
                Prose(f"only {free:g} of {total_gib:g} GiB are free: another process has the card"),
            )
        return Proposal(
            NAME,
            SetFlag("gpu_memory_utilization", target),
            Prose(f"{free:g} of {total_gib:g} GiB were free at start"),
            True,
            24,
        )
    for owner in ("num_gpu_blocks_override", "kv_cache_memory_bytes"):
        if given(window, owner):
            flag = f"--{owner.replace('_', '-')}"
            return NotApplicable(
                NAME,
                Prose(
                    f"{flag} sets the pool's size: memory utilisation changes nothing; lower {flag}"
                ),
            )
    if situation.variant == "startup" and not short_of_the_pool(situation):
        return NotApplicable(
            NAME,
            Prose(
                "memory ran out while the weights were loaded: the pool, which comes after "
                "them, is not what took it"
            ),
        )
    found = setting(window, "gpu_memory_utilization")
    if found is None or now is None:
        return NotApplicable(NAME, Prose("the present memory utilisation is not known"))
    outside = (
        situation.variant in ("graph-capture", "sampler")
        and behaves("graphs-in-budget", window.version) is not True
    )
    target = round(now - (0.05 if outside else 0.03), 3)
    why = (
        "graphs come on top of it on this version"
        if outside
        else "fragmentation and peaks come on top of it"
    )
    sure = how_sure(found)
    return Proposal(
        NAME,
        SetFlag("gpu_memory_utilization", target),
        Prose(f"it is {now:g} now{sure}, and {why}"),
        True,
        23,
    )


LEVER = Lever(
    NAME,
    Prose("leave memory outside the pool"),
    "supply",
    ("gpu-oom", *KV_CAUSES, "kv-pool-too-small"),
    propose,
    sets=SetsFlag("gpu_memory_utilization"),
)
