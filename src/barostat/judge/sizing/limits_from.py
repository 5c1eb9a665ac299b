"""Capacity and traffic -> the limits that follow, each with its because.

    pool - headroom = budget                 seats = how many requests fit into the budget at once, 99 times out of 100
    one request <= half the pool             queue = one generation of seats, beside the one that runs

The pool counted on is the estimate's lower end: a limit that is too small costs a little
throughput, one that is too large an incident. Where no request fits at the lower end, an engine
that starts has more: then it is the estimate itself, and the limits say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, sqrt

from barostat.core.limits import (
    Capacity,
    EdgeLimits,
    EngineLimits,
    LimitsSpec,
    RequestLimits,
    ServingLimits,
)
from barostat.core.units import gib
from barostat.judge.sizing.plan import CapacityPlan
from barostat.judge.sizing.request_shape import Traffic, admitted
from barostat.kv.pool import Pool

HEADROOM_RATIO = 0.10
_LARGEST_SHARE = 0.5
_SURE = 2.33  # standard deviations for 99 of 100
_SLOWEST_TOKEN_S = 0.1
_SPLIT_WORTH = 0.35
_ASSUMED_HELD_TOKENS = 2048
_SHORTEST_TOKENS = 256
_FIELDS = (
    "request.maxInputTokens", "request.maxOutputTokens", "request.maxStreamSeconds", "request.onMissingOutputLimit", "engine.maxModelLen",
    "engine.maxNumSeqs", "engine.maxNumBatchedTokens", "engine.watermark", "engine.gpuMemoryUtilization", "engine.kvCacheMemoryBytes",
    "engine.maxQueuedRequests", "engine.maxQueuedTokens", "capacity.headroomRatio", "edge.kvTokenBudget", "edge.queueDeadlineSeconds",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Derived:
    """The limits and what goes with them. `pools`: advice to split long and short context, empty
    if it is not worth it.
    """

    limits: ServingLimits
    pools: tuple[str, ...] = ()


def real_tokens(found: CapacityPlan, length_tokens: int) -> float:
    """Tokens of decoding requests of this length that the pool really holds, at the estimate's
    lower end.

    For models of one kind of layer this is the logged size; a window or a state holds far less
    after prefill than the logged worst case.
    """
    pool = _counted(found)[0]
    settled = max(1, found.layout.settled_blocks(max(1, length_tokens)))
    return max(0, pool.blocks - 1) / settled * length_tokens


def _counted(found: CapacityPlan) -> tuple[Pool, str, str]:
    """The pool that limits rest on, where it is from, and its name in a sentence."""
    if found.is_exact:
        return found.pool, found.available.source, "logged or given"
    if found.low.longest_tokens >= _SHORTEST_TOKENS and found.low.tokens > 0:
        return found.low, "estimate, lower end", "lower end of the estimate"
    return (
        found.pool,
        "estimate: its lower end holds no request",
        "the estimate itself, whose lower end holds no request",
    )


def limits_from(
    found: CapacityPlan,
    traffic: Traffic | None,
    engine_version: str,
    *,
    headroom_ratio: float = HEADROOM_RATIO,
) -> Derived:
    """The limits for this plan. Without traffic they protect the pool from single requests and
    assume requests of middling length.
    """
    if found.pool.longest_tokens < _SHORTEST_TOKENS:  # nothing to derive limits from
        return Derived(
            ServingLimits(
                LimitsSpec(model=found.request.model_name or None, engine_version=engine_version)
            )
        )
    because: dict[str, str] = {}
    counted, counted_from, pool_name = _counted(found)
    length, inputs, outputs = _lengths(found, traffic, because)
    let_in = admitted(traffic, inputs, outputs) if traffic is not None else None
    typical = (
        min(int(let_in.held_mean), length)
        if let_in is not None
        else max(1, min(_ASSUMED_HELD_TOKENS, (inputs + outputs) // 2))
    )
    held = real_tokens(found, max(1, min(typical, length)))
    budget = floor(held * (1 - headroom_ratio))
    deviation = let_in.held_deviation if let_in is not None else float(typical)
    slots = int(found.flags.max_num_seqs)
    seats, binding = _seats(budget, max(1.0, float(typical)), deviation, slots)
    what = f"a running request holds {typical:,} tokens on average" + (
        "" if traffic is not None else " (assumed: give --trace or quantiles)"
    )
    because["capacity.headroomRatio"] = (
        f"{headroom_ratio:.0%} of {held:,.0f} tokens ({pool_name}) stay free for output "
        "growth, which the engine never reserves"
    )
    because["engine.maxNumSeqs"] = (
        (
            f"{what} give or take {deviation:,.0f}; {seats} of them stay within {budget:,} "
            "tokens 99 times out of 100"
        )
        if binding
        else (
            f"{what}, so the pool would hold more than the {slots} slots of this engine; more "
            "slots cost activations and graphs"
        )
    )
    because["engine.maxNumSeqs"] += _what_would_change_it(found, binding)
    if let_in is not None and let_in.refused_share >= 0.0005:
        because["request.maxInputTokens"] += (
            f"; {let_in.refused_share:.1%} of the requests have more and would be refused"
        )
    version = found.flags.version
    engine = EngineLimits(
        max_model_len=length,
        max_num_seqs=seats,
        max_num_batched_tokens=max(found.flags.max_num_batched_tokens, seats),
        watermark=_watermark(found, seats, because) if version.at_least("0.24.0") else None,
        gpu_memory_utilization=None if found.is_exact else found.sized.utilization,
        kv_cache_memory_bytes=found.pool.blocks * found.layout.block_bytes
        if found.is_exact and version.at_least("0.10.2")
        else None,
        kv_cache_dtype=None if found.flags.kv_cache_dtype == "auto" else found.flags.kv_cache_dtype,
        max_queued_requests=2 * seats * found.flags.dp if version.at_least("0.29.0") else None,
        max_queued_tokens=floor(held) * found.flags.dp if version.at_least("0.29.0") else None,
    )
    _because_engine(found, engine, because)
    stream = float(-(-int(outputs * _SLOWEST_TOKEN_S) // 10) * 10)
    because["request.maxStreamSeconds"] = (
        f"{outputs:,} tokens at the slowest bearable {_SLOWEST_TOKEN_S:g} s each; longer "
        "streams tie up KV cache for clients that have likely given up"
    )
    because["request.onMissingOutputLimit"] = (
        "a request without max_tokens may run to the model's length; capping it keeps "
        "clients working"
    )
    because["edge.kvTokenBudget"] = (
        "the pool less the headroom: what the gateway may have admitted at once, input "
        "plus allowed output"
    )
    because["edge.queueDeadlineSeconds"] = (
        "about as long as one typical request runs; clients that wait longer have mostly given up"
    )
    spec = LimitsSpec(
        model=found.request.model_name or None,
        engine_version=engine_version,
        request=RequestLimits(inputs, outputs, max(10.0, stream), "cap"),
        engine=engine,
        capacity=Capacity(
            counted.tokens, counted.block_tokens, headroom_ratio, counted_from,
        ),
        edge=EdgeLimits(kv_token_budget=max(1, min(budget, counted.tokens)), queue_deadline_seconds=30.0),
    )  # fmt: skip
    ordered = {name: because[name] for name in _FIELDS if name in because}
    return Derived(ServingLimits(spec, ordered), _pools(traffic, budget))


def _lengths(
    found: CapacityPlan, traffic: Traffic | None, because: dict[str, str]
) -> tuple[int, int, int]:
    """Model length, input limit and output limit."""
    own = found.flags.max_model_len
    given = found.request.config.get("max_model_len")
    longest = _counted(found)[0].longest_tokens or own
    ceiling = min(own, longest)
    share = max(16, int(real_tokens(found, ceiling) * _LARGEST_SHARE))
    if traffic is None:
        length = min(ceiling, max(16, share)) if given is None else min(own, longest)
        outputs = min(4096, max(1, length // 4))
        because["engine.maxModelLen"] = (
            "as asked for" if given is not None and length == own else
            f"no traffic is known: as long as one request leaves half of the pool to others, of the model's {own:,} tokens"
        )  # fmt: skip
        because["request.maxOutputTokens"] = (
            "no traffic is known: a quarter of the model length, at most 4,096; output is "
            "what grows unreserved"
        )
        because["request.maxInputTokens"] = "what the model length leaves beside the output"
        return length, length - outputs, outputs
    inputs, outputs = (
        _cap(traffic.input.p99, traffic.input.top),
        _cap(traffic.output.p99, traffic.output.top),
    )
    length = _round_up(inputs + outputs, 1024)
    note, left = f"the input and the output that are allowed, for {traffic.source}, together", ""
    if length > min(ceiling, share):
        length = min(ceiling, max(share, min(ceiling, _round_up(int(traffic.total_p99), 256))))
        outputs = min(outputs, max(1, length // 2))
        inputs = length - outputs
        bound = (
            "go beyond the model's own length"
            if length >= own
            else "take more than half of the pool"
        )
        note = f"{note} would {bound}; {length:,} tokens is what one request can be given"
        left = "what the length leaves beside the output; "
    because["engine.maxModelLen"] = note + "; a longer one only lets single requests grow"
    because["request.maxInputTokens"] = (
        f"{left}99 of 100 inputs are at most {traffic.input.p99:,.0f} tokens, the longest "
        f"{traffic.input.top:,.0f}"
    )
    because["request.maxOutputTokens"] = (
        f"99 of 100 outputs are at most {traffic.output.p99:,.0f} tokens, the longest "
        f"{traffic.output.top:,.0f}"
    )
    return length, inputs, outputs


def _cap(p99: float, top: float) -> int:
    """The longest where it is not far out, else somewhat above the 99th percentile."""
    return _round_up(int(top if top <= 1.5 * p99 else 1.5 * p99), 64)


def _round_up(value: int, step: int) -> int:
    return max(step, -(-value // step) * step)


def _seats(budget: int, mean: float, deviation: float, slots: int) -> tuple[int, bool]:
    """The largest n with n * mean + 2.33 * sqrt(n) * deviation within the budget, up to the
    engine's slots; whether the pool decided it.
    """
    root = (
        (-_SURE * deviation + sqrt((_SURE * deviation) ** 2 + 4 * mean * budget)) / (2 * mean)
        if budget > 0
        else 0.0
    )
    fitting = max(1, floor(root**2))
    if fitting >= slots:
        return slots, False
    return (fitting // 8 * 8 if fitting >= 16 else fitting), True


def _what_would_change_it(found: CapacityPlan, binding: bool) -> str:
    """What a person could do about the number of seats."""
    if not binding:
        return ". More slots, or longer requests, would change it"
    ways = ["Shorter outputs", "another replica"]
    card = found.request.card
    if found.flags.kv_cache_dtype == "auto" and (
        card is None or float(card.capability or 0) >= 8.9
    ):
        ways = ["fp8 KV (about twice as many)", "shorter outputs", "another replica"]
    more = (
        " At 0.31.0 and later --max-num-active-seqs lowers it without re-capturing graphs"
        if found.flags.version.at_least("0.31.0")
        else ""
    )
    return f". {', '.join(ways)} would change it.{more}"


def _watermark(found: CapacityPlan, seats: int, because: dict[str, str]) -> float:
    """Blocks to keep free when admitting: one more block for every seat, between 1 and 10 %."""
    blocks = max(1, found.pool.blocks)
    ratio = min(0.10, max(0.01, round(2 * seats * len(found.layout.groups) / blocks, 2)))
    because["engine.watermark"] = (
        f"room for two more blocks for each of {seats} running requests before another is "
        "admitted: growth then rarely preempts"
    )
    return ratio


def _because_engine(found: CapacityPlan, engine: EngineLimits, because: dict[str, str]) -> None:
    budget = found.flags.max_num_batched_tokens
    peak = found.spent.activations.value if found.spent is not None else 0.0
    because["engine.maxNumBatchedTokens"] = (
        (
            f"this version's value for this card or as given; it costs {gib(peak)} of "
            "activations, and long prompts are chunked to it"
        )
        if engine.max_num_batched_tokens == budget
        else "raised to the number of seats, below which the engine refuses to start"
    )
    if engine.gpu_memory_utilization is not None:
        because["engine.gpuMemoryUtilization"] = (
            "the pool is estimated, so the engine keeps measuring it; lowering this "
            "shrinks the pool, it gives no headroom to requests"
        )
    if engine.kv_cache_memory_bytes is not None:
        because["engine.kvCacheMemoryBytes"] = (
            f"the pool is pinned, so that a restart gets the same one ({found.available.source})"
        )
    if engine.max_queued_requests is not None:
        _because_queue(found.flags.dp, because)


def _because_queue(dp: int, because: dict[str, str]) -> None:
    """Both limits are of the API server, over all ranks that it sends to, and the first counts who
    runs too.

    Source: vLLM 0.32.0, SchedulerConfig.max_num_queued_reqs and max_num_queued_tokens,
    AsyncLLM.check_admission.
    """
    ranks = f", over all {dp} data-parallel ranks" if dp > 1 else ""
    because["engine.maxQueuedRequests"] = (
        f"vLLM counts running and waiting requests{ranks}: as many may queue as run; beyond "
        "that a fast 503 beats a timeout"
    )
    because["engine.maxQueuedTokens"] = (
        f"as many tokens as {'the pools hold' + ranks if dp > 1 else 'the pool holds'}: "
        "what waits can all be admitted one generation later"
    )


def _pools(traffic: Traffic | None, budget: int) -> tuple[str, ...]:
    """Advice for separate pools, where few long requests hold much of the KV."""
    if (
        traffic is None
        or not traffic.split_tokens
        or traffic.long_share < _SPLIT_WORTH
        or traffic.long_count_share > 0.3
    ):
        return ()
    split = traffic.split_tokens
    replicas = max(1, round(traffic.long_share / max(0.01, 1 - traffic.long_share), 1))
    short = _round_up(int(split + traffic.output.p99), 1024)
    why = (
        f"{traffic.long_count_share:.1%} of the requests have inputs above {split:,} "
        f"tokens and hold {traffic.long_share:.0%} of the KV: "
        f"give them replicas of their own (route by input length at {split:,} tokens), so "
        "that they cannot starve the short ones"
    )
    how = (
        f"short pool: maxModelLen {short:,}; long pool: about {replicas:g} replicas for each "
        f"short one, {budget:,} tokens each"
    )
    return (why, how)
