"""Who waits for whom between the API server's process and the engine core's."""

from __future__ import annotations

from barostat.core.signal import Signal
from barostat.core.window import Window
from barostat.symptoms._holding import holding, recent_mean, together
from barostat.symptoms._queue import computed_tokens_per_step, queue, step_budget_tokens

FULL_CORE = 0.9
NEARLY_FULL_CORE = 0.8
"""A Python process is bound by one core. Where several processes share few cores it saturates below
1.
"""
SHARED_CORE = 0.5
"""Where it has to share its core with others, half of one may be all that it gets; then only
requests kept from the engine convict it.
"""
KEPT_REQUESTS, KEPT_RATIO = 4.0, 3.0
"""This many requests in the server, and three times as many as in the engine: they spend their time
before or after the engine.
"""
CORE_SLACK = 0.8
"""An engine core process that uses less than this waits for work some of the time."""
BUSY_CARD_RATIO = 0.9
COMPUTING_CORES = 1.5
"""A core process that waits for a busy card, or for a worker that computes on several cores, waits
for the model and not for requests.
"""
LIGHT_STEP_RATIO = 0.5
"""Steps that use less than half of their token budget could have taken more, had it been there."""


def engine_has_slack(window: Window) -> bool | None:
    """True if the engine core waits for work, False if it is busy with a queue of its own, None
    if neither is measured.
    """
    core, worker, waiting = (
        window.fresh("engine_core_cpu_cores"),
        window.fresh("worker_cpu_cores"),
        queue(window),
    )
    card = window.fresh("gpu_utilization_ratio")
    queued = (
        holding(together(waiting), lambda waits: waits > 0).holds if waiting is not None else None
    )
    computing = FULL_CORE if queued else COMPUTING_CORES
    computes = (card is not None and recent_mean(card) >= BUSY_CARD_RATIO) or (
        worker is not None and recent_mean(worker) >= computing
    )
    if core is not None and recent_mean(core) < CORE_SLACK and not computes:
        return True
    if queued:
        return False
    tokens, budget = computed_tokens_per_step(window), step_budget_tokens(window)
    if (
        queued is False
        and tokens is not None
        and budget is not None
        and tokens < LIGHT_STEP_RATIO * budget
    ):
        return True
    return None


def kept_from_engine(window: Window) -> tuple[float, float] | None:
    """Requests inside the server and those of them inside the engine, where the first are far more;
    else None.

    By Little's law: requests finished per second times the time each spends in the server are
    inside it at any moment.
    """
    finished, spent, running, waiting = (
        window.fresh(name)
        for name in ("finished_per_s", "e2e_p50_s", "running_requests", "waiting_requests")
    )
    if finished is None or spent is None or running is None or waiting is None:
        return None
    inside = recent_mean(finished) * spent.last
    engine = recent_mean(running) + recent_mean(waiting)
    return (
        (inside, engine)
        if inside >= KEPT_REQUESTS and inside >= KEPT_RATIO * max(1.0, engine)
        else None
    )


def server_confidence(window: Window, api: Signal, slack: bool | None) -> float | None:
    """How sure it is that the API server's process is the limit; None if it is not saturated."""
    held = holding(together(api), lambda cores: cores >= NEARLY_FULL_CORE)
    if not held.holds:
        busy = holding(together(api), lambda cores: cores >= SHARED_CORE)
        return (
            min(busy.confidence, 0.85)
            if busy.holds and slack and kept_from_engine(window) is not None
            else None
        )
    confidence = held.confidence if recent_mean(api) >= FULL_CORE else min(held.confidence, 0.75)
    return confidence if slack else min(confidence, 0.6)
