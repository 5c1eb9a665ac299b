"""From a capacity plan to its twin: the scheduler's settings, and how long a step takes on that
card.
"""

from __future__ import annotations

from dataclasses import replace

from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.errors import InputError
from barostat.judge.sizing.fitting_changes import why_not
from barostat.judge.sizing.plan import CapacityPlan
from barostat.judge.sizing.planned_steps import doubt_of_plan, steps_of_plan
from barostat.judge.sizing.speculation import drafter_of
from barostat.kv.layer_spec import LayerSpec
from barostat.twin.drafting import Drafting
from barostat.twin.from_config import settings_of
from barostat.twin.modelled import ModelledPace
from barostat.twin.settings import KvGroup, Settings, check

# The state before and the one now. More are held for drafts, or for checkpoints inside a chunk of a
# prompt.
_MOVING_STATES = 2
_FEWEST_BLOCKS = 2  # the null block and one that can be held


def settings_of_plan(plan: CapacityPlan, acceptance_ratio: float | None = None) -> Settings:
    """The planned engine as the twin's scheduler sees it. `acceptance_ratio`: of drafts; without it
    no drafts are simulated.

    Errors: InputError for caches that the twin does not model, for what the engine would refuse,
    and for a pool without a block.
    """
    if not plan.fits and plan.pool.blocks < _FEWEST_BLOCKS:
        card = plan.request.card
        where = f"--gpu {card.name}" if card is not None else "the memory that is given"
        raise InputError(f"{plan.request.model_name} does not fit: {why_not(plan)}", where)
    groups = tuple(
        _group(plan, group.block_tokens, group.layers[0][1]) for group in plan.layout.groups
    )
    settings = settings_of(
        _as_planned(plan), str(plan.request.version), kv_blocks=plan.pool.blocks, groups=groups
    )
    return with_drafts(settings, plan.request.config, acceptance_ratio)


def with_drafts(
    settings: Settings, config: EngineConfig, acceptance_ratio: float | None
) -> Settings:
    """The settings with the drafter that the engine is configured with, where it is known how many
    of its drafts are accepted.

    Errors: InputError for a drafter that the twin does not model.
    """
    drafter = drafter_of(config)
    if acceptance_ratio is None or drafter is None:
        return settings
    tokens = drafter.tokens
    drafting = Drafting(
        tokens,
        acceptance_ratio,
        tokens if drafter.looks_ahead else 0,
        drafter.batch_slots,
        drafter.drops_block,
    )
    drafted = replace(settings, drafting=drafting)
    check(drafted)
    return drafted


def _as_planned(plan: CapacityPlan) -> EngineConfig:
    """The configuration with the values that the plan settled on, which depend on the model."""
    flags, config = plan.flags, plan.request.config
    settled: dict[str, ConfigScalar] = {
        "max_model_len": flags.max_model_len,
        "max_num_seqs": flags.max_num_seqs,
        "max_num_batched_tokens": flags.max_num_batched_tokens,
        "enable_prefix_caching": flags.prefix_caching,
        "async_scheduling": flags.async_scheduling,
    }
    values = dict(config.values)
    for name, value in settled.items():
        found = values.get(name)
        values[name] = (
            replace(found, value=value)
            if found is not None
            else ConfigValue(value, "version-default", "the plan")
        )
    return EngineConfig(values, config.problems)


def _group(plan: CapacityPlan, block_tokens: int, spec: LayerSpec) -> KvGroup:
    """One group of layers as the scheduler sees it: what of a request's tokens it holds."""
    flags, name = plan.flags, plan.request.model_name
    if spec.kind in ("full", "latent"):
        return KvGroup(block_tokens)
    if spec.kind in ("window", "window-latent") and spec.reach_tokens:
        return KvGroup(block_tokens, spec.reach_tokens)
    if spec.kind == "chunked" and spec.reach_tokens:
        return KvGroup(block_tokens, chunk_tokens=spec.reach_tokens)
    if spec.kind != "state":
        raise InputError(
            "the twin models full attention, sliding windows, local chunks and states, "
            f"not {spec.kind}",
            name,
        )
    if not flags.prefix_caching and flags.state_mode == "none":
        return KvGroup(block_tokens)  # one block of max_model_len tokens for a request
    if not plan.request.version.at_least("0.32.0"):
        raise InputError(
            f"how vLLM {plan.request.version} caches states is not known to the twin: say "
            "--no-enable-prefix-caching",
            name,
        )
    if flags.state_mode == "all":
        return KvGroup(block_tokens, state="all")
    if flags.state_mode == "align" and spec.states == _MOVING_STATES:
        return KvGroup(block_tokens, state="align")
    raise InputError(
        f"states cached as here ({flags.state_mode}, {spec.states} blocks for a request) "
        "are not modelled: say --no-enable-prefix-caching",
        name,
    )


def pace_of_plan(plan: CapacityPlan) -> ModelledPace:
    """How long a step takes on that card, as a model fitted to measured engines has it.

    Errors: InputError where the card's figures are not on record.
    """
    card, model, doubt = plan.request.card, steps_of_plan(plan), doubt_of_plan(plan)
    if card is None or model is None or doubt is None:
        raise InputError(
            "bandwidth and arithmetic of this card are not on record: say --step-time or --latency",
            "--gpu",
        )
    cards = f"{plan.gpus} x {card.name}" if plan.gpus > 1 else card.name
    return ModelledPace(model, doubt, f"{plan.request.model_name or 'this model'} on {cards}")
