"""Requests wait for KV blocks: the pool is full, and the remaining slots cannot be used.

Meaning: in most readings requests wait, the pool is at its ceiling and fewer requests run than may.
The scheduler tries to admit the first in the queue at every step and cannot find it blocks; no
later request is tried.

Impact: time to first token grows with the queue. If running requests keep growing, they start to
preempt each other (see preemptions).

Evidence: kv_usage_ratio at its ceiling, capacity_waiting_requests above 0 (waiting_requests before
vLLM 0.20) and running_requests below the resolved limit, all at the same time. This is the earliest
sure sign of KV pressure: the preemption counter moves later.

Not evidence: a queue while running equals the limit (slots-full). A queue with the pool half empty
(prefill-budget-saturated, kv-head-of-line-blocked, deferred-waiting). A full pool with no request
waiting (healthy).

Mitigation: fewer and shorter requests first: cap max_tokens and prompt length at the gateway, send
traffic elsewhere.
Then a larger pool: fp8 KV cache, more gpu_memory_utilization in small steps, more replicas. Lower
max_num_seqs only below what runs now, and only if it preempts.

Source: vLLM 0.19 to 0.33, Scheduler.schedule (waiting loop) and KVCacheManager.allocate_slots;
`vllm:num_requests_waiting_by_reason` (0.20 on). V0 grows by whole groups (n samples), so its usage
leaps below the ceiling.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import (
    ENOUGH_READINGS,
    RECENT_S,
    Moment,
    holding,
    recent_mean,
    together,
)
from barostat.symptoms._pool import FEW_REQUESTS, WAVE_SHARE, Ceiling, ceiling, watermark_ratio
from barostat.symptoms._queue import (
    QUEUE,
    length,
    queue,
    running_limit,
    steps_are_light,
    waits_long,
)

UNKNOWN_LIMIT_PINNED_RATIO = 0.9
"""Where the limit on running requests is not known, so full a pool is what holds the queue rather
than the slots.
"""
PREEMPTED_PINNED_RATIO = 0.7
"""Where the engine has thrown a request out, the pool was full a moment ago: a queue over such a
usage still waits for it.
"""
LARGE_PART_RATIO = 0.05
"""A request that holds so much of the pool may be followed by one that finds no room in what looks
free; smaller ones always find some.
"""
PREEMPTED = ("preemptions_in_window", "log_preemptions", "log_preempted_v0")


def _few_run(moments: tuple[Moment, ...], limit: float) -> bool:
    """True if few run, fewer than may, and each of them holds a large part of the pool.

    A reading of nothing at all lies between the end of one and the first step of the next: as much
    as two of three readings may.
    """
    running = tuple(moment for moment in moments if moment.values[1] > 0)
    return (
        3 * len(running) >= len(moments)
        and holding(
            running,
            lambda used, runs, _waits: (
                runs <= FEW_REQUESTS and runs < limit and used >= LARGE_PART_RATIO * runs
            ),
        ).holds
    )


def judge(window: Window) -> Verdict:
    """Present if requests wait while the pool is full and slots are free."""
    usage, running, waiting, limit = (
        window["kv_usage_ratio"],
        window["running_requests"],
        queue(window),
        running_limit(window),
    )
    if waiting is None:
        return Unknown("the queue was not measured", QUEUE)
    mean = recent_mean(usage)
    evidence = (
        waiting.evidence(window.at),
        usage.evidence(window.at, mean, "mean"),
        running.evidence(window.at),
    )
    moments = together(usage, running, waiting)
    preempted = any(
        (found := window.fresh(name)) is not None and found.last > 0 for name in PREEMPTED
    )
    queued = holding(moments, lambda _used, _runs, waits: waits > 0)
    if not queued.holds:
        return Absent(
            f"no request waits long for the pool (usage {mean:.0%}, {length(waiting):.0f} "
            "waiting now)",
            evidence,
        )
    if limit is None:
        coarse = Ceiling(watermark_ratio=watermark_ratio(window))
        least = PREEMPTED_PINNED_RATIO if preempted else UNKNOWN_LIMIT_PINNED_RATIO
        held = holding(
            moments,
            lambda used, runs, waits: (
                waits > 0 and (used >= least or coarse.reached(used, runs, waits))
            ),
        )
        if held.holds:
            because = (
                f"{length(waiting):.0f} wait while the pool is {mean:.0%} used, {held.how} "
                "(the limit on running requests is not known)"
            )
            return Present(because, evidence, min(held.confidence, 0.75))
        return Absent(
            f"{length(waiting):.0f} wait, but not for KV: the pool is only {mean:.0%} used",
            evidence,
        )
    light = steps_are_light(window)
    full = ceiling(window).reached
    held = holding(
        moments, lambda used, runs, waits: runs < limit and full(used, runs, waits) and waits > 0
    )
    if held.holds:
        because = (
            f"{length(waiting):.0f} wait for KV blocks: pool {mean:.0%} used, "
            f"{running.last:.0f} of {limit:.0f} slots in use, {held.how}"
        )
        return Present(because, evidence, held.confidence)
    if preempted:
        held = holding(
            moments,
            lambda used, runs, waits: waits > 0 and runs < limit and used >= PREEMPTED_PINNED_RATIO,
        )
        if held.holds:
            because = (
                f"{length(waiting):.0f} wait while the pool is {mean:.0%} used, and requests "
                f"were preempted, {held.how}"
            )
            return Present(because, evidence, min(held.confidence, 0.8))
    stuck = holding(moments, lambda _used, runs, waits: runs < limit and waits > 0)
    waves = [full(*moment.values) for moment in moments if moment.at >= moments[-1].at - RECENT_S]
    if (
        stuck.holds
        and len(waves) >= ENOUGH_READINGS
        and sum(waves) >= WAVE_SHARE * len(waves)
        and light is not False
    ):
        slots = f"{running.last:.0f} of {limit:.0f} slots in use"
        because = (
            f"{length(waiting):.0f} wait while the pool fills up again and again (mean "
            f"{mean:.0%}), {slots}"
        )
        return Present(because, evidence, 0.8)
    if stuck.holds and light is True and _few_run(moments, limit) and (said := waits_long(window)):
        because = (
            f"{length(waiting):.0f} wait {said} with slots and step budget free: the pool, "
            f"{mean:.0%} used, has no room for the next"
        )
        return Present(because, evidence, min(stuck.confidence, 0.7))
    if holding(moments, lambda _used, runs, _waits: runs >= limit).holds:
        return Absent(
            f"{length(waiting):.0f} wait for a slot: all {limit:.0f} are in use", evidence
        )
    return Absent(
        f"{length(waiting):.0f} wait, but the pool is not full: {mean:.0%} used", evidence
    )


SYMPTOM = Symptom(
    name="kv-capacity-waiting",
    title="requests wait for KV blocks",
    judge=judge,
    needs=("kv_usage_ratio", "running_requests"),
    needs_any=QUEUE,
    harm=Harm.UNHEALTHY | Harm.OF_THE_ENGINE,
)
