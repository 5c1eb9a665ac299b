"""What steps between two scrapes were like: their mean load and how long one took, from an engine's
own counters.

    steps      count of vllm:iteration_tokens_total
    duration   the smaller of  time / steps  (too long where the engine idled)  and  mean of
    vllm:inter_token_latency_seconds
               (too long where preempted requests waited in between), with the prompts that nobody
               decoded beside (vllm:request_prefill_time_seconds): at low load a gap between tokens
               hardly ever contains one
    prefill    (vllm:prompt_tokens - vllm:prefix_cache_hits + what preemptions made to compute again) / steps
    decodes    count of inter-token latencies / steps
    cache read vllm:kv_cache_usage_perc x pool per running request x decodes

No counter of vLLM tells what preemptions made to compute again: prompt tokens, step tokens and what
was looked up in the prefix cache leave a resumed request out. It is the number of preemptions times
what one of them costs: `again_tokens`.

A prompt is counted whole, with its first token, however many steps compute it: a stretch has a part
too much of one and too little of another. Where hardly more than that is seen to vary, nothing
does, and a line through it would say that prompts cost next to nothing.

Source: vLLM 0.11.1 to 0.33, IterationStats.update_from_output, PrometheusStatLogger.record,
PrefixCacheStats.record (preempted requests apart). `vllm:prompt_tokens_recomputed` of 0.16 to 0.19
counted something else: the last token of prompts that were cached whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from barostat.catalog import metric_names as names
from barostat.engines.vllm.metrics.gauges import usage_ratio
from barostat.engines.vllm.metrics.scrapes import EngineScrapes
from barostat.engines.vllm.metrics.settings import pool
from barostat.twin.linear_pace import StepSample

_FEWEST_STEPS = 5
_FEWEST_FIRST_TOKENS = 20
_FEWEST_VARIED = 2
_TELLING = 3.0  # deviations of a variance
# First tokens and ends of requests are counted at different times: behind a longer queue they are
# not of the same requests.
_SHORT_QUEUE_S = 0.5
# What one preemption makes to compute again, of what a running request holds: the youngest goes,
# and finds a part in the prefix cache. The twin of engines in a thrash has 0.33 to 0.41.
_AGAIN_RATIO = 0.4


def stretches_seen(
    engine: EngineScrapes, again_tokens: float | None = None, budget_tokens: float | None = None
) -> tuple[StepSample, ...]:
    """One sample for each pair of consecutive scrapes in which the engine took steps.

    `again_tokens`: what one preemption makes to compute again, where it is known better than as a
    part of what a request holds. `budget_tokens`: max_num_batched_tokens, where it is known.
    """
    prompts, hits = _gains(engine, names.PROMPT_TOKENS), _gains(engine, names.PREFIX_HITS)
    preempted = _gains(engine, names.PREEMPTIONS)
    gaps = {
        (step.start, step.end): (step.observations, step.total)
        for step in engine.histogram_steps(names.ITL, names.ITL[0])
    }
    held = _held_per_request(engine)
    firsts = {
        (step.start, step.end): step.observations
        for step in engine.histogram_steps(names.TTFT, names.TTFT[0])
    }
    prefill_s, _ = mean_of(engine, names.PREFILL_TIME)
    samples: list[StepSample] = []
    for step in engine.histogram_steps(names.STEP_TOKENS, names.STEP_TOKENS[0]):
        key, steps = (step.start, step.end), step.observations
        count, total_s = gaps.get(key, (0.0, 0.0))
        if steps < _FEWEST_STEPS or key not in prompts:
            continue
        of_time = (step.end - step.start) / steps
        # Gaps between tokens tell of a prompt only where others decode beside it: at random, that
        # many of them at a time.
        unseen = (
            math.exp(-total_s / (step.end - step.start)) * firsts.get(key, 0.0) * prefill_s / steps
        )
        duration_s = (
            min(of_time, total_s / count + unseen) if count > 0 and total_s > 0 else of_time
        )
        ends = [held[at] for at in key if at in held]
        each = sum(ends) / len(ends) if ends else 0.0
        again = preempted.get(key, 0.0) * (
            _AGAIN_RATIO * each if again_tokens is None else again_tokens
        )
        computed = max(0.0, prompts[key] - hits.get(key, 0.0)) + again
        samples.append(
            StepSample(computed / steps, count / steps, count / steps * each, duration_s, steps)
        )
    return _beyond_counting(
        samples, _miscounted_tokens(engine, samples, sum(prompts.values()), budget_tokens)
    )


def _miscounted_tokens(
    engine: EngineScrapes,
    samples: Sequence[StepSample],
    prompt_tokens: float,
    budget_tokens: float | None,
) -> float:
    """Return the standard deviation of the difference between prompt tokens counted in a period and
    those computed in it; 0 if a step holds a whole prompt.

    At each end of the period, a number of prompts (Little's law) are between their first step,
    which counts nothing, and their last.
    """
    prefill_s, ended = mean_of(engine, names.PREFILL_TIME)
    _, count = mean_of(engine, names.TTFT)
    if (
        not samples
        or not ended
        or not count
        or budget_tokens is None
        or prompt_tokens / count <= budget_tokens
    ):
        return 0.0
    begun = (
        count
        / (engine.scrapes[-1].at - engine.scrapes[0].at)
        * max(0.0, prefill_s - mean_load(samples).duration_s)
    )
    variance = begun / 3 - begun * begun / 4 if begun < 1 else begun / 12
    return prompt_tokens / count * math.sqrt(2 * variance)


def _beyond_counting(
    samples: Sequence[StepSample], miscounted_tokens: float
) -> tuple[StepSample, ...]:
    """The samples with the part of their prompts' variation taken out that counting alone makes;
    with none where it may have made all.

    Source: regression calibration (Carroll et al., Measurement Error in Nonlinear Models): a true
    value is expected as far from the mean as the counted one, times the share of the variance that
    is no error.
    """
    if len(samples) < _FEWEST_VARIED or not miscounted_tokens:
        return tuple(samples)
    mean, freedom = mean_load(samples), len(samples) - 1
    seen = (
        sum(one.steps * (one.prefill_tokens - mean.prefill_tokens) ** 2 for one in samples)
        / mean.steps
        * len(samples)
        / freedom
    )
    counted = miscounted_tokens**2 * sum(1 / one.steps for one in samples) / mean.steps
    kept = 1 - counted / seen if seen > counted * (1 + _TELLING * math.sqrt(2 / freedom)) else 0.0
    return tuple(
        replace(
            one,
            prefill_tokens=mean.prefill_tokens + kept * (one.prefill_tokens - mean.prefill_tokens),
        )
        for one in samples
    )


def mean_load(samples: Sequence[StepSample]) -> StepSample:
    """The mean step of all samples; its `steps` are those of all."""
    steps = sum(sample.steps for sample in samples)

    def mean(values: Sequence[float]) -> float:
        return (
            sum(value * sample.steps for value, sample in zip(values, samples, strict=True)) / steps
        )

    return StepSample(
        mean([sample.prefill_tokens for sample in samples]), mean([sample.decodes for sample in samples]),
        mean([sample.kv_tokens for sample in samples]), mean([sample.duration_s for sample in samples]), steps,
    )  # fmt: skip


def preemptions_seen(engine: EngineScrapes) -> float:
    """Preemptions between the first scrape and the last, as far as they are counted: with the next
    token of the request.
    """
    return sum(_gains(engine, names.PREEMPTIONS).values())


def mean_of(engine: EngineScrapes, family: tuple[str, ...]) -> tuple[float, float]:
    """(mean, number) of what a histogram observed between the first scrape and the last; (0, 0)
    where that was nothing.
    """
    steps = engine.histogram_steps(family, family[0])
    count = sum(step.observations for step in steps)
    return (sum(step.total for step in steps) / count, count) if count else (0.0, 0.0)


def front_s(engine: EngineScrapes) -> float:
    """Return the time to first token outside queue and steps, in seconds: mean TTFT less mean queue
    and prefill; 0 if a queue hides it.
    """
    found = [
        mean_of(engine, family) for family in (names.TTFT, names.QUEUE_TIME, names.PREFILL_TIME)
    ]
    if min(count for _, count in found) < _FEWEST_FIRST_TOKENS:
        return 0.0
    ttft, queue, prefill = (mean for mean, _ in found)
    return max(0.0, ttft - queue - prefill) if queue < _SHORT_QUEUE_S else 0.0


def _gains(engine: EngineScrapes, family: tuple[str, ...]) -> dict[tuple[float, float], float]:
    return {
        (step.start, step.end): step.gain
        for step in engine.steps(engine.counter(family), family[0])
    }


def _held_per_request(engine: EngineScrapes) -> dict[float, float]:
    """Tokens that a running request holds, at each scrape with any: blocks in use over requests,
    less half a block each.
    """
    usage, running = dict(usage_ratio(engine)), dict(engine.gauge(names.RUNNING))
    held = {}
    for scrape in engine.scrapes:
        shape = pool(scrape.exposition, engine.engine)
        requests = running.get(scrape.at, 0.0)
        if requests <= 0 or scrape.at not in usage or shape.tokens is None:
            continue
        share = max(0.0, usage[scrape.at] * shape.usable_ratio - shape.idle_usage_ratio)
        held[scrape.at] = max(
            1.0, share * shape.tokens / requests - (shape.block_size_tokens or 0.0) / 2
        )
    return held
