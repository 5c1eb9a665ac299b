"""The queue in front of the scheduler, and the limits that can hold it there, from whichever signal tells them."""

from __future__ import annotations

from barostat.core.signal import Signal
from barostat.core.window import Window
from barostat.symptoms._holding import recent_mean

QUEUE = ("capacity_waiting_requests", "waiting_requests")
"""Either tells the queue; the first one (vLLM 0.20 on) leaves out what waits for an adapter, a grammar or a transfer."""


def queue(window: Window) -> Signal | None:
    """Requests that wait for capacity, or all that wait where the engine does not tell the two apart."""
    return window.fresh("capacity_waiting_requests") or window.fresh("waiting_requests")


def length(waiting: Signal) -> float:
    """How many wait, for a sentence: the last reading, or the usual number where nobody waits at that very instant."""
    return waiting.last if waiting.last > 0 else recent_mean(waiting)


def running_limit(window: Window) -> float | None:
    """How many requests may run at once, or None where neither a log line, a flag nor a default tells it."""
    signal, running = window.fresh("max_running_requests"), window.fresh("running_requests")
    if signal is not None:
        limit = signal.last
    else:
        stated = [number for name in ("max_num_active_seqs", "max_num_seqs") if (number := window.config.number(name)) is not None]
        if not stated:
            return None
        limit = min(stated)
    # More run than the limit allows: it was guessed from a default that is not this engine's.
    return None if running is not None and running.high > limit else limit


def step_budget_tokens(window: Window) -> float | None:
    """Tokens that one engine step may schedule, or None where nothing tells it."""
    signal = window.fresh("max_batched_tokens")
    return signal.last if signal is not None else window.config.number("max_num_batched_tokens")


def computed_tokens_per_step(window: Window) -> float | None:
    """Tokens that a step really computed on average, or None where steps were not counted.

    vLLM books a whole prompt, its cached part too, into the step that finishes it: a mean over many steps is right but for the cached
    part, which is taken out here; a percentile of it would not be.
    """
    steps = window.fresh("tokens_per_step")
    if steps is None:
        return None
    prompt, generated, hits = window.fresh("prompt_tokens_per_s"), window.fresh("generation_tokens_per_s"), window.fresh("prefix_hit_ratio")
    if prompt is None or generated is None or hits is None or prompt.mean + generated.mean <= 0:
        return steps.mean
    computed = generated.mean + prompt.mean * (1.0 - min(1.0, hits.mean))
    return steps.mean * computed / (prompt.mean + generated.mean)
