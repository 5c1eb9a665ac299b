"""How long a running engine's steps take, calibrated from its own metrics. No clock, no io: scrapes in, a LinearPace out.

What is used, between each pair of consecutive scrapes (at least 2 pairs with steps; more pairs and more varied load tell more):

    steps      count of vllm:iteration_tokens_total
    duration   the smaller of  time / steps  (too long where the engine idled)  and  mean of vllm:inter_token_latency_seconds
               (too long where preempted requests waited in between), with the prompts that nobody decoded beside
               (vllm:request_prefill_time_seconds): at low load a gap between tokens hardly ever contains one
    prefill    (vllm:prompt_tokens - vllm:prefix_cache_hits + what preemptions made to compute again) / steps
    decodes    count of inter-token latencies / steps
    cache read vllm:kv_cache_usage_perc x pool per running request x decodes

besides, over all scrapes, the histograms of step tokens and inter-token latency side by side (judge/seen_split.py), and for what clients
wait on the way (`front_s`) vllm:time_to_first_token less vllm:request_queue_time and vllm:request_prefill_time.

Then a line is fitted with no part below zero. Means of a steady load cannot tell the parts apart, so the fit is pulled, weakly, to an
expected division of a step (a card's figures, where they are known): samples that vary outvote it, samples that do not leave it as it is.
`SeenPace.others` are the fits under the opposite expectations: where the samples tell enough they agree with `pace`, and where they do
not, their distance is the uncertainty of any forecast at another load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from barostat.catalog import metric_names as names
from barostat.engines.vllm.metric_gauges import usage_ratio
from barostat.engines.vllm.metric_settings import pool
from barostat.engines.vllm.scrapes import EngineScrapes
from barostat.judge.seen_split import split_by_work
from barostat.twin.latency import LinearPace, StepSample, fit_towards

_FEWEST_SAMPLES = 2
_FEWEST_STEPS = 5
_FEWEST_FIRST_TOKENS = 20
# First tokens and ends of requests are counted at different times: behind a longer queue they are not of the same requests.
_SHORT_QUEUE_S = 0.5
# A forecast is at best as good as a step's duration repeats itself on a busy machine.
_LEAST_ERROR_RATIO = 0.02
# What a step's time divides into where nothing else tells: its fixed part (weights, launches), prompt tokens, requests, cached tokens.
_EXPECTED = (0.55, 0.2, 0.15, 0.1)
_FLAT = (0.95, 0.05, 0.0, 0.0)
_STEEP = (0.1, 0.3, 0.4, 0.2)


@dataclass(frozen=True, slots=True)
class SeenPace:
    """The calibrated pace, the others that the samples do not rule out, and the samples. `note` says where it is from, for a person."""

    pace: LinearPace
    others: tuple[LinearPace, ...]
    samples: tuple[StepSample, ...]
    note: str


def steps_seen(engine: EngineScrapes) -> tuple[StepSample, ...]:
    """One sample for each pair of consecutive scrapes in which the engine took steps."""
    prompts, hits = _gains(engine, names.PROMPT_TOKENS), _gains(engine, names.PREFIX_HITS)
    preempted = _gains(engine, names.PREEMPTIONS)
    gaps = {(step.start, step.end): (step.observations, step.total) for step in engine.histogram_steps(names.ITL, names.ITL[0])}
    held = _held_per_request(engine)
    firsts = {(step.start, step.end): step.observations for step in engine.histogram_steps(names.TTFT, names.TTFT[0])}
    prefills = engine.histogram_steps(names.PREFILL_TIME, names.PREFILL_TIME[0])
    prefill_s = sum(step.total for step in prefills) / max(1.0, sum(step.observations for step in prefills))
    samples = []
    for step in engine.histogram_steps(names.STEP_TOKENS, names.STEP_TOKENS[0]):
        key, steps = (step.start, step.end), step.observations
        count, total_s = gaps.get(key, (0.0, 0.0))
        if steps < _FEWEST_STEPS or key not in prompts:
            continue
        of_time = (step.end - step.start) / steps
        # Gaps between tokens tell of a prompt only where others decode beside it: at random, that many of them at a time.
        unseen = math.exp(-total_s / (step.end - step.start)) * firsts.get(key, 0.0) * prefill_s / steps
        duration_s = min(of_time, total_s / count + unseen) if count > 0 and total_s > 0 else of_time
        each = _mean([held[at] for at in key if at in held])
        decodes = count / steps
        computed = max(0.0, prompts[key] - hits.get(key, 0.0)) + preempted.get(key, 0.0) * each
        samples.append(StepSample(computed / steps, decodes, decodes * each, duration_s, steps))
    return tuple(samples)


def seen_pace(engine: EngineScrapes, expected: LinearPace | None = None, budget_tokens: float | None = None) -> SeenPace | None:
    """The engine's pace as its metrics show it; None where fewer than 2 pairs of scrapes show steps.

    `expected`: the pace from the card's figures; only the proportions of its parts are used. `budget_tokens`: max_num_batched_tokens.
    """
    samples = steps_seen(engine)
    if len(samples) < _FEWEST_SAMPLES:
        return None
    source = f"{len(samples)} stretches between scrapes of {engine.scrapes[-1].source}"
    shares = _EXPECTED if expected is None else _shares(expected, samples)
    steps = sum(sample.steps for sample in samples)
    split = split_by_work(engine, sum(sample.kv_tokens * sample.steps for sample in samples) / steps, budget_tokens)
    front_s = _front_s(engine)
    pace, *others = (replace(_fitted(samples, split, division, source), front_s=front_s) for division in (shares, _FLAT, _STEEP))
    loads = [sample.decodes for sample in samples]
    varied = "" if max(loads) >= 1.5 * max(min(loads), 0.1) else ", at one load only: forecasts for another are wide"
    note = f"a step's time is calibrated on {steps:,.0f} steps in {source}{varied}"
    return SeenPace(pace, tuple(others), samples, note)


def pace_of_latency(seconds: float, source: str, card: LinearPace | None = None) -> SeenPace:
    """A pace from nothing but a typical time between tokens: a step of that length, divided as the card's figures say, or wholly fixed."""
    if card is None:
        pace = LinearPace(seconds, error_ratio=0.3, source=source)
    else:
        pace = card if card.base_s >= seconds else replace(card, base_s=seconds)
        pace = replace(pace, error_ratio=0.3, source=source)
    return SeenPace(pace, (), (), f"a step's time is taken from {source} alone: {pace.error_ratio:.0%} either way")


def _fitted(
    samples: Sequence[StepSample], split: Sequence[StepSample], shares: tuple[float, float, float, float], source: str
) -> LinearPace:
    """The line through both; how far off it is, by the samples between scrapes alone: the others are from coarse buckets."""
    found = fit_towards([*samples, *split], shares, source)
    steps = sum(sample.steps for sample in samples)
    off = sum(
        one.steps * (found.base_s + found.prefill_token_s * one.prefill_tokens + found.decode_s * one.decodes
                     + found.kv_token_s * one.kv_tokens - one.duration_s) ** 2 / one.duration_s**2
        for one in samples
    )  # fmt: skip
    return replace(found, error_ratio=max(math.sqrt(off / steps), _LEAST_ERROR_RATIO))


def _shares(pace: LinearPace, samples: Sequence[StepSample]) -> tuple[float, float, float, float]:
    """What each part of the pace has of a step at the mean load."""
    count = len(samples)
    parts = (
        pace.base_s,
        pace.prefill_token_s * sum(sample.prefill_tokens for sample in samples) / count,
        pace.decode_s * sum(sample.decodes for sample in samples) / count,
        pace.kv_token_s * sum(sample.kv_tokens for sample in samples) / count,
    )
    total = sum(parts)
    if total <= 0:
        return _EXPECTED
    base, prefill, decode, kv = (part / total for part in parts)
    return base, prefill, decode, kv


def _gains(engine: EngineScrapes, family: tuple[str, ...]) -> dict[tuple[float, float], float]:
    return {(step.start, step.end): step.gain for step in engine.steps(engine.counter(family), family[0])}


def _front_s(engine: EngineScrapes) -> float:
    """What a first token takes beyond queue and steps: mean time to it less mean queue and prefill; 0 where a queue hides it."""
    means = []
    for family in (names.TTFT, names.QUEUE_TIME, names.PREFILL_TIME):
        steps = engine.histogram_steps(family, family[0])
        count = sum(step.observations for step in steps)
        if count < _FEWEST_FIRST_TOKENS:
            return 0.0
        means.append(sum(step.total for step in steps) / count)
    ttft, queue, prefill = means
    return max(0.0, ttft - queue - prefill) if queue < _SHORT_QUEUE_S else 0.0


def _held_per_request(engine: EngineScrapes) -> dict[float, float]:
    """Tokens that a running request holds, at each scrape with any: blocks in use over requests, less half a block each."""
    usage, running = dict(usage_ratio(engine)), dict(engine.gauge(names.RUNNING))
    held = {}
    for scrape in engine.scrapes:
        shape = pool(scrape.exposition, engine.engine)
        requests = running.get(scrape.at, 0.0)
        if requests <= 0 or scrape.at not in usage or shape.tokens is None:
            continue
        share = max(0.0, usage[scrape.at] * shape.usable_ratio - shape.idle_usage_ratio)
        held[scrape.at] = max(1.0, share * shape.tokens / requests - (shape.block_size_tokens or 0.0) / 2)
    return held


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
