"""From a capacity plan to its twin: the scheduler's settings, and how long a step takes on that card."""

from __future__ import annotations

from barostat.core.errors import InputError
from barostat.judge.fitting_changes import why_not
from barostat.judge.plan import CapacityPlan
from barostat.kv.layer_spec import LayerSpec
from barostat.kv.quantization import weight_format
from barostat.kv.weights import weight_bytes
from barostat.twin.latency import LinearPace
from barostat.twin.settings import KvGroup, Settings, for_version

# Shares of a data sheet's figures that serving is taken to reach, and what a step costs besides: assumed, not measured here, which is
# why a forecast from figures says that it may be far off. A pace fitted to an engine replaces it.
_BANDWIDTH_RATIO = 0.75
_COMPUTE_RATIO = 0.5
_STEP_S = 0.002
_ERROR_RATIO = 0.3
# The state before and the one now. More are held for drafts, or for checkpoints inside a chunk of a prompt.
_MOVING_STATES = 2
_FEWEST_BLOCKS = 2  # the null block and one that can be held


def settings_of_plan(plan: CapacityPlan) -> Settings:
    """The planned engine as the twin's scheduler sees it.

    Errors: InputError for caches that the twin does not model, for what the engine would refuse, and for a pool without a block.
    """
    if not plan.fits and plan.pool.blocks < _FEWEST_BLOCKS:
        card = plan.request.card
        where = f"--gpu {card.name}" if card is not None else "the memory that is given"
        raise InputError(f"{plan.request.model_name} does not fit: {why_not(plan)}", where)
    groups = tuple(_group(plan, group.block_tokens, group.layers[0][1]) for group in plan.layout.groups)
    flags, config = plan.flags, plan.request.config
    active, watermark = config.number("max_num_active_seqs"), config.number("watermark")
    queued, queued_tokens = config.number("max_num_queued_reqs"), config.number("max_num_queued_tokens")
    policy = config.get("scheduling_policy")
    return for_version(
        Settings(
            kv_blocks=plan.pool.blocks,
            groups=groups,
            max_model_len=flags.max_model_len,
            max_num_seqs=flags.max_num_seqs,
            max_num_batched_tokens=flags.max_num_batched_tokens,
            max_num_active_seqs=None if active is None else int(active),
            long_prefill_token_threshold=int(config.number("long_prefill_token_threshold") or 0),
            watermark_ratio=watermark or 0.0,
            policy="priority" if policy is not None and policy.value == "priority" else "fcfs",
            prefix_caching=flags.prefix_caching,
            async_scheduling=flags.async_scheduling,
            max_queued_requests=None if queued is None else int(queued),
            max_queued_tokens=None if queued_tokens is None else int(queued_tokens),
        ),
        str(plan.request.version),
    )


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
        raise InputError(f"the twin models full attention, sliding windows, local chunks and states, not {spec.kind}", name)
    if not flags.prefix_caching and flags.state_mode == "none":
        return KvGroup(block_tokens)  # one block of max_model_len tokens for a request
    if not plan.request.version.at_least("0.32.0"):
        raise InputError(f"how vLLM {plan.request.version} caches states is not known to the twin: say --no-enable-prefix-caching", name)
    if flags.state_mode == "all":
        return KvGroup(block_tokens, state="all")
    if flags.state_mode == "align" and spec.states == _MOVING_STATES:
        return KvGroup(block_tokens, state="align")
    raise InputError(
        f"states cached as here ({flags.state_mode}, {spec.states} blocks for a request) are not modelled: say --no-enable-prefix-caching",
        name,
    )


def pace_of_plan(plan: CapacityPlan) -> LinearPace:
    """How long a step takes, from the card's bandwidth and arithmetic: weights are read once a step, the cache once per request.

    Errors: InputError where the card's figures are not on record.
    """
    card = plan.request.card
    if card is None or not card.bandwidth_gb_per_s or not card.bf16_tflops:
        raise InputError("bandwidth and arithmetic of this card are not on record: say --step-time or --latency", "--gpu")
    model, flags = plan.request.model, plan.flags
    quantization = plan.request.config.get("quantization")
    named = None if quantization is None else str(quantization.value)
    form = weight_format(model.config, model.text, named, flags.dtype, plan.request.model_name)
    parameters = weight_bytes(model, form, flags.tp, flags.pp).parameters
    bytes_per_s = card.bandwidth_gb_per_s * 1e9 * _BANDWIDTH_RATIO
    token_s = 2 * parameters / (flags.tp * flags.pp) / (card.bf16_tflops * 1e12 * _COMPUTE_RATIO)
    return LinearPace(
        base_s=_STEP_S + plan.weights_bytes / bytes_per_s,
        prefill_token_s=token_s,
        decode_s=token_s,
        kv_token_s=plan.kv_bytes_per_token_per_gpu / bytes_per_s,
        error_ratio=_ERROR_RATIO,
        source=f"the figures of {card.name}, {_ERROR_RATIO:.0%} either way",
    )
