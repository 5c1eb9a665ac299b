"""When the KV pool is at its ceiling."""

from __future__ import annotations

PINNED_RATIO = 0.95
"""From here on the pool is full for practical purposes: what is left is smaller than one usual request."""
HOLDING_RATIO = 0.9
"""Where neither slots nor the step budget hold the queue, so full a pool does: a prompt needs more at once than those that run hold."""
COARSE_PINNED_RATIO = 0.8
"""A pool that holds few requests cannot get nearer to 1 than one of them; below this it is a long prompt that waits, not a full pool."""
WAVE_SHARE = 0.4
"""In a pool of few requests usage falls by a whole request at each preemption or end: full in two readings of five, with a queue in all."""


def no_room_for_one_more(usage: float, running: float) -> bool:
    """True if one more request as large as those that run would not fit.

    Where N requests hold `usage` of the pool, one of them holds usage/N: four requests at 0.85 leave 0.15, and the fifth needs 0.21.
    """
    return running >= 1 and usage * (1.0 + 1.0 / running) > 1.0


def pinned(usage: float, running: float, waiting: float, *, light_steps: bool = False) -> bool:
    """True if the pool is at its ceiling: nearly full, or, where requests wait, with no room for one more of the same size.

    `light_steps`: steps are known to have tokens to spare, so a queue before free slots is held by the pool a little earlier.
    """
    if usage >= PINNED_RATIO or (light_steps and waiting > 0 and usage >= HOLDING_RATIO):
        return True
    return waiting > 0 and usage >= COARSE_PINNED_RATIO and no_room_for_one_more(usage, running)
