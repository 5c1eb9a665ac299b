"""Calibrates a running engine's step times from its metrics or log. No clock, no io: scrapes or a
log in, a LinearPace out.

Best first: the log's step lines (logged_step_times.py); its counters between scrapes
(mean_steps.py), with what these do not tell asked of the twin (twin_calibration.py); a typical time
between tokens.

A line with no part below zero is fitted to the stretches between scrapes, at least 2 of them with
steps: more of them and more varied load tell more. Besides, over all scrapes, the histograms of
step tokens and inter-token latency side by side (prompt_cost.py). Means of a steady load cannot
tell the parts apart, so the fit is pulled to an expected division of a step (a card's figures,
where they are known), the more the less the samples agree with each other. `FittedStepTimes.others`
are the fits under the opposite expectations: where the samples tell enough they agree with `pace`,
and where they do not, their distance is the uncertainty of any forecast at another load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from barostat.core.errors import InputError
from barostat.engines.vllm.logs.digest import LogDigest
from barostat.engines.vllm.metrics.scrapes import EngineScrapes
from barostat.judge.calibration.logged_step_times import pace_of_steps, step_samples
from barostat.judge.calibration.mean_steps import (
    front_s,
    mean_load,
    preemptions_seen,
    stretches_seen,
)
from barostat.judge.calibration.prompt_cost import split_by_work
from barostat.twin.linear_pace import LinearPace, StepSample, fit_towards
from barostat.twin.settings import Settings

Shares = tuple[float, float, float, float]
"""What a step's time divides into at the mean load: its fixed part (weights, launches), prompt
tokens, requests, cached tokens.
"""

_FEWEST_SAMPLES = 2
# A forecast is at best as good as a step's duration repeats itself on a busy machine.
_LEAST_ERROR_RATIO = 0.02
_EXPECTED: Shares = (0.55, 0.2, 0.15, 0.1)
_FLAT: Shares = (0.95, 0.05, 0.0, 0.0)
_STEEP: Shares = (0.1, 0.3, 0.4, 0.2)
# So many prompt tokens take as long as a step's fixed part: as is usual, at most (of a model with
# many experts all are read, few reckoned with), at least (on a processor).
_USUAL_BASE_TOKENS, _MOST_BASE_TOKENS, _LEAST_BASE_TOKENS = 300.0, 3000.0, 10.0
# What prompts may have of a step where what was computed again hides it: from a healthy engine's
# share to that of the worst thrash.
_CHEAP, _DEAR = 0.05, 0.6
_PULL = 0.1
_AGREEING_RATIO = 0.01
_VARIED = 1.5
# Prompts' shares of a step this far apart are told as not known.
_OPEN_RATIO = 0.25


@dataclass(frozen=True, slots=True)
class FittedStepTimes:
    """The calibrated pace, the others that the samples do not rule out, and the samples. `note`
    says where it is from, for a person.
    """

    pace: LinearPace
    others: tuple[LinearPace, ...]
    samples: tuple[StepSample, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Prompts:
    """Cost of prompts, if known separately. `ratios`: their share of the mean step: expected, at
    least, at most.

    `besides`: a sample of the steps that compute prompts, as it is expected, and with prompts as
    cheap, as dear as they may be.
    """

    ratios: tuple[float, float, float]
    besides: tuple[tuple[StepSample, ...], ...] = ((), (), ())


def fitted_step_times(
    engine: EngineScrapes, expected: LinearPace | None = None, budget_tokens: float | None = None
) -> FittedStepTimes | None:
    """The engine's pace as its metrics show it; None if fewer than 2 pairs of scrapes show
    steps.

    `expected`: the pace from the card's figures; only the proportions of its parts are used.
    `budget_tokens`: max_num_batched_tokens.
    """
    samples = stretches_seen(engine, budget_tokens=budget_tokens)
    if len(samples) < _FEWEST_SAMPLES:
        return None
    split = split_by_work(engine, mean_load(samples).kv_tokens, budget_tokens)
    preempted = preemptions_seen(engine) > 0
    hidden = hidden_prompts_note(expected) if preempted else ""
    prompts = hidden_prompts(expected, samples) if preempted else None
    paces = fitted(samples, expected, source_of(engine, samples), prompts, split)
    front = front_s(engine)
    pace, *others = (replace(one, front_s=front) for one in paces)
    found = FittedStepTimes(pace, tuple(others), samples, source_note(engine, samples) + hidden)
    return found if preempted else replace(found, note=found.note + prompt_share_note(found))


def source_note(engine: EngineScrapes, samples: Sequence[StepSample]) -> str:
    """Return the source of the step times, and how well they extrapolate to other loads."""
    loads = [sample.decodes for sample in samples]
    varied = (
        ""
        if max(loads) >= _VARIED * max(min(loads), 0.1)
        else ", at one load only: forecasts for another load have wide intervals"
    )
    steps = sum(sample.steps for sample in samples)
    return (
        f"a step's time is calibrated on {steps:,.0f} steps in {source_of(engine, samples)}{varied}"
    )


def prompt_share_note(found: FittedStepTimes) -> str:
    """Return how well the share of prompts in a step's time is known; empty if the paces roughly agree."""
    shares = [shares_of(pace, found.samples)[1] for pace in (found.pace, *found.others)]
    low, high = min(shares), max(shares)
    if high - low < _OPEN_RATIO:
        return ""
    return (
        f"; under this load the share of prompt tokens in a step's time is only known to be "
        f"{low:.0%} to {high:.0%}"
    )


def hidden_prompts_note(expected: LinearPace | None) -> str:
    """Return the note on prompts whose cost is hidden by preemptions."""
    if expected is not None:
        return (
            "; no counter shows what was recomputed after preemptions: the time per prompt token is "
            "taken from the card's figures"
        )
    return (
        "; no counter shows what was recomputed after preemptions, so the time per prompt token "
        "is unknown and forecasts have wide intervals "
        "(--model-config and --gpu, or an engine started with "
        "--enable-logging-iteration-details, narrow them)"
    )


def hidden_prompts(expected: LinearPace | None, samples: Sequence[StepSample]) -> Prompts:
    """Return the cost of prompts hidden by preemptions: from the card's figures, else the widest
    range ever observed.
    """
    share = shares_of(expected, samples)[1]
    return Prompts((share, _CHEAP, _DEAR) if expected is None else (share, share, share))


def source_of(engine: EngineScrapes, samples: Sequence[StepSample]) -> str:
    """Return the source of the pace for reports."""
    return f"{len(samples)} stretches between scrapes of {engine.scrapes[-1].source}"


def pace_of_log(
    log: LogDigest | None, index: str, settings: Settings, engine: EngineScrapes | None
) -> FittedStepTimes | None:
    """The pace of the engine of that index as its step lines show it; None if the log has too
    few of them.

    `settings`: the engine's own; `engine`: its scrapes, for what clients wait on the way.
    """
    if log is None or not log.steps:
        return None
    steps = log.steps.get(index) or (next(iter(log.steps.values())) if len(log.steps) == 1 else ())
    size = settings.groups[0].block_tokens
    pool_tokens = settings.usable_blocks * size
    try:
        pace = pace_of_steps(steps, pool_tokens, size, log.source)
    except InputError:
        return None
    pace = replace(pace, front_s=0.0 if engine is None else front_s(engine))
    samples = tuple(replace(sample, steps=1.0) for sample in step_samples(steps, pool_tokens, size))
    prompts_steady = _is_steady([sample.prefill_tokens for sample in samples])
    if not prompts_steady and not _is_steady([max(sample.decodes, 0.1) for sample in samples]):
        return FittedStepTimes(pace, (), samples, f"a step's time is calibrated on {pace.source}")
    usual, *ends = (
        replace(fit_towards(samples, shares, pace.source), front_s=pace.front_s)
        for shares in usual_divisions(samples)
    )
    found = FittedStepTimes(
        usual if prompts_steady else pace, tuple(ends), samples,
        f"a step's time is calibrated on {pace.source}, at one {'number of prompt tokens' if prompts_steady else 'load'} only: "
        "forecasts for another have wide intervals",
    )  # fmt: skip
    return replace(found, note=found.note + prompt_share_note(found))


def _is_steady(loads: Sequence[float]) -> bool:
    """True if hardly a stretch has half as much again as another; False for a load of
    nothing.
    """
    ordered, few = sorted(loads), len(loads) // 20
    return ordered[-1 - few] < _VARIED * ordered[few]


def pace_of_latency(seconds: float, source: str, card: LinearPace | None = None) -> FittedStepTimes:
    """A pace from nothing but a typical time between tokens: a step of that length, divided as the
    card's figures say, or wholly fixed.
    """
    if card is None:
        pace = LinearPace(seconds, error_ratio=0.3, source=source)
    else:
        pace = card if card.base_s >= seconds else replace(card, base_s=seconds)
        pace = replace(pace, error_ratio=0.3, source=source)
    return FittedStepTimes(
        pace,
        (),
        (),
        f"a step's time is taken from {source} alone: {pace.error_ratio:.0%} either way",
    )


def fitted(
    samples: Sequence[StepSample],
    expected: LinearPace | None,
    source: str,
    prompts: Prompts | None = None,
    split: Sequence[StepSample] = (),
) -> tuple[LinearPace, ...]:
    """The lines through the samples as expected, as flat and as steep as these leave room for. How
    far off each is, by the samples alone: what is besides is chosen, or from coarse buckets.
    """
    divisions = usual_divisions(samples) if prompts is None else [_EXPECTED, _FLAT, _STEEP]
    if expected is not None:
        divisions[0] = shares_of(expected, samples)
    besides: Sequence[Sequence[StepSample]] = [split] * len(divisions)
    if prompts is not None:
        divisions = [
            _with_prompts(shares, ratio)
            for shares, ratio in zip(divisions, prompts.ratios, strict=True)
        ]
        besides = tuple([*split, *one] for one in prompts.besides)
    first = fit_towards(samples, divisions[0], source, _PULL, besides[0])
    pull = _PULL * max(1.0, (_off(first, samples) / _AGREEING_RATIO) ** 2)
    # What a prompt costs is expected of none but a card or the twin: elsewhere the samples say it
    # best, for all their noise.
    known = expected is not None or (prompts is not None and bool(prompts.besides[0]))
    pulls = (pull if known else _PULL, *(_PULL if prompts is None else pull for _ in divisions[1:]))
    found = (
        fit_towards(samples, shares, source, pull, beside, prompts_pull)
        for shares, beside, prompts_pull in zip(divisions, besides, pulls, strict=True)
    )
    return tuple(
        replace(pace, error_ratio=max(_off(pace, samples), _LEAST_ERROR_RATIO)) for pace in found
    )


def usual_divisions(samples: Sequence[StepSample]) -> list[Shares]:
    """How a step of the mean load divides where nothing else is known: as is usual, as flat as any,
    as steep in requests, and in prompts.

    The more prompt tokens a step computes, the more of its time is theirs: one that is full of them
    may be hardly anything else.
    """
    tokens = mean_load(samples).prefill_tokens
    usual, least, most = (
        tokens / (tokens + base)
        for base in (_USUAL_BASE_TOKENS, _MOST_BASE_TOKENS, _LEAST_BASE_TOKENS)
    )
    found = [
        _with_prompts(_EXPECTED, max(_EXPECTED[1], usual)),
        _with_prompts(_FLAT, max(_FLAT[1], least)),
        _STEEP,
    ]
    return [*found, _with_prompts(_STEEP, most)] if most > 0.5 else found


def shares_of(pace: LinearPace | None, samples: Sequence[StepSample]) -> Shares:
    """Return the share of each part of a step at the mean load; typical values without a pace."""
    if pace is None:
        return _EXPECTED
    mean = mean_load(samples)
    parts = (
        pace.base_s, pace.prefill_token_s * mean.prefill_tokens, pace.decode_s * mean.decodes, pace.kv_token_s * mean.kv_tokens
    )  # fmt: skip
    total = sum(parts)
    if total <= 0:
        return _EXPECTED
    base, prefill, decode, kv = (part / total for part in parts)
    return base, prefill, decode, kv


def _with_prompts(shares: Shares, ratio: float) -> Shares:
    """The division with that share for prompts, the rest as it was."""
    base, prefill, decode, kv = shares
    left = (1 - ratio) / ((1 - prefill) or 1.0)
    return base * left, ratio, decode * left, kv * left


def _off(pace: LinearPace, samples: Sequence[StepSample]) -> float:
    """How far the pace is off, as one standard deviation of a sample over its duration."""
    steps = sum(sample.steps for sample in samples)
    squares = sum(
        one.steps * (pace.base_s + pace.prefill_token_s * one.prefill_tokens + pace.decode_s * one.decodes
                     + pace.kv_token_s * one.kv_tokens - one.duration_s) ** 2 / one.duration_s**2
        for one in samples
    )  # fmt: skip
    return math.sqrt(squares / steps)
