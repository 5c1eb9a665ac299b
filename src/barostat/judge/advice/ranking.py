"""The one order of next steps, which `diagnose` shows and `mitigate` follows.

1. the 99th percentile of the time to first token, of all requests that came: rejected ones
   never get one. Steps within a quarter of each other, or below what counts as prompt, rank
   equal here: no step that leaves 20 s ranks above one that gives 7.5 s
2. the SLO, where one is set: met, perhaps met, missed
3. benefit minus price (step_score.py)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from barostat.core.diagnosis import Expected, SloOutlook
from barostat.judge.advice.step_score import ENDED_RATIO, MOST_REFUSED_RATIO

PROMPT_S = 1.0
"""Without an SLO: a first token within a second is prompt."""
EQUAL_RATIO = 1.25
_SLO_ORDER: tuple[SloOutlook | None, ...] = (None, "meets", "may-miss", "misses")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ranked(Generic[T]):
    """Something to rank by its forecast. `value`: benefit minus price; `preempted_ratio`:
    preemptions for each request that finishes.
    """

    item: T
    expected: Expected
    value: float
    slo: SloOutlook | None = None
    preempted_ratio: float = 0.0


def in_order(entries: Sequence[Ranked[T]], prompt_s: float | None = None) -> list[T]:
    """The items, best first; equal ones in their given order. `prompt_s`: the SLO's time to first
    token.
    """
    least_s = PROMPT_S if prompt_s is None else prompt_s
    waits = {id(entry): max(least_s, wait_s(entry.expected)) for entry in entries}
    by_wait = sorted(entries, key=lambda entry: waits[id(entry)])
    ordered: list[T] = []
    while by_wait:
        shortest = waits[id(by_wait[0])]
        equal = [entry for entry in by_wait if waits[id(entry)] <= EQUAL_RATIO * shortest]
        by_wait = by_wait[len(equal) :]
        equal.sort(key=entries.index)
        equal.sort(key=lambda entry: (_SLO_ORDER.index(entry.slo), -entry.value))
        ordered += [entry.item for entry in equal]
    return ordered


def best_value(entries: Sequence[Ranked[T]], today: Expected, prompt_s: float | None = None) -> T:
    """The first of the values of one lever. A value that leaves more preemptions than count as
    none, which may be diagnosed again, ranks behind those that help without them and without
    clearly longer waits than today.
    """
    longest_s = EQUAL_RATIO * wait_s(today)
    calm = [
        entry
        for entry in entries
        if entry.preempted_ratio <= ENDED_RATIO
        and entry.value > 0
        and wait_s(entry.expected) <= longest_s
    ]
    return in_order(calm or entries, prompt_s)[0]


def wait_s(expected: Expected) -> float:
    """The 99th percentile of the time to first token of all requests that came; infinite where more
    than one in a hundred was rejected or nothing ended.
    """
    if expected.refused_ratio > MOST_REFUSED_RATIO or expected.ttft_p99_s is None:
        return math.inf
    return expected.ttft_p99_s
