"""The KV pool is at its ceiling: what is free is less than one more request needs.

Meaning: running requests hold (nearly) every block of the pool. Either usage is 0.95 or more in
most readings, or requests wait and the room that is left is smaller than what one running request
holds on average (in a pool of few, large requests usage cannot get near 1).

Impact: none by itself. With no request waiting or preempted, this is good use of the pool. It is
the precondition of harm: the next long prompt waits, and the next block that a running request
needs is taken from another one.

Evidence: kv_usage_ratio over the window, with running and waiting requests. Blocks that only hold
reusable prefixes count as free, so the number means requests, not cache.

Not evidence: GPU memory near 90 %: the pool is allocated at start and the card looks the same at 2
% and at 100 % usage. One reading of 1.0 between two of 0.7. A usage of 0.6 to 0.9 with a queue: see
kv-head-of-line-blocked.

Mitigation: nothing while no request waits. With a queue: cap output and input tokens at the edge,
spread the load, then grow the pool (fp8 KV, more memory for the pool, more replicas). Restarting to
"defragment" does nothing: a paged pool has no holes.

Source: vLLM 0.9.2 to 0.33, BlockPool.get_usage and KVCacheManager.allocate_slots;
`vllm:kv_cache_usage_perc` (0..1), older `gpu_cache_usage_perc`.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import ENOUGH_READINGS, holding, recent_mean, together
from barostat.symptoms._pool import COARSE_PINNED_RATIO, PINNED_RATIO, WAVE_SHARE, ceiling
from barostat.symptoms._queue import queue, running_limit, steps_are_light


def judge(window: Window) -> Verdict:
    """Present if the pool is at its ceiling in most of the recent readings."""
    usage = window["kv_usage_ratio"]
    running, waiting = window.fresh("running_requests"), queue(window)
    mean = recent_mean(usage)
    evidence = [usage.evidence(window.at, mean, f"mean; highest {usage.high:.2f}")]
    full = holding(together(usage), lambda used: used >= PINNED_RATIO)
    if full.holds:
        return Present(
            f"the KV pool is full: usage at {PINNED_RATIO:.0%} or more {full.how}",
            tuple(evidence),
            full.confidence,
        )
    if running is not None and waiting is not None:
        evidence += [running.evidence(window.at), waiting.evidence(window.at)]
        limit, light = running_limit(window), steps_are_light(window)
        held_by_pool = light is True and limit is not None and recent_mean(running) < limit
        coarse = holding(
            together(usage, running, waiting), ceiling(window, light_steps=held_by_pool).reached
        )
        if coarse.holds:
            because = (
                f"requests wait and the pool ({mean:.0%} used) has no room for the next one, "
                f"{coarse.how}"
            )
            return Present(because, tuple(evidence), min(coarse.confidence, 0.85))
        if coarse.readings >= ENOUGH_READINGS and mean >= PINNED_RATIO:
            return Present(
                f"the KV pool is full: usage {mean:.0%} on average", tuple(evidence), 0.8
            )
        queued = holding(together(waiting), lambda waits: waits > 0)
        if (
            coarse.readings >= ENOUGH_READINGS
            and coarse.share >= WAVE_SHARE
            and mean >= COARSE_PINNED_RATIO
            and queued.holds
        ):
            return Present(
                f"the KV pool is full in {coarse.share:.0%} of the readings while requests wait",
                tuple(evidence),
                0.75,
            )
    return Absent(
        f"the KV pool is not at its ceiling: usage {mean:.0%} on average, {usage.last:.0%} last",
        tuple(evidence),
    )


SYMPTOM = Symptom(
    name="kv-usage-pinned", title="KV pool at its ceiling", judge=judge, needs=("kv_usage_ratio",)
)
