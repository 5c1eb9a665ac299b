"""Requests wait for a slot: as many run as may, while the KV pool has room.

Meaning: running equals the limit on running requests (the smaller of max_num_seqs and
max_num_active_seqs) in most readings and requests wait.

Impact: time to first token grows with the queue; the card and the pool may have plenty left.

Evidence: running_requests at the resolved limit, capacity waiting above 0, KV usage below its
ceiling.

Not evidence: KV usage or GPU memory. A limit that was only guessed from a default: the verdict says
so by its confidence.

Mitigation: raise max_num_seqs if the pool and the inter-token latency allow it (a restart; graphs
and sampler buffers grow with it), or add replicas. Where the pool is full as well, more slots only
turn the queue into preemptions.

Source: vLLM 0.32, Scheduler.schedule (waiting loop stops at max_num_active_seqs or max_num_seqs);
defaults in EngineArgs.get_batch_defaults.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import Moment, holding, recent_mean, together
from barostat.symptoms._pool import Ceiling, ceiling, need_ratio, watermark_ratio
from barostat.symptoms._queue import (
    GUESSED_CONFIDENCE,
    QUEUE,
    length,
    limit_is_certain,
    queue,
    running_limit,
    steps_are_light,
    waits_long,
)

TURNOVER_RATIO = 0.05
"""A scrape sees the end of a step, after finished requests were removed: so much below the limit
still counts as at it.
"""
SMALL_LIMIT = 4
"""Below this many slots a missing one is a free one."""


FEW_SLOTS = 6.0
"""Of so few slots one is free whenever a request ends: a scrape between two requests sees a slot
that is about to be taken.
"""


def nothing_else_holds(window: Window, moments: tuple[Moment, ...]) -> bool:
    """True if requests wait for long while the pool has room for all slots and steps have tokens to
    spare.
    """
    usage = window.fresh("kv_usage_ratio")
    if usage is None or steps_are_light(window) is not True or not waits_long(window):
        return False
    room = Ceiling(True, need_ratio(window), watermark_ratio(window))
    return holding(moments, lambda _runs, waits: waits > 0).holds and not room.has_no_room(
        usage.high, 1.0
    )


def at_limit(running: float, limit: float) -> bool:
    """True if every slot is in use, give or take those freed in the very step that was scraped."""
    if limit < SMALL_LIMIT:
        return running >= limit
    return running >= limit - max(1.0, TURNOVER_RATIO * limit)


def judge(window: Window) -> Verdict:
    """Present if requests wait while all slots are in use and the pool is not the limit."""
    running, waiting, limit = window["running_requests"], queue(window), running_limit(window)
    if waiting is None:
        return Unknown("the queue was not measured", QUEUE)
    if limit is None:
        return Unknown("the limit on running requests is not known", ("max_running_requests",))
    usage, stated = window.fresh("kv_usage_ratio"), window.fresh("max_running_requests")
    evidence = [running.evidence(window.at), waiting.evidence(window.at)]
    evidence += [found.evidence(window.at) for found in (stated, usage) if found is not None]
    moments = together(running, waiting)
    held = holding(moments, lambda runs, waits: at_limit(runs, limit) and waits > 0)
    if (
        not held.holds
        and limit <= FEW_SLOTS
        and running.high >= limit
        and nothing_else_holds(window, moments)
    ):
        because = (
            f"{length(waiting):.0f} wait with blocks and step budget free, and every slot "
            f"({limit:.0f}) is taken again and again"
        )
        return Present(because, tuple(evidence), 0.7)
    if not held.holds:
        if running.high < limit:
            assumed = "" if limit_is_certain(window) else f" ({limit:.0f} is assumed)"
            return Absent(
                f"slots are free: at most {running.high:.0f} of {limit:.0f} in use{assumed}",
                tuple(evidence),
            )
        return Absent(
            f"{running.last:.0f} of {limit:.0f} slots in use, {length(waiting):.0f} "
            "waiting: no lasting queue for them",
            tuple(evidence),
        )
    because = (
        f"{length(waiting):.0f} wait for a slot: {running.last:.0f} of {limit:.0f} in use, "
        f"{held.how}"
    )
    most = 1.0 if limit_is_certain(window) else GUESSED_CONFIDENCE
    if usage is None:
        return Present(because, tuple(evidence), min(held.confidence, most, 0.75))
    full = holding(together(usage, running, waiting), ceiling(window, light_steps=False).reached)
    if full.holds:
        if holding(moments, lambda runs, _waits: runs >= limit).holds:
            return Present(
                f"{because}; the pool is full as well ({recent_mean(usage):.0%})",
                tuple(evidence),
                0.6,
            )
        return Absent(
            f"the pool is full ({recent_mean(usage):.0%}) before the slots are", tuple(evidence)
        )
    return Present(because, tuple(evidence), min(held.confidence, most))


SYMPTOM = Symptom(
    name="slots-full",
    title="requests wait for a slot",
    judge=judge,
    needs=("running_requests",),
    needs_any=QUEUE,
    harm=Harm.UNHEALTHY | Harm.OF_THE_ENGINE,
)
