"""Calibrates step times from the log of an engine that logs every step.

A step's duration is the difference between the timestamps of consecutive lines in a busy period.
The seconds inside a line are not used: their meaning differs by executor and version, and they
exclude the time between steps. Timestamps in whole seconds are sufficient (the steps between two
ticks took that many seconds), milliseconds are far more precise: `kubectl logs --timestamps` adds
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from barostat.core.errors import InputError
from barostat.engines.vllm.logs.lines import LoggedStep
from barostat.twin.linear_pace import LinearPace, StepSample, fit

_FEWEST_STEPS = 50
# A sample spans at least this much, so that the lateness of single lines, and the coarseness of the
# clock, count for little.
_SHARP_SPAN_S = 0.2
_COARSE_SPAN_S = 1.0
_COARSE_STEPS = 20

Part = tuple[float, Sequence[int]]
"""Seconds that passed, and the places of the steps that took them."""


def pace_of_steps(
    steps: Sequence[LoggedStep], pool_tokens: int, block_tokens: int, source: str
) -> LinearPace:
    """Fit the pace of an engine with this pool from the per-step lines of its log.

    Errors: InputError if there are too few, or none of them in a busy stretch.
    """
    if len(steps) < _FEWEST_STEPS:
        raise InputError(
            f"the log shows {len(steps)} steps, {_FEWEST_STEPS} are needed: the engine "
            "prints them with --enable-logging-iteration-details",
            source,
        )
    samples = step_samples(steps, pool_tokens, block_tokens)
    # Every stretch counts as much as another, not every step: prompts are computed in few and long
    # ones.
    found = fit([replace(sample, steps=1.0) for sample in samples], source)
    return replace(
        found, source=f"{sum(sample.steps for sample in samples):,.0f} steps in {source}"
    )


def step_samples(
    steps: Sequence[LoggedStep], pool_tokens: int, block_tokens: int
) -> list[StepSample]:
    """Return the durations of stretches of busy steps, with their mean load."""
    samples = []
    pairs = _pairs(steps)
    for wall_s, places in _parts(steps):
        count = len(places)
        prefill = sum(_prefill(steps[place]) for place in places) / count
        decodes = sum(steps[place].generation_requests for place in places) / count
        cached = sum(_cached(steps, place, pool_tokens, block_tokens) for place in places) / count
        samples.append(
            StepSample(
                prefill,
                decodes,
                cached,
                wall_s / count,
                count,
                sum(pairs[place] for place in places) / count,
            )
        )
    return samples


def _pairs(steps: Sequence[LoggedStep]) -> list[float]:
    """Pairs of a prompt token and one up to it in each step, as far as lines of sums tell: the
    step's prompts are taken to be of one length. A step that uses up the budget leaves its last
    prompt to be gone on with in the next one.
    """
    budget = max(step.context_tokens + step.generation_tokens for step in steps)
    found = []
    behind = 0.0
    for step in steps:
        again = max(0, step.generation_tokens - step.generation_requests)
        each = step.context_tokens / max(1, step.context_requests)
        goes_on = min(each, step.context_tokens) * behind if step.context_requests else 0.0
        found.append(goes_on + step.context_tokens * (each + 1) / 2 + again * (again + 1) / 2)
        cut = step.context_requests > 0 and step.context_tokens + step.generation_tokens == budget
        behind = (each + behind if step.context_requests == 1 else each / 2) if cut else 0.0
    return found


def _prefill(step: LoggedStep) -> int:
    """Prompt tokens, and what resumed requests compute again: they count as generating, with more
    tokens than one each.
    """
    return step.context_tokens + max(0, step.generation_tokens - step.generation_requests)


def _cached(steps: Sequence[LoggedStep], place: int, pool_tokens: int, block_tokens: int) -> float:
    """Cached tokens that the step reads: those of the blocks held, less half a block for each
    request.

    Usage is told once the output is taken in: what ended in this step holds nothing any more, but
    still did the step before.
    """
    step = steps[place]
    held = (
        max(near.usage_ratio or 0.0 for near in steps[max(0, place - 1) : place + 1]) * pool_tokens
    )
    requests = step.context_requests + step.generation_requests
    return max(float(requests), held - requests * block_tokens / 2)


def _parts(steps: Sequence[LoggedStep]) -> list[Part]:
    """Busy stretches cut into parts. A step that leaves blocks in use is followed by the next one
    at once; where lines are missing (a log that was kept in two parts), nothing is known of what
    passed.
    """
    found: list[Part] = []
    begin = 0
    sharp = any(step.at % 1 for step in steps)
    for place, step in enumerate(steps):
        if not step.usage_ratio or place == len(steps) - 1 or _gap(step, steps[place + 1]):
            found += (_sharp if sharp else _coarse)(steps, begin, place)
            begin = place + 1
    return found


def _gap(step: LoggedStep, after: LoggedStep) -> bool:
    return step.number is not None and after.number is not None and after.number != step.number + 1


def _sharp(steps: Sequence[LoggedStep], first: int, last: int) -> list[Part]:
    """A step took from the stamp of the one before it to its own."""
    found: list[Part] = []
    begin = first
    for place in range(first + 1, last + 1):
        wall_s = steps[place].at - steps[begin].at
        if wall_s >= _SHARP_SPAN_S:
            found.append((wall_s, range(begin + 1, place + 1)))
            begin = place
    return found


def _coarse(steps: Sequence[LoggedStep], first: int, last: int) -> list[Part]:
    """Between two ticks of the clock lie the steps that were stamped in between, give or take
    one.
    """
    ticks = [
        later
        for earlier, later in pairwise(range(first, last + 1))
        if steps[later].at > steps[earlier].at
    ]
    found: list[Part] = []
    begin = 0
    for end in range(1, len(ticks)):
        wall_s = steps[ticks[end]].at - steps[ticks[begin]].at
        if wall_s >= _COARSE_SPAN_S and ticks[end] - ticks[begin] >= _COARSE_STEPS:
            found.append((wall_s, range(ticks[begin], ticks[end])))
            begin = end
    return found
