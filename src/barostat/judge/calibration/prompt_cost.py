"""Two histograms side by side: how many tokens steps had, how long steps took. Together they tell
what a prompt costs.

    vllm:iteration_tokens_total        |- decodes only -|-- prompts of 256..512 --|- 512..1024 -|     shares of steps
    vllm:inter_token_latency_seconds   |---- short -----|--------- longer --------|-- longest --|     the same shares of gaps

A step with more tokens takes longer, and every request that decodes sees each step once: the same
share of both, from the low end, is the same steps. Means of a steady load do not tell prompts from
the rest; this does, even from one pair of scrapes.
"""

from __future__ import annotations

import math
from itertools import pairwise

from barostat.catalog import metric_names as names
from barostat.engines.vllm.metrics.quantiles import Histogram
from barostat.engines.vllm.metrics.scrapes import EngineScrapes
from barostat.twin.linear_pace import StepSample

_LEAST_SHARE = 0.01
_LEAST_DECODES = 2.0
_LEAST_STEPS = 100.0
_APART_RATIO = 0.6
# Buckets are coarse: all of this together weighs a little beside the means between scrapes, and
# decides where these do not vary.
_WEIGHT_RATIO = 0.1


def split_by_work(
    engine: EngineScrapes, kv_tokens: float, budget_tokens: float | None
) -> tuple[StepSample, ...]:
    """Steps that only decode, and steps with prompts by their size; nothing if the histograms do
    not tell them apart.

    That is: preemptions (their waits are in the gaps), prompts cut in chunks (they count as one
    step), too few requests that decode.
    """
    tokens, gaps = engine.observed(names.STEP_TOKENS), engine.observed(names.ITL)
    running = [count for _, count in engine.gauge(names.RUNNING)]
    preempted = sum(
        step.gain for step in engine.steps(engine.counter(names.PREEMPTIONS), names.PREEMPTIONS[0])
    )
    if (
        tokens is None
        or gaps is None
        or not running
        or preempted
        or tokens.total < _LEAST_STEPS
        or gaps.total <= 0
    ):
        return ()
    decodes = gaps.total / tokens.total
    sum_tokens = sum(
        step.total for step in engine.histogram_steps(names.STEP_TOKENS, names.STEP_TOKENS[0])
    )
    sum_s = sum(step.total for step in engine.histogram_steps(names.ITL, names.ITL[0]))
    border = next((bound for bound in tokens.bounds if bound >= max(running)), math.inf)
    if decodes < _LEAST_DECODES or math.isinf(border):
        return ()
    parts = _parts(tokens, border)
    if budget_tokens is not None and any(high > 2 * budget_tokens for _, high, _ in parts):
        return ()
    low = 1.0 - sum(share for _, _, share in parts)
    if not parts or low < 0.05 or not _told_apart(gaps, low):
        return ()
    # What the buckets leave open is settled by the sums: prompts of all steps together, time of all
    # steps together.
    middles = [math.sqrt(max(start, 1.0) * high) - decodes for start, high, _ in parts]
    prompt_tokens = max(0.0, sum_tokens / tokens.total - decodes)
    counted = sum(middle * share for middle, (_, _, share) in zip(middles, parts, strict=True))
    if counted <= 0 or prompt_tokens <= 0:
        return ()
    durations, done = [], low
    for _, _, share in parts:
        durations.append(_mean_between(gaps, done, done + share))
        done += share
    mean_s = sum_s / gaps.total
    low_s = (
        mean_s
        - sum(duration * share for duration, (_, _, share) in zip(durations, parts, strict=True))
    ) / low
    if not 0 < low_s < min(durations):
        return ()
    scale = prompt_tokens / counted
    each = _WEIGHT_RATIO * tokens.total / (1 + len(parts))
    found = [StepSample(0.0, decodes, kv_tokens, low_s, each)]
    found += [
        StepSample(middle * scale, decodes, kv_tokens, duration, each)
        for middle, duration in zip(middles, durations, strict=True)
    ]
    return tuple(found)


def _parts(tokens: Histogram, border: float) -> list[tuple[float, float, float]]:
    """(from, to, share of steps) of the buckets above the border; those with hardly a step go with
    their neighbour.
    """
    found: list[tuple[float, float, float]] = []
    edges = list(zip(tokens.bounds, tokens.counts, strict=True))
    for (start, below), (end, count) in pairwise(edges):
        share = (count - below) / tokens.total
        if start < border or share <= 0:
            continue
        high = end if math.isfinite(end) else 2 * start
        if found and (share < _LEAST_SHARE or found[-1][2] < _LEAST_SHARE):
            before = found.pop()
            found.append(
                (
                    before[0] if before[2] >= share else start,
                    before[1] if before[2] >= share else high,
                    before[2] + share,
                )
            )
        else:
            found.append((start, high, share))
    return found


def _told_apart(gaps: Histogram, low: float) -> bool:
    """True if most of the longer gaps lie in other buckets than the short ones do: within one
    bucket nothing is known.
    """
    below = next(count for count in gaps.counts if count >= (low - 0.02) * gaps.total)
    return gaps.total - below >= _APART_RATIO * (1 - low) * gaps.total


def _mean_between(gaps: Histogram, low: float, high: float) -> float:
    """Mean of the observations between two quantiles, each bucket evenly filled."""
    total, seen = 0.0, 0.0
    start, below = 0.0, 0.0
    for end, count in zip(gaps.bounds, gaps.counts, strict=True):
        high_s = end if math.isfinite(end) else 2 * start
        first, last = max(low * gaps.total, below), min(high * gaps.total, count)
        if last > first and count > below:
            middle = ((first + last) / 2 - below) / (count - below)
            total += (start + (high_s - start) * middle) * (last - first)
            seen += last - first
        start, below = high_s, count
    return total / seen if seen else 0.0
