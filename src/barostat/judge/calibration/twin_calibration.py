"""What an engine's metrics do not tell of its steps, asked of its twin: what a preemption makes to
compute again, and what is computed until a request has its first token.

Both are decided by the scheduler, the pool and the lengths, and hardly by how long a step takes. So
the twin is held as full as the engine was, takes its traffic at the pace found so far, and says for
the mean request

    first run |--- step: its prompt, prompts beside it, what resumed requests compute again ---|
    first token

    vllm:request_prefill_time_seconds = steps x base + tokens computed x prefill + requests x decode
    + cached tokens x kv

which is a sample with many prompt tokens in it, exact in its sums and counted by every version: the
one that tells a prompt token's cost from a step's at any load, in the midst of a thrash too.

Source: vLLM 0.32.0, IterationStats.update_from_finished_request (first SCHEDULED to first
NEW_TOKEN, preemptions in between included); with asynchronous scheduling a request is scheduled
while the step before its own is under way (EngineCore.step_with_batch_queue).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from barostat.catalog import metric_names as names
from barostat.engines.vllm.metrics.quantiles import Histogram
from barostat.engines.vllm.metrics.scrapes import EngineScrapes
from barostat.judge.calibration.mean_steps import (
    front_s,
    mean_load,
    mean_of,
    preemptions_seen,
    stretches_seen,
)
from barostat.judge.calibration.step_times import (
    FittedStepTimes,
    Prompts,
    fitted,
    hidden_prompts,
    hidden_prompts_note,
    source_note,
    source_of,
)
from barostat.judge.experiments.trials import stay_s
from barostat.judge.observed.traffic import ObservedTraffic, buckets
from barostat.judge.observed.workload import rows_like
from barostat.twin.forms import simulate
from barostat.twin.linear_pace import LinearPace, StepSample
from barostat.twin.outcome import Outcome
from barostat.twin.pace import Pace
from barostat.twin.settings import Settings

_ROUNDS = 3
_SETTLED_RATIO = 0.05
_SEED = 101
_REQUESTS = 150
_LONGEST_S = 900.0
_FEWEST = 10
# A request that was thrown out before its first token waited: what takes longer than this many
# medians is left out on both sides.
_FAR = 3.0
# Of the time seen, at most this share may be of those left out: how long they took is known to a
# bucket only.
_LEFT_OUT_RATIO = 0.5
# Behind a longer queue, what the twin's queue is off by is more than a step.
_SHORT_QUEUE_S = 0.1
# Steps with prompts tell what these cost where they compute so many times what the mean step
# computes.
_APART = 1.5
_MOST_RATIO = 0.9
_WORTH_TELLING_RATIO = 0.1


@dataclass(frozen=True, slots=True)
class _Way:
    """The mean request's path to its first token on the twin.

    `steps`: their number; `mean`: the mean step; `spread_ratio`: standard deviation of the time
    over its mean, for that many `requests`, without those above `bound_s`. `again_tokens`:
    recomputed after a preemption, None without one.
    """

    steps: float
    mean: StepSample
    spread_ratio: float
    requests: int
    bound_s: float
    again_tokens: float | None


def calibrated_by_twin(
    found: FittedStepTimes,
    engine: EngineScrapes,
    settings: Settings,
    traffic: ObservedTraffic,
    expected: LinearPace | None = None,
) -> FittedStepTimes:
    """Refine the step times with the twin's account of prefills and preemptions; unchanged if the
    twin gives none.

    `expected`: step times from the card's data sheet, for what neither metrics nor twin show.
    """
    if not traffic.rate_per_s or not traffic.in_flight or not found.samples:
        return found
    refined = found
    observed = engine.observed(names.PREFILL_TIME)
    bounds = (math.inf,) if observed is None else observed.bounds
    for turn in range(_ROUNDS):
        before = refined.pace
        way = _way(settings, traffic, before, turn, bounds)
        if way is None:
            break
        refined = _refined(found, engine, way, settings, expected)
        if (
            abs(refined.pace.prefill_token_s - before.prefill_token_s)
            <= _SETTLED_RATIO * before.prefill_token_s
        ):
            break
    if not settings.async_scheduling:
        return refined
    front = _front_of_async(engine, settings, traffic, refined.pace)
    others = tuple(replace(pace, front_s=front) for pace in refined.others)
    return replace(refined, pace=replace(refined.pace, front_s=front), others=others)


def _front_of_async(
    engine: EngineScrapes, settings: Settings, traffic: ObservedTraffic, pace: LinearPace
) -> float:
    """Return the latency of a first token beyond the twin's steps. With asynchronous scheduling the
    next step is composed when the current one begins, so a request that arrives in between waits
    one step more than on the twin. It is counted as prefill, so no counter shows it separately.

    It is the engine's mean TTFT minus the twin's; unchanged if a queue or too few requests hide it.
    """
    ttft_s, count = mean_of(engine, names.TTFT)
    queue_s, _ = mean_of(engine, names.QUEUE_TIME)
    if count < _FEWEST or queue_s > _SHORT_QUEUE_S:
        return pace.front_s
    stay = stay_s(traffic)
    duration_s = min(_LONGEST_S, 2 * _REQUESTS / traffic.rate_per_s + 2 * stay)
    outcome = simulate(
        settings,
        rows_like(traffic, _SEED, duration_s, settings.hash_tokens, settings.max_model_len),
        pace,
    )
    firsts = [
        life.first_token_ns - life.arrival_ns
        for life in outcome.lives
        if life.first_token_ns is not None and life.arrival_ns >= 2e9 * stay
    ]
    return max(pace.front_s, ttft_s - sum(firsts) / len(firsts) / 1e9) if firsts else pace.front_s


def _refined(
    found: FittedStepTimes,
    engine: EngineScrapes,
    way: _Way,
    settings: Settings,
    expected: LinearPace | None,
) -> FittedStepTimes:
    """The pace by what the twin says."""
    preempted = preemptions_seen(engine)
    samples = stretches_seen(engine, way.again_tokens, settings.max_num_batched_tokens)
    prompts = _prompts(engine, way, samples, settings)
    if prompts is None and not preempted:
        return found
    note = source_note(engine, samples)
    if preempted and way.again_tokens is not None:
        note += (
            f"; {preempted:.0f} preemptions, for which no counter shows what was recomputed: "
            f"{way.again_tokens:.0f} tokens each in "
            "the twin"
        )
    if prompts is None:
        prompts = hidden_prompts(expected, samples)
        note += hidden_prompts_note(expected)
    elif (unsure := prompts.ratios[2] - prompts.ratios[0]) > _WORTH_TELLING_RATIO * prompts.ratios[
        0
    ]:
        note += f"; the time per prompt token is known to within {unsure / prompts.ratios[0]:.0%}"
    paces = fitted(samples, expected, source_of(engine, samples), prompts)
    front = front_s(engine)
    pace, *others = (replace(one, front_s=front) for one in paces)
    return FittedStepTimes(pace, tuple(others), samples, note)


def _prompts(
    engine: EngineScrapes, way: _Way, samples: Sequence[StepSample], settings: Settings
) -> Prompts | None:
    """Return the cost of prompts, from the time to first token; None if too few requests had one,
    or it shows nothing about prompts.
    """
    observed = engine.observed(names.PREFILL_TIME)
    mean_s, _ = mean_of(engine, names.PREFILL_TIME)
    if observed is None or observed.total <= 0:
        return None
    took_s, count = _below(observed, mean_s, way.bound_s)
    every, one = mean_load(samples), way.mean
    if settings.async_scheduling:
        span_s = engine.scrapes[-1].at - engine.scrapes[0].at
        took_s -= every.duration_s * min(1.0, every.steps * every.duration_s / span_s)
    duration_s = took_s / way.steps
    if (
        count < _FEWEST
        or duration_s <= every.duration_s
        or one.prefill_tokens < _APART * every.prefill_tokens
    ):
        return None
    error = 2 * way.spread_ratio * math.sqrt(1 / count + 1 / way.requests)
    ratios, besides = [], []
    for factor in (1.0, max(0.0, 1 - error), 1 + error):
        token_s = max(0.0, factor * duration_s - every.duration_s) / (
            one.prefill_tokens - every.prefill_tokens
        )
        ratios.append(min(_MOST_RATIO, token_s * every.prefill_tokens / every.duration_s))
        besides.append((replace(one, duration_s=factor * duration_s, steps=every.steps),))
    return Prompts((ratios[0], ratios[1], ratios[2]), tuple(besides))


def _below(observed: Histogram, mean_s: float, bound_s: float) -> tuple[float, float]:
    """(mean, number) of what was observed up to the bound; (0, 0) where the rest is most of the
    time.
    """
    left_s = left = 0.0
    for low, high, count in buckets(observed):
        if low >= bound_s:
            left += count
            left_s += count * math.sqrt(low * high)
    whole_s = mean_s * observed.total
    if left_s > _LEFT_OUT_RATIO * whole_s or left >= observed.total:
        return 0.0, 0.0
    return (whole_s - left_s) / (observed.total - left), observed.total - left


class _Noted:
    """A pace that records its calls. Mutable."""

    def __init__(self, pace: Pace) -> None:
        self.steps: list[tuple[int, int, int]] = []
        self._pace = pace

    def step_ns(self, prefill_tokens: int, decodes: int, kv_tokens: int, pairs: int = 0) -> int:
        """Return the step's duration in ns; delegates to the wrapped pace."""
        self.steps.append((prefill_tokens, decodes, kv_tokens))
        return self._pace.step_ns(prefill_tokens, decodes, kv_tokens, pairs)

    def start_ns(self, arrival_ns: int) -> int:
        """Return the start of the step; delegates to the wrapped pace."""
        return self._pace.start_ns(arrival_ns)

    @property
    def empty_ns(self) -> int:
        """Return the duration of an empty step; delegates to the wrapped pace."""
        return self._pace.empty_ns


def _way(
    settings: Settings,
    traffic: ObservedTraffic,
    pace: LinearPace,
    turn: int,
    bounds: Sequence[float],
) -> _Way | None:
    """What the twin says at that pace, with other dice each turn; None if hardly a request gets
    its first token.

    `bounds`: those of the engine's own histogram, in seconds, the last one endless.
    """
    held = max(1, round(sum(traffic.in_flight) / len(traffic.in_flight)))
    full = replace(traffic, clients=held, in_flight=(float(held),))
    stay = stay_s(traffic)
    duration_s = min(_LONGEST_S, _REQUESTS / traffic.rate_per_s + 2 * stay)
    noted = _Noted(pace)
    outcome = simulate(
        settings,
        rows_like(full, _SEED + turn, duration_s, settings.hash_tokens, settings.max_model_len),
        noted,
    )
    from_ns = round(min(2 * stay, duration_s / 2) * 1e9)
    ways = [
        (life.first_token_ns - life.admitted_ns, life.admitted_ns, life.first_token_ns)
        for life in outcome.lives
        if life.first_token_ns is not None
        and life.admitted_ns is not None
        and life.admitted_ns >= from_ns
    ]
    if len(ways) < _FEWEST or outcome.stuck:
        return None
    median_ns = sorted(took for took, _, _ in ways)[len(ways) // 2]
    bound_s = next(bound for bound in bounds if bound >= _FAR * median_ns / 1e9)
    return _mean_way(
        [way for way in ways if way[0] <= bound_s * 1e9], bound_s, outcome, noted.steps
    )


def _mean_way(
    ways: Sequence[tuple[int, int, int]],
    bound_s: float,
    outcome: Outcome,
    steps: Sequence[tuple[int, int, int]],
) -> _Way:
    """`ways`: what each took, its begin and its end, in ns; `steps`: what each step of the outcome
    computed and read.
    """
    begins = [at for at, *_ in outcome.load]
    sums = [[0, *accumulate(step[part] for step in steps)] for part in range(3)]
    taken = 0
    done = [0, 0, 0]
    for _, begin, end in ways:
        first, last = bisect_left(begins, begin), bisect_left(begins, end)
        taken += last - first
        for part in range(3):
            done[part] += sums[part][last] - sums[part][first]
    mean_s = sum(took for took, _, _ in ways) / len(ways) / 1e9
    squares = sum((took / 1e9 - mean_s) ** 2 for took, _, _ in ways) / len(ways)
    prefill, decodes, kv = (total / taken for total in done)
    preempted = sum(life.preemptions for life in outcome.lives)
    again = sum(life.recomputed_tokens for life in outcome.lives)
    return _Way(
        taken / len(ways), StepSample(prefill, decodes, kv, mean_s * len(ways) / taken), math.sqrt(squares) / mean_s, len(ways), bound_s,
        again / preempted if preempted else None,
    )  # fmt: skip
