"""One long prompt at the head of the queue waits for room, and everything behind it waits with it.

Meaning: requests wait, slots are free, the step budget is not used up, and the pool is only part
full. Since vLLM 0.19 a request is admitted only if its whole known sequence fits, not just its
first chunk; with a watermark some blocks are kept free on top. The queue is strict: while its first
request does not fit, no other is tried.

Impact: short requests wait behind a long one although there is room for them. Throughput sags in
waves as long prompts drain in.

Evidence: waiting above 0 with usage between 0.5 and the ceiling, running below its limit, tokens
per step below the budget; a 95th percentile prompt longer than the free space settles it.
Preempted requests wait like this too, with all they had generated.

Not evidence: tokens per step near the budget (prefill-budget-saturated). Requests that wait for an
adapter, a grammar or a transfer (deferred-waiting). A queue seen in one reading only.

Mitigation: cap prompt length at the edge, or give long-context traffic replicas of its own. Lower
the watermark if one is set. More pool helps; a smaller chunk size does not, because admission looks
at the whole sequence.

Source: vLLM 0.19 `--scheduler-reserve-full-isl`, 0.24 `--watermark`; Scheduler.schedule,
KVCacheManager.allocate_slots (0.32).
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Evidence, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import Moment, holding, recent_mean, together
from barostat.symptoms._pool import Ceiling, watermark_ratio
from barostat.symptoms._queue import QUEUE, length, queue, running_limit, steps_are_light

PART_FULL_RATIO = 0.5
"""Below this a usual request fits; only a prompt known to be longer than the free room is then held
by the pool.
"""
PREFILL_IDLE_RATIO = 0.2
"""Without a step count: prompt tokens at so small a share of generated ones mean that hardly
anybody is being admitted.
"""


def _budget_is_free(window: Window) -> bool | None:
    """True if steps have tokens to spare, False if they are full, None if unknown."""
    light = steps_are_light(window)
    if light is not None:
        return light
    prompt, generated = window.fresh("prompt_tokens_per_s"), window.fresh("generation_tokens_per_s")
    if prompt is None or generated is None or generated.mean <= 0:
        return None
    return True if prompt.mean <= PREFILL_IDLE_RATIO * generated.mean else None


def judge(window: Window) -> Verdict:
    """Present if the head of the queue is held by the pool although the pool is not at its
    ceiling.
    """
    usage, running, waiting, limit = (
        window["kv_usage_ratio"],
        window["running_requests"],
        queue(window),
        running_limit(window),
    )
    if waiting is None:
        return Unknown("the queue was not measured", QUEUE)
    mean = recent_mean(usage)
    evidence: tuple[Evidence, ...] = (
        waiting.evidence(window.at),
        usage.evidence(window.at, mean, "mean"),
        running.evidence(window.at),
    )
    pool, prompts = window.fresh("kv_pool_tokens"), window.fresh("prompt_tokens_p95")
    longest = (
        prompts.last / pool.last
        if pool is not None and prompts is not None and pool.last > 0
        else 0.0
    )
    kept_free = watermark_ratio(window)
    too_long = longest + mean + kept_free > 1.0
    if too_long and prompts is not None:
        evidence += (prompts.evidence(window.at, note="longer than the free space"),)
    full = Ceiling(light_steps=_budget_is_free(window) is True, watermark_ratio=kept_free).reached
    moments: tuple[Moment, ...] = together(usage, running, waiting)
    part_full = holding(
        moments,
        lambda used, _runs, waits: (
            waits > 0 and (used >= PART_FULL_RATIO or longest + used + kept_free > 1.0)
        ),
    )
    if not part_full.holds or holding(moments, full).holds:
        return Absent(
            f"no queue in front of a part-full pool (usage {mean:.0%}, "
            f"{length(waiting):.0f} waiting)",
            evidence,
        )
    if limit is None:
        return Unknown(
            "the limit on running requests is not known: the queue may simply wait for a slot",
            ("max_running_requests",),
        )
    if holding(moments, lambda _used, runs, _waits: runs >= limit).holds:
        return Absent(
            f"{length(waiting):.0f} wait for a slot: all {limit:.0f} are in use", evidence
        )
    free = _budget_is_free(window)
    if free is None:
        return Unknown(
            "tokens per step are not known: the queue may wait for the step budget",
            ("tokens_per_step", "max_batched_tokens"),
        )
    if not free:
        return Absent(
            "the steps are full of prefill: the queue waits for the token budget", evidence
        )
    because = (
        f"{length(waiting):.0f} wait with the pool {mean:.0%} used and slots free: the first "
        f"in line does not fit, {part_full.how}"
    )
    return Present(because, evidence, min(part_full.confidence, 0.9 if too_long else 0.75))


SYMPTOM = Symptom(
    name="kv-head-of-line-blocked",
    title="a long request blocks the head of the queue",
    judge=judge,
    needs=("kv_usage_ratio", "running_requests"),
    needs_any=QUEUE,
    harm=Harm.UNHEALTHY,
)
