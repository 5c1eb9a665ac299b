"""How much fits: model, card and flags -> memory, blocks, tokens, requests; and whether the engine
starts at all.

Measured beats computed: a stated pool is taken as it is, and the plan says where its own prediction
was off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from barostat.catalog.cards import Card
from barostat.core.config import EngineConfig
from barostat.core.errors import InputError
from barostat.core.units import GIB, gib
from barostat.core.version import EngineVersion
from barostat.judge.sizing.emulated_fp8 import emulated_fp8
from barostat.judge.sizing.pinned_pool import FITS_CARD, beyond_card, pin_of
from barostat.judge.sizing.sizing_flags import Sized, deployment_of
from barostat.judge.sizing.speculation import published_of
from barostat.judge.sizing.state_slots import lacking_states
from barostat.kv.architecture import Architecture
from barostat.kv.build_specs import check_parallelism
from barostat.kv.deployment import Deployment
from barostat.kv.estimate import Estimate, exact
from barostat.kv.memory import Footprint, above_budget, available_bytes, footprint
from barostat.kv.pool import Layout, Pool, fill, lay_out
from barostat.kv.profiled.fitted import FITTED, MemoryModel
from barostat.kv.quantization import WeightFormat, weight_format
from barostat.kv.warm_up import room_beside, warm_up
from barostat.kv.weights import module_bytes, weight_bytes


@dataclass(frozen=True, slots=True)
class Measured:
    """The pool as reported by a running engine or its start-up log. None: not reported. `source`:
    quotes the place.
    """

    source: str
    available_kv_bytes: int | None = None
    blocks: int | None = None
    tokens: int | None = None
    concurrency: float | None = None
    weights_bytes: int | None = None
    block_size: int | None = None


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Everything that a plan is made from.

    `model_name`: as a person knows it. `config`: the engine's resolved settings. `card`: of the
    catalogue, or None with `memory_bytes` given. `available_kv_bytes`: per GPU, where it is given
    rather than estimated. `is_cpu`: vLLM's CPU backend. `drafter`: of speculative decoding, where
    it is a model of its own and its configuration is known.
    """

    model: Architecture
    model_name: str
    version: EngineVersion
    config: EngineConfig
    card: Card | None = None
    memory_bytes: int | None = None
    available_kv_bytes: int | None = None
    weights_bytes: int | None = None
    is_cpu: bool = False
    measured: Measured | None = None
    version_assumed: bool = False
    drafter: Architecture | None = None
    constants: MemoryModel = field(default=FITTED)


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    """A capacity plan. `low`, `high`: the pool at the ends of the estimate's interval. `spent`:
    where memory goes outside the pool (None: not asked). `beyond`: bytes that a pool set by a flag,
    and the rest, are asked of a GPU beyond what it has (below zero: left). `lacking_states`:
    decoding sequences for whose states the pool has no block. `warm_up`: what steps of the start
    take beside the pool that was not set aside for them; `room`: what is free there, None if it is
    not known or the engine runs.
    """

    request: PlanRequest
    sized: Sized
    layout: Layout
    available: Estimate
    pool: Pool
    low: Pool
    high: Pool
    total: Estimate | None
    spent: Footprint | None
    kv_bytes_per_token: float
    kv_bytes_per_token_per_gpu: float
    weights_bytes: float
    fits: bool
    assumptions: tuple[str, ...]
    off_by: tuple[str, ...] = ()
    beyond: Estimate = FITS_CARD
    lacking_states: int = 0
    warm_up: tuple[Estimate, ...] = ()
    room: Estimate | None = None

    @property
    def flags(self) -> Deployment:
        """The settings that were planned with."""
        return self.layout.flags

    @property
    def gpus(self) -> int:
        """GPUs of one engine."""
        return self.flags.tp * self.flags.pp

    @property
    def is_exact(self) -> bool:
        """True if the pool was given or measured."""
        return self.available.is_exact


def plan(request: PlanRequest) -> CapacityPlan:
    """Compute what the engine allocates and logs at start.

    Errors: InputError for flags that the engine refuses, or if neither memory, card nor pool is
    known.
    """
    model, stated = request.model, request.drafter
    request = replace(request, drafter=stated or published_of(request.model_name, request.config))
    capability = _capability(request.card)
    sized = deployment_of(
        model,
        request.config,
        request.version,
        capability,
        is_cpu=request.is_cpu,
        rocm=request.card is not None and request.card.vendor == "AMD",
        drafter=request.drafter,
    )
    check_parallelism(model, sized.flags)
    layout = lay_out(model, sized.flags)
    notes = [*model.notes, *sized.assumptions, *request.config.problems]
    if request.drafter is not stated:
        notes.append(
            "the drafter's shape is the published one's, of the built-in catalogue: "
            "--draft-model-config for another"
        )
    if sized.flags.dp > 1:
        notes.append(
            f"data parallel: each of the {sized.flags.dp} engines has a pool of its own; "
            "the numbers are one engine's"
        )
    if emulated := emulated_fp8(request.card, sized.flags.kv_cache_dtype):
        notes.append(emulated)
    if request.version_assumed:
        notes.append(f"no engine version given: planned for vLLM {request.version}")
    if request.memory_bytes is None and request.card is not None and request.card.seen_gib is None:
        notes.append(
            f"the memory of {request.card.name} as the engine sees it is not on record; "
            "reckoned from its nominal size"
        )
    total = _total(request)
    form = weight_format(
        model.config,
        model.text,
        _quantization(request.config),
        sized.flags.dtype,
        request.model_name,
    )
    spent = footprint(
        model, sized.flags, form, capability, eager=sized.eager, constants=request.constants, stated_weights_bytes=_stated_weights(request),
        draft_bytes=_draft_bytes(request, sized, form), unified=_is_unified(request.card),
        switched=request.card is None or request.card.switched,
    )  # fmt: skip
    available, per_stage, source_note = _available(request, sized, total, spent)
    if source_note:
        notes.append(source_note)
    if (
        total is not None
        and not request.is_cpu
        and not request.config.number("kv_cache_memory_bytes")
    ):
        notes += above_budget(
            total, sized.utilization, request.constants, unified=_is_unified(request.card)
        )
    if _is_unified(request.card):
        notes.append(
            "the host shares this memory: what other processes take while the engine "
            "starts is missing from the pool"
        )
    length = sized.flags.max_model_len
    if sized.auto_length:
        length = fill(layout, [int(e.value) for e in per_stage], length).longest_tokens or 1
        notes.append(f"max_model_len auto: the engine would settle on {length} tokens")
    pool = fill(layout, [int(e.value) for e in per_stage], length)
    measured = request.measured
    off: list[str] = []
    if measured is not None:
        pool, off = _as_measured(layout, pool, measured, length, spent, available)
    beyond = _beyond(request, sized, total, spent, layout, pool)
    low, high = (
        fill(layout, [int(end) for end in ends], length)
        for ends in ([e.low for e in per_stage], [e.high for e in per_stage])
    )
    lacking, low_lacks, high_lacks = (
        0
        if measured is not None
        else lacking_states(model, sized.flags, one.blocks, eager=sized.eager)
        for one in (pool, low, high)
    )
    per_gpu = _bytes_per_token(layout, pool)
    room = _room(request, sized, total, beyond)
    return CapacityPlan(
        request=request,
        sized=sized,
        layout=layout,
        available=available,
        pool=pool,
        low=replace(low, fits=low.fits and beyond.high <= 0 and not low_lacks),
        high=replace(high, fits=high.fits and beyond.low <= 0 and not high_lacks),
        total=total,
        spent=spent,
        kv_bytes_per_token=_whole_bytes_per_token(model, sized, per_gpu),
        kv_bytes_per_token_per_gpu=per_gpu,
        weights_bytes=spent.weights.value,
        fits=pool.fits and beyond.value <= 0 and not lacking,
        assumptions=tuple(dict.fromkeys(notes)),
        off_by=tuple(off),
        beyond=beyond,
        lacking_states=lacking,
        warm_up=()
        if room is None
        else warm_up(model, sized.flags, spent, eager=sized.eager, constants=request.constants),
        room=room,
    )


def _capability(card: Card | None) -> float:
    try:
        return float(card.capability) if card is not None and card.capability else 0.0
    except ValueError:
        return 0.0


def _is_unified(card: Card | None) -> bool:
    return card is not None and card.unified


def _quantization(config: EngineConfig) -> str | None:
    found = config.get("quantization")
    return None if found is None else str(found.value)


def _stated_weights(request: PlanRequest) -> int | None:
    return request.weights_bytes or (
        request.measured.weights_bytes if request.measured is not None else None
    )


def _draft_bytes(request: PlanRequest, sized: Sized, form: WeightFormat) -> tuple[int, int]:
    """Least and most bytes of the drafter's weights on one GPU: modules of the checkpoint, or a
    model of its own.

    A drafter that rests on the target's hidden states has the target's embedding and head; where
    its file is read, both are given as the most.
    """
    draft, drafter, flags = sized.draft, request.drafter, sized.flags
    if drafter is not None:
        own = weight_format(drafter.config, drafter.text, None, flags.dtype)
        parts = weight_bytes(drafter, own, flags.tp, 1)
        shared = (
            0
            if draft.method == "draft_model"
            else parts.by_component.get("embedding", 0) + parts.by_component.get("head", 0)
        )
        return parts.largest - shared, parts.largest
    if draft.copies_of is None or not draft.layers:
        return 0, 0
    return module_bytes(request.model, draft.copies_of, len(draft.layers), form, flags.tp, flags.dp)


def _total(request: PlanRequest) -> Estimate | None:
    """Total memory of one GPU as the engine sees it, or None if nothing says."""
    if request.memory_bytes is not None:
        return exact("GPU memory", request.memory_bytes, "as given")
    if request.card is not None:
        value, low, high = request.card.memory_bytes
        return Estimate(
            "GPU memory", value, low, high, f"{request.card.name} as the engine sees it"
        )
    return None


def _available(
    request: PlanRequest, sized: Sized, total: Estimate | None, spent: Footprint
) -> tuple[Estimate, list[Estimate], str]:  # fmt: skip
    """Memory for the pool on the first stage and on each, and a note where a flag decided it."""
    stage_count = sized.flags.pp
    given = request.available_kv_bytes or (
        request.measured.available_kv_bytes if request.measured is not None else None
    )
    pinned = request.config.number("kv_cache_memory_bytes")
    if given is not None:
        one = exact(
            "available KV memory",
            given,
            request.measured.source
            if request.measured and not request.available_kv_bytes
            else "as given",
        )
        return (
            one,
            [exact(one.name, int(given + more), one.source) for more in _beside_first_stage(spent)],
            "",
        )
    if pinned:
        one = exact("available KV memory", int(pinned), "--kv-cache-memory-bytes")
        return (
            one,
            [one] * stage_count,
            "kv_cache_memory_bytes sets the pool: gpu_memory_utilization is ignored",
        )
    if sized.flags.num_gpu_blocks_override is not None and (
        total is None or request.version.at_least("0.21.0")
    ):
        size = lay_out(request.model, sized.flags).block_bytes * sized.flags.num_gpu_blocks_override
        pinned_by = exact("available KV memory", size, "num_gpu_blocks_override")
        return pinned_by, [pinned_by] * stage_count, ""
    if total is None and request.measured is not None:
        layout = lay_out(request.model, sized.flags)
        blocks = _measured_blocks(layout, request.measured, sized.flags.max_model_len)
        if blocks is not None:
            found = exact(
                "available KV memory", blocks * layout.block_bytes, request.measured.source
            )
            return found, [found] * stage_count, ""
    if total is None:
        raise InputError(
            "how much memory there is cannot be told: give --gpu NAME, --gpu-memory-gib, "
            "or --available-kv-gib as a log states it",
            "plan",
        )
    per_stage = available_bytes(total, sized.utilization, spent)
    worst = min(per_stage, key=lambda estimate: estimate.value)
    return worst, per_stage, ""


def _beyond(
    request: PlanRequest,
    sized: Sized,
    total: Estimate | None,
    spent: Footprint,
    layout: Layout,
    pool: Pool,
) -> Estimate:
    """What a pool that a flag sets takes beyond the card, where it is not known to run and its
    weights are all on the GPU.
    """
    pin = pin_of(request.config, sized.flags)
    runs = request.measured is not None or request.available_kv_bytes is not None
    if (
        not pin
        or runs
        or total is None
        or request.is_cpu
        or request.config.number("cpu_offload_gb")
    ):
        return FITS_CARD
    return beyond_card(layout, pool.blocks, total, spent, pin)


def _room(
    request: PlanRequest, sized: Sized, total: Estimate | None, beyond: Estimate
) -> Estimate | None:
    """Return the free memory after the pool is allocated; None if unknown, if shared with the host,
    or for a running engine.
    """
    runs = request.measured is not None or request.available_kv_bytes is not None
    if total is None or runs or request.is_cpu or _is_unified(request.card):
        return None
    if beyond is FITS_CARD:
        return room_beside(total, sized.utilization, request.constants)
    context = request.constants.context_bytes
    return Estimate(
        "room beside the pool",
        -beyond.value - context,
        -beyond.high - context,
        -beyond.low - context,
        "what the pool, weights, activations and the context leave",
    )


def _beside_first_stage(spent: Footprint) -> list[float]:
    """What each stage has left more than the first, whose memory it is that the engine logs."""
    taken = [
        size + activated.value
        for size, activated in zip(spent.stage_weights, spent.stage_activations, strict=True)
    ]
    return [taken[0] - stage for stage in taken]


def _measured_blocks(layout: Layout, measured: Measured, length: int) -> int | None:
    """The engine's blocks: as it says, or back from the tokens that it logs."""
    if measured.blocks is not None or not measured.tokens or not layout.groups:
        return measured.blocks
    if layout.flags.logs_tokens_of_requests:
        return round(measured.tokens / length * layout.blocks_per_request(length))
    smallest = min(group.block_tokens for group in layout.groups)
    return measured.tokens // (smallest * layout.flags.dcp) * len(layout.groups)


def _as_measured(
    layout: Layout, computed: Pool, measured: Measured, length: int, spent: Footprint, available: Estimate
) -> tuple[Pool, list[str]]:  # fmt: skip
    """The pool that the engine really has, and where our prediction was off."""
    off: list[str] = []
    blocks = (
        _measured_blocks(layout, measured, length)
        if measured.available_kv_bytes is None or measured.blocks is not None
        else None
    )
    if blocks is None:
        return computed, off
    needed = blocks * layout.block_bytes
    pool = fill(layout, needed, length)
    if computed.blocks and abs(blocks / computed.blocks - 1) > 0.005 and not available.is_exact:
        off.append(
            f"predicted {computed.blocks} blocks ({gib(available.value)}), the engine has "
            f"{blocks} ({gib(needed)}): "
            f"{(blocks / computed.blocks - 1):+.1%}; {spent.weights.name} "
            f"{gib(spent.weights.value)} were reckoned"
        )
    if (
        measured.tokens is not None
        and pool.tokens
        and abs(measured.tokens / pool.tokens - 1) > 0.005
    ):
        off.append(
            f"{blocks} blocks make {pool.tokens} tokens by our reckoning, the engine says "
            f"{measured.tokens}"
        )
    return pool, off


def _bytes_per_token(layout: Layout, pool: Pool) -> float:
    """Bytes on one GPU per token of the size that the engine logs."""
    if len(layout.groups) == 1:
        return layout.block_bytes / (layout.groups[0].block_tokens * layout.flags.dcp)
    return (
        pool.blocks * layout.block_bytes / pool.tokens
        if pool.tokens
        else layout.growing_bytes_per_token
    )


def _whole_bytes_per_token(model: Architecture, sized: Sized, per_gpu: float) -> float:
    """Bytes per token over all GPUs of one engine, copies not counted twice."""
    if sized.flags.tp == sized.flags.pp == sized.flags.dcp == 1:
        return per_gpu
    alone = lay_out(model, replace(sized.flags, tp=1, pp=1, dcp=1))
    if len(alone.groups) == 1:
        return alone.block_bytes / alone.groups[0].block_tokens
    pool = fill(alone, 1000 * GIB)
    return _bytes_per_token(alone, pool)


def _per_token(found: CapacityPlan) -> str:
    whole, each = (
        f"{size / 1024:.1f} KiB"
        for size in (found.kv_bytes_per_token, found.kv_bytes_per_token_per_gpu)
    )
    return whole if found.gpus == 1 else f"{whole}, {each} on each GPU"


def summary(found: CapacityPlan) -> Mapping[str, str]:
    """The plan in a few words, for people: title -> text."""
    pool = found.pool
    if found.available.value <= 0:
        memory = f"none: {gib(-found.available.value)} short on each GPU"
    else:
        memory = gib(found.available.value)
        memory += (
            ""
            if found.is_exact
            else f" ({gib(found.available.low)} to {gib(found.available.high)})"
        )
    span = "" if found.is_exact else f" ({found.low.tokens:,} to {found.high.tokens:,})"
    return {
        "KV per token": _per_token(found),
        "KV memory": memory,
        "Blocks": f"{pool.blocks:,} of {pool.block_tokens} tokens",
        "KV cache size": f"{pool.tokens:,} tokens{span}",
        "Concurrency": f"{pool.concurrency:.2f}x at {found.flags.max_model_len:,} tokens",
    }
