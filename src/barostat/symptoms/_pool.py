"""When the KV pool is at its ceiling: what is held, what the next request needs, and what is free
decide.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.window import Window
from barostat.symptoms._holding import recent_mean
from barostat.symptoms._queue import steps_are_light

PINNED_RATIO = 0.95
"""Usage from which the pool is effectively full: the rest is smaller than a typical request."""
HOLDING_RATIO = 0.9
"""Where neither slots nor the step budget hold the queue, so full a pool does: a prompt needs more
at once than those that run hold.
"""
COARSE_PINNED_RATIO = 0.8
"""Below this a pool of many requests has room for another one; only in a pool of few does the size
of one decide.
"""
WAVE_SHARE = 0.4
"""In a pool of few requests usage falls by a whole request at each preemption or end: full in two
readings of five, with a queue in all.
"""
FEW_REQUESTS = 6
"""So few at once, and one request is a large part of the pool: usage moves in steps of a sixth and
more.
"""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """When the pool takes no further request.

        0                          usage        1 - watermark     1
        |==== held by those that run ====|.... free ....|:::::::::|
                                         |<---- the next one needs more ---->

    `light_steps`: steps are known to have tokens to spare, so that a queue before free slots is
    held by the pool. `need_ratio`: the share of the pool that the usual prompt takes; None: as much
    as those that run hold on average. `watermark_ratio`: what admission leaves free.
    """

    light_steps: bool = False
    need_ratio: float | None = None
    watermark_ratio: float = 0.0

    def reached(self, usage: float, running: float, waiting: float) -> bool:
        """True if the pool is nearly full, or requests wait and one more does not fit."""
        if usage >= PINNED_RATIO or (self.light_steps and waiting > 0 and usage >= HOLDING_RATIO):
            return True
        if waiting <= 0 or not self.has_no_room(usage, running):
            return False
        return usage >= COARSE_PINNED_RATIO or (self.light_steps and running <= FEW_REQUESTS)

    def has_no_room(self, usage: float, running: float) -> bool:
        """True if one more would not fit.

        Where N requests hold `usage` of the pool, one of them holds usage/N: four requests at 0.85
        leave 0.15, and the fifth needs 0.21.
        """
        if running < 1:
            return False
        need = usage / running if self.need_ratio is None else max(self.need_ratio, 0.0)
        return usage + self.watermark_ratio + need > 1.0


def ceiling(window: Window, *, light_steps: bool | None = None) -> Ceiling:
    """The ceiling of this engine's pool, from what it shows of its prompts, its steps and its
    watermark.
    """
    light = steps_are_light(window) if light_steps is None else light_steps
    return Ceiling(light is True, need_ratio(window), watermark_ratio(window))


def need_ratio(window: Window) -> float | None:
    """The share of the pool that the usual prompt takes at admission, less what the prefix cache
    spares it; None if it is not known.

    Source: vLLM 0.19 on, KVCacheManager.allocate_slots: the whole known sequence has to fit.
    """
    pool, prompts = window.fresh("kv_pool_tokens"), window.fresh("prompt_tokens_p50")
    if pool is None or prompts is None or pool.last <= 0:
        return None
    hits = window.fresh("prefix_hit_step_ratio") or window.fresh("prefix_hit_ratio")
    spared = min(1.0, max(0.0, recent_mean(hits))) if hits is not None else 0.0
    return prompts.last * (1.0 - spared) / pool.last


def watermark_ratio(window: Window) -> float:
    """The share of the pool that admission leaves free (0.24 on); 0 where none is set."""
    stated = window.config.number("watermark")
    return min(1.0, max(0.0, stated)) if stated is not None else 0.0
