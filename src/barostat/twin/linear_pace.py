"""How long a step takes: a line in what it computes and reads, from a card's figures or fitted to
what an engine was seen to do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from barostat.core.errors import InputError
from barostat.core.units import named_numbers

_NS = 1e9
_NAMES = ("base", "prefill", "decode", "kv", "pair", "front")
_PARTS = 5
_ROUNDS = 4
_ALIKE = 1e-11  # what differs by less, relatively, is rounding


@dataclass(frozen=True, slots=True)
class LinearPace:
    """A step takes base + prefill x prompt tokens + decode x requests that decode + kv x cached
    tokens read + pair x pairs.

    A pair is one prompt token and one token up to it: what makes the end of a long prompt dearer
    than its begin. `error_ratio`: how far off a step's duration may be, as one standard deviation
    over the duration. `front_s`: what a client waits beyond the steps, on the way to the scheduler
    and back; the same for all, so that it decides nothing and only adds to latencies.
    """

    base_s: float
    prefill_token_s: float = 0.0
    decode_s: float = 0.0
    kv_token_s: float = 0.0
    error_ratio: float = 0.0
    source: str = "as given"
    pair_s: float = 0.0
    front_s: float = 0.0

    def step_ns(self, prefill_tokens: int, decodes: int, kv_tokens: int, pairs: int = 0) -> int:
        """The duration of such a step."""
        duration_s = (
            self.base_s
            + self.prefill_token_s * prefill_tokens
            + self.decode_s * decodes
            + self.kv_token_s * kv_tokens
        )
        return max(1, round((duration_s + self.pair_s * pairs) * _NS))

    def decoding(self, decodes: int) -> tuple[float, float]:
        """(seconds, seconds more for each cached token) of a step in which that many requests
        decode and nothing else is computed.

        `step_ns` of such a step is their line, rounded: for callers that take many steps of the
        same requests.
        """
        return self.base_s + self.decode_s * decodes, self.kv_token_s

    def start_ns(self, arrival_ns: int) -> int:
        """An idle engine starts at once."""
        return arrival_ns

    @property
    def empty_ns(self) -> int:
        """A step without work takes no time of its own."""
        return 0

    def scaled(self, factor: float) -> LinearPace:
        """Every step takes that many times as long: an end of the interval of a forecast."""
        return replace(
            self, base_s=self.base_s * factor, prefill_token_s=self.prefill_token_s * factor, decode_s=self.decode_s * factor,
            kv_token_s=self.kv_token_s * factor, pair_s=self.pair_s * factor, front_s=self.front_s * factor,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StepSample:
    """Observed steps: their mean load and duration. `steps`: weight."""

    prefill_tokens: float
    decodes: float
    kv_tokens: float
    duration_s: float
    steps: float = 1.0
    pairs: float = 0.0


def parse_pace(text: str) -> LinearPace:
    """The line that `base=0.01,prefill=2e-5,decode=1e-4,kv=1e-8` names; base is needed.

    Errors: InputError.
    """
    values: dict[str, float] = {}
    for part, name, value in named_numbers(text):
        if name not in _NAMES or not 0 <= value < 1e6:
            raise InputError(
                f"{part!r}: {', '.join(_NAMES)} are known, each with =SECONDS", "--latency"
            )
        if name in values:
            raise InputError(f"{name} is there twice; keep one", "--latency")
        values[name] = value
    if not values.get("base"):
        raise InputError("base=SECONDS is needed: what a step takes before any work", "--latency")
    base, prefill, decode, kv, pair, front = (values.get(name, 0.0) for name in _NAMES)
    return LinearPace(base, prefill, decode, kv, pair_s=pair, front_s=front)


def fit(samples: Sequence[StepSample], source: str) -> LinearPace:
    """The line nearest to the samples with no part below zero, in relative error, and how far off
    it is.

    Errors: InputError with fewer than 2 usable samples.
    """
    usable = [sample for sample in samples if sample.duration_s > 0 and sample.steps > 0]
    if len(usable) < 2:
        raise InputError(
            "at least two stretches with steps are needed to fit how long one takes", source
        )
    # Scaled so that each column is about 1, and weighted so that short steps count as much as long
    # ones: by what they are found to take, since by what they were seen to take, those that
    # something held up would count for less, and all would seem faster than they are.
    columns = [[1.0, s.prefill_tokens, s.decodes, s.kv_tokens, s.pairs] for s in usable]
    scales = [max(abs(row[place]) for row in columns) or 1.0 for place in range(_PARTS)]
    expected = [s.duration_s for s in usable]
    parts = [0.0] * _PARTS
    for _ in range(_ROUNDS):
        weights = [
            math.sqrt(s.steps) / duration_s for s, duration_s in zip(usable, expected, strict=True)
        ]
        rows = [
            [row[place] / scales[place] * weight for place in range(_PARTS)]
            for row, weight in zip(columns, weights, strict=True)
        ]
        targets = [s.duration_s * weight for s, weight in zip(usable, weights, strict=True)]
        parts = [
            value / scale for value, scale in zip(_non_negative(rows, targets), scales, strict=True)
        ]
        found = [
            sum(part * value for part, value in zip(parts, row, strict=True)) for row in columns
        ]
        expected = [max(new_s, s.duration_s / 10) for new_s, s in zip(found, usable, strict=True)]
    total = sum(s.steps for s in usable)
    off = sum(
        s.steps
        * (sum(part * value for part, value in zip(parts, row, strict=True)) / s.duration_s - 1)
        ** 2
        for s, row in zip(usable, columns, strict=True)
    )
    base, prefill, decode, kv, pair = parts
    return LinearPace(base, prefill, decode, kv, math.sqrt(off / total), source, pair)


def fit_towards(
    samples: Sequence[StepSample],
    shares: tuple[float, float, float, float],
    source: str,
    pull: float = 0.1,
    besides: Sequence[StepSample] = (),
    prompts_pull: float | None = None,
) -> LinearPace:
    """The line nearest to the samples that divides a step of mean load as `shares` say, as far as
    the samples do not say otherwise.

    `shares`: of the duration at the mean load, what each of the four parts has. `pull`: the weight
    of a share being wrong by 1 over the weight of one sample being wrong by all of its duration;
    `prompts_pull` that of the share of prompts, where it is another. `besides`: samples that were
    chosen for their load: the line goes by them as by the others, and neither the mean load nor the
    error of the line is theirs. What no sample has any load of costs nothing.
    Errors: InputError with fewer than 2 usable samples.
    """
    usable = [sample for sample in samples if sample.duration_s > 0 and sample.steps > 0]
    if len(usable) < 2:
        raise InputError(
            "at least two stretches with steps are needed to fit how long one takes", source
        )
    total = sum(s.steps for s in usable)
    columns = [(1.0, s.prefill_tokens, s.decodes, s.kv_tokens) for s in usable]
    weights = [s.steps / total * len(usable) for s in usable]
    means = [
        sum(w * row[place] for w, row in zip(weights, columns, strict=True)) / len(usable)
        for place in range(4)
    ]
    typical_s = sum(w * s.duration_s for w, s in zip(weights, usable, strict=True)) / len(usable)
    scales = [mean if mean > 0 else 1.0 for mean in means]
    known = [share if mean > 0 else 0.0 for share, mean in zip(shares, means, strict=True)]
    expected = [share / (sum(known) or 1.0) for share in known]
    rows, targets = [], []
    chosen = [sample for sample in besides if sample.duration_s > 0 and sample.steps > 0]
    loads = [*columns, *((1.0, s.prefill_tokens, s.decodes, s.kv_tokens) for s in chosen)]
    weighed = [*weights, *(s.steps / total * len(usable) for s in chosen)]
    for weight, row, sample in zip(weighed, loads, [*usable, *chosen], strict=True):
        root = math.sqrt(weight)
        rows.append(
            [
                root * value / scale * typical_s / sample.duration_s
                for value, scale in zip(row, scales, strict=True)
            ]
        )
        targets.append(root)
    # Prompts are pulled to their share; the rest of a step, however much it is, to the division
    # expected of it.
    strength = math.sqrt(pull)
    to_prompts = strength if prompts_pull is None else math.sqrt(prompts_pull)
    rows.append([0.0, to_prompts, 0.0, 0.0])
    targets.append(to_prompts * expected[1])
    for place in (2, 3):
        both = (expected[0] + expected[place]) or 1.0
        rows.append([-strength * expected[place] / both, 0.0, 0.0, 0.0])
        rows[-1][place] = strength * expected[0] / both
        targets.append(0.0)
    parts = [
        share * typical_s / scale
        for share, scale in zip(_non_negative(rows, targets), scales, strict=True)
    ]
    off = sum(
        weight
        * (sum(part * value for part, value in zip(parts, row, strict=True)) / s.duration_s - 1)
        ** 2
        for weight, row, s in zip(weights, columns, usable, strict=True)
    )
    base, prefill, decode, kv = parts
    return LinearPace(base, prefill, decode, kv, math.sqrt(off / len(usable)), source)


def _non_negative(rows: list[list[float]], targets: list[float]) -> list[float]:
    """Least squares with nothing below zero: the best of the exact solutions with some of the few
    unknowns at zero.
    """
    size = len(rows[0])
    gram = [[sum(row[i] * row[j] for row in rows) for j in range(size)] for i in range(size)]
    right = [
        sum(row[i] * target for row, target in zip(rows, targets, strict=True)) for i in range(size)
    ]
    found, most = [0.0] * size, 0.0
    for count in range(1, size + 1):
        for chosen in combinations(range(size), count):
            solved = _solved([[gram[i][j] for j in chosen] + [right[i]] for i in chosen])
            explained = (
                0.0
                if solved is None
                else sum(value * right[i] for i, value in zip(chosen, solved, strict=True))
            )
            if solved is not None and min(solved) >= 0 and explained > most * (1 + _ALIKE):
                most = explained
                found = [0.0] * size
                for i, value in zip(chosen, solved, strict=True):
                    found[i] = value
    return found


def _solved(system: list[list[float]]) -> list[float] | None:
    """The solution of symmetric equations, each with its right side last; None if they do not
    tell the unknowns apart.
    """
    size = len(system)
    scales = [system[i][i] for i in range(size)]
    for i in range(size):
        row = system[i]
        if row[i] <= _ALIKE * scales[i]:
            return None
        for below in system[i + 1 :]:
            share = below[i] / row[i]
            for j in range(i, size + 1):
                below[j] -= share * row[j]
    found = [0.0] * size
    for i in reversed(range(size)):
        row = system[i]
        found[i] = (row[size] - sum(row[j] * found[j] for j in range(i + 1, size))) / row[i]
    return found
