"""The scheduler's queue, and the limits that can hold requests there, from any signal that shows
them.
"""

from __future__ import annotations

from barostat.core.config import ConfigValue
from barostat.core.signal import Signal
from barostat.core.window import Window
from barostat.symptoms._holding import recent_mean

FULL_STEP_RATIO = 0.7
"""Mean fill above which steps count as full: the last chunk of a prompt and steps between arrivals
leave some of the budget unused.
"""
QUEUE = ("capacity_waiting_requests", "waiting_requests")
"""Signals of the queue length. The first one (vLLM 0.20 on) excludes requests that wait for an
adapter, a grammar or a transfer.
"""


def queue(window: Window) -> Signal | None:
    """Return the requests that wait for capacity; all waiting requests if the engine does not
    report the reason.
    """
    return window.fresh("capacity_waiting_requests") or window.fresh("waiting_requests")


def length(waiting: Signal) -> float:
    """Return the queue length to print: the last reading, or the recent mean if that is 0."""
    return waiting.last if waiting.last > 0 else recent_mean(waiting)


GUESSED_CONFIDENCE = 0.6
"""Highest confidence of a verdict that relies on a limit guessed from a default."""
LONG_QUEUE_S, LONG_QUEUE_STEPS = 1.0, 3.0
"""Queue times above both bounds (seconds; multiples of the slowest step) do not end with the next
step.
"""


def waits_long(window: Window) -> str:
    """Return the median queue time as text if vLLM reports waiting for capacity and it is far
    longer than a step; else empty.
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
    """True if the limit on running requests was observed or declared; False if it is a default that
    may not apply.
    """
    stated = _stated_limit(window)
    return window.fresh("max_running_requests") is not None or (
        stated is not None and stated.certain
    )


def _stated_limit(window: Window) -> ConfigValue | None:
    """Return the lower of the two settings that limit running requests."""
    config = window.config
    found = [
        config.values[name]
        for name in ("max_num_active_seqs", "max_num_seqs")
        if config.number(name) is not None
    ]
    return min(found, key=lambda setting: float(setting.value), default=None)


def budget_is_certain(window: Window) -> bool:
    """True if the token budget of a step was observed or declared; False if it is a default that
    may not apply.
    """
    setting = window.config.get("max_num_batched_tokens")
    return window.fresh("max_batched_tokens") is not None or (
        setting is not None and setting.certain
    )


def step_budget_tokens(window: Window) -> float | None:
    """Return the token budget of one engine step; None if it is unknown, or if steps exceed the
    guessed default.
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
    """True if steps have spare token budget on average, False if they are full, None if unknown."""
    tokens, budget = computed_tokens_per_step(window), step_budget_tokens(window)
    return (
        None
        if tokens is None or budget is None or budget <= 0
        else tokens < FULL_STEP_RATIO * budget
    )


def computed_tokens_per_step(window: Window) -> float | None:
    """Return the mean tokens computed per step; None if steps were not counted.

    vLLM counts a whole prompt in the step that finishes it, so a mean over many steps is right and
    a percentile would not be. Old versions also count its cached part, which is subtracted here;
    the totals show which way this engine counts (0.32.0: computed tokens only).
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
