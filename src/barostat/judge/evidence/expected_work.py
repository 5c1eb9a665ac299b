"""Compares the time that the card should need for the computed tokens with the measured rates.

prompt and generated tokens/s, running requests, cache in use  --step model-->  seconds of steps in
each second

An engine with running requests executes one step after another, so it is busy all the time. If the
model needs only a small part of that time, the steps take longer than model, card and load explain.
"""

from __future__ import annotations

import re
from dataclasses import replace

from barostat.catalog.cards import find_card
from barostat.catalog.models import find_model
from barostat.catalog.signals import signal
from barostat.core.errors import InputError
from barostat.core.signal import Signal
from barostat.core.window import Window
from barostat.judge.sizing.plan import CapacityPlan, PlanRequest, plan
from barostat.judge.sizing.planned_steps import doubt_of_plan, steps_of_plan
from barostat.kv.read_architecture import read_architecture
from barostat.kv.step_time.model import StepLoad, StepTimeModel
from barostat.symptoms.slow_decode import prompt_not_counted

_CHUNK_TOKENS = 2048.0
# Engines before these spend more of a step on the host than any that was measured: one standard
# deviation, over the step.
_OLDER = (
    ("0.8.0", 1.2, "no point is of the engine before 0.8"),
    ("0.11.0", 0.6, "no point is of an engine before 0.11"),
)
_SLICE = re.compile(r"\bMIG\b", re.IGNORECASE)


def with_expected_work(window: Window, card: str | None) -> Window:
    """The window with `expected_work_ratio` and its error, where model, card and rates are known;
    else as it is.

    `card`: as the vendor's tool, the exporter or the user calls it. Of a slice (MIG) nothing is
    expected: known figures are of whole cards.
    """
    generated, prompts, running = (
        window.fresh(name) for name in ("generation_tokens_per_s", "prompt_tokens_per_s", "running_requests")
    )  # fmt: skip
    if (
        generated is None
        or prompts is None
        or running is None
        or (card is not None and _SLICE.search(card))
    ):
        return window
    if _uncounted(window, generated, prompts):
        return window
    made = _planned(window, card)
    if (
        made is None
        or (model := steps_of_plan(made)) is None
        or (doubt := doubt_of_plan(made)) is None
    ):
        return window
    older = next(
        (
            (share, why)
            for version, share, why in _OLDER
            if not made.request.version.at_least(version)
        ),
        None,
    )
    doubt = doubt if older is None else doubt.with_share(*older)
    cached_tokens = _cached_tokens(window, made)
    points = [
        (
            point.at,
            _work_s(
                model,
                point.value,
                _near(prompts, point.at),
                _near(running, point.at),
                cached_tokens,
            ),
        )
        for point in generated.points
    ]
    gpus = f"{made.gpus} x " if made.gpus > 1 else ""
    source = (
        f"step model of {made.request.model_name} on "
        f"{gpus}{made.request.card.name if made.request.card else ''}"
    )
    at_load = doubt.at(StepLoad(decodes=running.mean, cached_tokens=cached_tokens))
    found = (
        signal("expected_work_ratio", points, source),
        signal(
            "expected_work_error_ratio",
            [(generated.at, at_load.ratio)],
            source,
            "; ".join(at_load.because),
        ),
    )
    return replace(
        window,
        signals={**window.signals, **{item.name: item for item in found if item is not None}},
    )


def _uncounted(window: Window, generated: Signal, prompts: Signal) -> bool:
    """True if what steps compute is not counted: a pooling model generates nothing, and a prompt
    counts once it is over.
    """
    return prompts.high > 0 if generated.high <= 0 else prompt_not_counted(window)


def _planned(window: Window, card: str | None) -> CapacityPlan | None:
    name, figures = window.config.get("model"), find_card(card) if card else None
    if (
        name is None
        or figures is None
        or window.version is None
        or (listed := find_model(str(name.value))) is None
    ):
        return None
    try:
        model = read_architecture(listed.config, listed.name)
        return plan(PlanRequest(model, str(name.value), window.version, window.config, figures))
    except InputError:
        return None  # flags that the planner refuses: what the engine makes of them is not known


def _cached_tokens(window: Window, made: CapacityPlan) -> float:
    """Tokens that running requests hold, as measured, or as the pool's usage has it."""
    if (used := window.fresh("kv_used_tokens")) is not None:
        return used.mean
    usage = window.fresh("kv_usage_ratio")
    return 0.0 if usage is None else usage.mean * made.pool.tokens


def _work_s(
    model: StepTimeModel,
    generated_per_s: float,
    prompts_per_s: float,
    running: float,
    cached_tokens: float,
) -> float:
    """Seconds of steps for a second's tokens: each running request gets one of each step, and
    prompts are computed beside them.

    A prompt's token attends to what its request holds by then: on average as much as those that run
    hold.
    """
    load = StepLoad(decodes=max(1.0, running), cached_tokens=cached_tokens)
    step_s = model.step_s(load)
    before = max(_CHUNK_TOKENS / 2, cached_tokens / load.decodes)
    chunk = replace(load, prompt_tokens=_CHUNK_TOKENS, pairs=_CHUNK_TOKENS * before, prompts=1.0)
    prompt_token_s = (model.step_s(chunk) - step_s) / _CHUNK_TOKENS
    return generated_per_s / load.decodes * step_s + prompts_per_s * prompt_token_s


def _near(seen: Signal, at: float) -> float:
    return min(seen.points, key=lambda point: abs(point.at - at)).value
