"""From a capacity plan to how long its engine's steps take on that card, and how far that may be
off.
"""

from __future__ import annotations

from barostat.judge.sizing.plan import CapacityPlan
from barostat.kv.quantization import weight_format
from barostat.kv.step_time.card_speeds import FITTED_SPEEDS, card_speeds
from barostat.kv.step_time.doubt import Doubt, doubt_of
from barostat.kv.step_time.model import StepSpeeds, StepTimeModel
from barostat.kv.step_time.work import rank_work


def steps_of_plan(plan: CapacityPlan, speeds: StepSpeeds = FITTED_SPEEDS) -> StepTimeModel | None:
    """The planned engine's steps; None if no card is planned with, or its figures are not on
    record.
    """
    card = plan.request.card
    figures = None if card is None else card_speeds(card)
    if card is None or figures is None:
        return None
    model, config, flags = plan.request.model, plan.request.config, plan.flags
    quantization = config.get("quantization")
    named = None if quantization is None else str(quantization.value)
    form = weight_format(model.config, model.text, named, flags.dtype, plan.request.model_name)
    parallel = config.get("enable_expert_parallel")
    spread = parallel is not None and parallel.value is True
    capability = float(card.capability) if card.capability else 0.0
    return StepTimeModel(
        rank_work(model, form, flags, capability, expert_parallel=spread), figures, speeds
    )


def doubt_of_plan(plan: CapacityPlan) -> Doubt | None:
    """How far these steps may be off, whatever their load; None if there are none."""
    card = plan.request.card
    figures = None if card is None else card_speeds(card)
    if card is None or figures is None:
        return None
    return doubt_of(plan.request.model, plan.flags, card, fast_link=figures.fast_link)
