"""The queue in front of the scheduler, and the limits that can hold it there, from whichever signal
tells them.
"""

from __future__ import annotations

from barostat.core.config import ConfigValue
from barostat.core.signal import Signal
from barostat.core.window import Window
from barostat.symptoms._holding import recent_mean

FULL_STEP_RATIO = 0.7
"""Steps this full on average are full: the last chunk of a prompt and steps between arrivals leave
some of the budget unused.
"""
QUEUE = ("capacity_waiting_requests", "waiting_requests")
"""Either tells the queue; the first one (vLLM 0.20 on) leaves out what waits for an adapter, a
grammar or a transfer.
"""


def queue(window: Window) -> Signal | None:
    """Requests that wait for capacity, or all that wait where the engine does not tell the two
    apart.
    """
    return window.fresh("capacity_waiting_requests") or window.fresh("waiting_requests")


def length(waiting: Signal) -> float:
    """How many wait, for a sentence: the last reading, or the usual number where nobody waits at
    that very instant.
    """
    return waiting.last if waiting.last > 0 else recent_mean(waiting)


GUESSED_CONFIDENCE = 0.6
"""At most so sure of what rests on a limit that was guessed from a default."""
LONG_QUEUE_S, LONG_QUEUE_STEPS = 1.0, 3.0
"""A queue that lasts this long, and longer than the slowest steps, is no matter of the next
step.
"""


def waits_long(window: Window) -> str:
    """How long requests wait, where vLLM itself says that they wait for capacity and no step takes
    that long; empty elsewhere.
    """
    queued, steps = window.fresh("queue_p50_s"), window.fresh("itl_p99_s")
    if window.fresh("capacity_waiting_requests") is None or queued is None or steps is None:
        return ""
    return (
        f"for {queued.last:.1f} s"
        if queued.last >= max(LONG_QUEUE_S, LONG_QUEUE_STEPS * steps.last)
        else ""
    )


def running_limit(window: Window) -> float | None:
    """Return the limit on running requests; None if neither a log line, a flag nor a default shows
    it.
    """
    signal, running = window.fresh("max_running_requests"), window.fresh("running_requests")
    if signal is not None:
        limit = signal.last
    else:
        stated = _stated_limit(window)
        if stated is None:
            return None
        limit = float(stated.value)
    # More run than the limit allows: it was guessed from a default that is not this engine's.
    return None if running is not None and running.high > limit else limit


def limit_is_certain(window: Window) -> bool:
    """True where the limit on running requests was told, False where the one that binds is a
    default that may not be this engine's.
    """
    stated = _stated_limit(window)
    return window.fresh("max_running_requests") is not None or (
        stated is not None and stated.certain
    )


def _stated_limit(window: Window) -> ConfigValue | None:
    """The setting that binds of the two that limit how many run."""
    config = window.config
    found = [
        config.values[name]
        for name in ("max_num_active_seqs", "max_num_seqs")
        if config.number(name) is not None
    ]
    return min(found, key=lambda setting: float(setting.value), default=None)


def budget_is_certain(window: Window) -> bool:
    """True where the token budget of a step was told, False where it is a default that may not be
    this engine's.
    """
    setting = window.config.get("max_num_batched_tokens")
    return window.fresh("max_batched_tokens") is not None or (
        setting is not None and setting.certain
    )


def step_budget_tokens(window: Window) -> float | None:
    """Tokens that one engine step may schedule, or None where nothing tells it, or the default that
    was guessed is less than steps have.
    """
    signal = window.fresh("max_batched_tokens")
    if signal is not None:
        return signal.last
    budget, tokens = (
        window.config.number("max_num_batched_tokens"),
        computed_tokens_per_step(window),
    )
    exceeded = budget is not None and tokens is not None and tokens > budget
    return None if exceeded and not budget_is_certain(window) else budget


def steps_are_light(window: Window) -> bool | None:
    """True if steps have tokens to spare on average, False if they are full, None where it is not
    known.
    """
    tokens, budget = computed_tokens_per_step(window), step_budget_tokens(window)
    return (
        None
        if tokens is None or budget is None or budget <= 0
        else tokens < FULL_STEP_RATIO * budget
    )


def computed_tokens_per_step(window: Window) -> float | None:
    """Tokens that a step really computed on average, or None where steps were not counted.

    vLLM books a whole prompt into the step that finishes it: a mean over many steps is right, a
    percentile would not be. Old versions book its cached part too, which is taken out here; which
    way this engine does it shows in the sum (0.32.0: computed tokens only).
    """
    steps = window.fresh("tokens_per_step")
    if steps is None:
        return None
    prompt, generated, hits = (
        window.fresh("prompt_tokens_per_s"),
        window.fresh("generation_tokens_per_s"),
        window.fresh("prefix_hit_ratio"),
    )
    per_s = window.fresh("steps_per_s")
    if (
        prompt is None
        or generated is None
        or hits is None
        or per_s is None
        or prompt.mean + generated.mean <= 0
    ):
        return steps.mean
    everything = prompt.mean + generated.mean
    computed = generated.mean + prompt.mean * (1.0 - min(1.0, hits.mean))
    booked = steps.mean * per_s.mean
    with_cached = abs(booked - everything) < abs(booked - computed)
    return steps.mean * computed / everything if with_cached else steps.mean
