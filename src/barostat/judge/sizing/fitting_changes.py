"""An engine that would not start -> the changes that make it start, cheapest first, each of them
tried on the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from barostat.catalog.cards import CARDS, Card, is_slice
from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.errors import InputError
from barostat.core.units import GIB, ceil_div, gib
from barostat.judge.sizing.plan import CapacityPlan, PlanRequest, plan
from barostat.kv.pool import Pool
from barostat.kv.warm_up import ROOM_BESIDE_BUDGET

_ENOUGH = 5
_CLOSE_BYTES = 0.05 * GIB
"""Starts that came this close to the end of the card's memory came up or failed."""


@dataclass(frozen=True, slots=True)
class FittingChange:
    """A change with which the engine would start. `arguments`: as flags. `cost`: its drawback."""

    arguments: str
    cost: str
    tokens: int
    longest_tokens: int


def why_not(found: CapacityPlan) -> str:
    """One sentence on why the engine would refuse to start; empty if it would not."""
    if found.fits:
        return ""
    if found.beyond.value > 0:
        pool = found.pool.blocks * found.layout.block_bytes
        return (
            f"the pool of {gib(pool)} that {found.beyond.source} sets, weights, "
            f"activations and the rest need {gib(found.beyond.value)} "
            "more than the card has on each GPU: out of memory"
        )
    if found.available.value <= 0:
        return (
            f"weights, activations and the rest need {gib(-found.available.value)} more "
            "than the budget on each GPU: "
            "nothing is left for the KV cache ('No available memory for the cache blocks')"
        )
    if found.pool.fits and found.lacking_states:
        return _more_than_states(found, found.pool)
    return _too_long(found.flags.max_model_len, found.pool)


def may_not_start(found: CapacityPlan) -> str:
    """Return why an engine that fits may not start; empty if both ends of the estimate start, or
    it runs.
    """
    reasons = (_short_of_memory(found), _short_while_warming_up(found))
    return "; ".join(reason for reason in reasons if reason)


def _short_while_warming_up(found: CapacityPlan) -> str:
    """Return why the card may run out of memory after the pool is allocated."""
    room = found.room
    taken = sum(step.value for step in found.warm_up) + _CLOSE_BYTES
    if not found.fits or room is None or not found.warm_up or taken <= room.value:
        return ""
    steps = " and ".join(f"{_STEPS[step.name]} ({step.source})" for step in found.warm_up)
    value = gib(sum(step.value for step in found.warm_up))
    left = f"{gib(room.value)} are free beside the pool" if room.value > 0 else "nothing is free"
    total = found.total
    lower = ""
    if total is not None and room.name == ROOM_BESIDE_BUDGET:
        most = found.sized.utilization - (taken - room.value) / total.value
        lower = f", or --gpu-memory-utilization up to {int(most * 100) / 100:g}"
    return (
        f"{steps} may take {value} more than was set aside, and {left}: out of memory while the "
        f"engine warms up; {_WAYS_OUT[found.warm_up[-1].name]}{lower} leaves room"
    )


_STEPS = {
    "graphs": "CUDA graphs",
    "sampler": "the sampler's warm-up",
    "tower": "the first image",
}
_WAYS_OUT = {
    "graphs": "--max-cudagraph-capture-size lower",
    "sampler": "--max-num-seqs lower",
    "tower": "profiling images (without --skip-mm-profiling)",
}


def _short_of_memory(found: CapacityPlan) -> str:
    settles = found.sized.auto_length and found.low.longest_tokens > 0
    if not found.fits or found.low.fits or settles or found.request.measured is not None:
        return ""
    if found.beyond.high > 0:
        return (
            f"at the upper end of what it needs, {gib(found.beyond.high)} are missing on each "
            "GPU: out of memory"
        )
    if found.available.low <= 0:
        return (
            f"at the lower end of the estimate {gib(-found.available.low)} are missing on each "
            "GPU before anything is left for the KV cache"
        )
    short = found.low.needed_bytes <= found.low.available_bytes
    why = (
        _more_than_states(found, found.low)
        if short
        else _too_long(found.flags.max_model_len, found.low)
    )
    return f"at the lower end of the estimate {why}"


def _more_than_states(found: CapacityPlan, pool: Pool) -> str:
    return (
        f"max_num_seqs {found.flags.max_num_seqs:,} is more than the pool's "
        f"{pool.blocks:,} blocks, and every request that decodes "
        "holds one with its states: the engine refuses to record its graphs"
    )


def _too_long(length: int, pool: Pool) -> str:
    return (
        f"one request of {length:,} tokens needs {gib(pool.needed_bytes)} of KV, "
        f"{gib(pool.available_bytes)} are there; "
        f"the longest that fits is {pool.longest_tokens:,} tokens"
    )


def changes_that_fit(found: CapacityPlan) -> list[FittingChange]:
    """The changes with which it starts, cheapest first; empty if it starts as it is."""
    if found.fits:
        return []
    made: list[FittingChange] = []
    for arguments, cost, request in _candidates(found):
        try:
            again = plan(request)
        except InputError:
            continue
        length = again.flags.max_model_len
        if again.fits and length >= 256:
            made.append(
                FittingChange(arguments, cost, again.pool.tokens, again.pool.longest_tokens)
            )
        elif (
            again.available.value > 0
            and again.beyond.value <= 0
            and again.pool.longest_tokens >= max(1024, 2 * found.pool.longest_tokens)
            and not arguments.startswith("--max-model")
        ):
            shorter = _rounded(again.pool.longest_tokens)
            made.append(
                FittingChange(
                    f"{arguments} --max-model-len {shorter}",
                    cost + "; and a shorter context",
                    again.pool.tokens,
                    shorter,
                )
            )
        if len(made) >= _ENOUGH:
            break
    return made


def _rounded(tokens: int) -> int:
    return tokens // 256 * 256 or tokens


def _with(request: PlanRequest, **values: ConfigScalar) -> PlanRequest:
    config = EngineConfig(
        {
            **request.config.values,
            **{name: ConfigValue(value, "flag", f"--{name}") for name, value in values.items()},
        },
        request.config.problems,
    )
    return replace(request, config=config)


def _spread(request: PlanRequest, tp: int) -> PlanRequest:
    """Plan for that many GPUs; stated weights per GPU are scaled like computed ones."""
    spread = _with(request, tensor_parallel_size=tp)
    if request.weights_bytes is None:
        return spread
    before, after = (
        plan(replace(one, weights_bytes=None)).weights_bytes for one in (request, spread)
    )
    return replace(spread, weights_bytes=int(request.weights_bytes * after / before))


def _candidates(found: CapacityPlan) -> Iterator[tuple[str, str, PlanRequest]]:
    """Changes in the order of what they cost."""
    request, flags = found.request, found.flags
    longest = _rounded(found.pool.longest_tokens)
    if found.beyond.value > 0:
        yield from _smaller_pools(found)
    if found.lacking_states and (
        fewer_seqs := _rounded_down(found.low.blocks or found.pool.blocks)
    ):
        yield (
            f"--max-num-seqs {fewer_seqs}",
            "fewer requests at once",
            _with(request, max_num_seqs=fewer_seqs),
        )
    if found.available.value > 0 and longest >= 256 and not found.lacking_states:
        yield (
            f"--max-model-len {longest}",
            "longer requests are refused",
            _with(request, max_model_len=longest),
        )
    if request.available_kv_bytes is None and found.sized.utilization < 0.95:
        raised = _with(request, gpu_memory_utilization=0.95)
        yield (
            "--gpu-memory-utilization 0.95",
            "less slack for what the profile does not see",
            raised,
        )
    if flags.max_num_seqs > 128:
        yield "--max-num-seqs 128", "fewer requests at once", _with(request, max_num_seqs=128)
    if flags.max_num_batched_tokens > 2048:
        fewer = _with(
            request, max_num_batched_tokens=2048, max_num_seqs=min(flags.max_num_seqs, 256)
        )
        yield "--max-num-batched-tokens 2048", "slower prefill", fewer
    capability = float(request.card.capability or 0) if request.card is not None else 9.0
    if flags.kv_cache_dtype == "auto" and capability >= 8.9:
        yield "--kv-cache-dtype fp8", "a little accuracy", _with(request, kv_cache_dtype="fp8")
    if not found.sized.eager and found.spent is not None and found.spent.graphs_counted:
        yield "--enforce-eager", "slower decoding", _with(request, enforce_eager=True)
    if request.available_kv_bytes is None:
        alone = request.card is not None and is_slice(
            request.card.name
        )  # a process sees one MIG instance, however many there are
        for tp in (2, 4, 8, 16):
            if tp > flags.tp and not alone:
                yield (
                    f"--tensor-parallel-size {tp}",
                    f"{tp} GPUs for each replica",
                    _spread(request, tp),
                )
        if found.spent is not None and "not quantised" in found.spent.weights.source:
            halved = replace(_with(request, quantization="fp8"), model_name="")
            yield (
                "--quantization fp8",
                "a little accuracy; weights are quantised while loading",
                halved,
            )
        yield from _other_cards(request)


def _rounded_down(blocks: int) -> int:
    """The power of two up to so many, 0 for none."""
    return 1 << (blocks.bit_length() - 1) if blocks > 0 else 0


def _smaller_pools(found: CapacityPlan) -> Iterator[tuple[str, str, PlanRequest]]:
    """The pool that the card has room for, by the flag that sets it."""
    blocks = found.pool.blocks - ceil_div(int(found.beyond.value) + 1, found.layout.block_bytes)
    if blocks <= 0:
        return
    name = found.beyond.source.removeprefix("--").replace("-", "_")
    value = blocks if name == "num_gpu_blocks_override" else blocks * found.layout.block_bytes
    yield f"{found.beyond.source} {value}", "a smaller pool", _with(found.request, **{name: value})


def _other_cards(request: PlanRequest) -> Iterator[tuple[str, str, PlanRequest]]:
    """Cards with more memory, the smallest first."""
    if request.card is None:
        return
    larger: list[Card] = [
        card
        for card in CARDS
        if card.memory_bytes[0] > request.card.memory_bytes[0]
        and card.vendor == request.card.vendor
    ]
    for card in sorted(larger, key=lambda card: card.memory_bytes[0]):
        yield f"--gpu {card.name!r}", "another card", replace(request, card=card, memory_bytes=None)
