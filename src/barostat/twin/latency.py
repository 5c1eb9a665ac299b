"""How long a step takes: a line in what it computes and reads, from a card's figures or fitted to what an engine was seen to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from barostat.core.errors import InputError

_NS = 1e9
_NAMES = ("base", "prefill", "decode", "kv")


@dataclass(frozen=True, slots=True)
class LinearPace:
    """A step takes base + prefill x prompt tokens + decode x requests that decode + kv x cached tokens read.

    `error_ratio`: how far off a step's duration may be, as one standard deviation over the duration.
    """

    base_s: float
    prefill_token_s: float = 0.0
    decode_s: float = 0.0
    kv_token_s: float = 0.0
    error_ratio: float = 0.0
    source: str = "as given"

    def step_ns(self, prefill_tokens: int, decodes: int, kv_tokens: int) -> int:
        """The duration of such a step."""
        duration_s = self.base_s + self.prefill_token_s * prefill_tokens + self.decode_s * decodes + self.kv_token_s * kv_tokens
        return max(1, round(duration_s * _NS))

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
            kv_token_s=self.kv_token_s * factor,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StepSample:
    """What steps were seen to do: their mean load and how long one took; `steps` weighs it."""

    prefill_tokens: float
    decodes: float
    kv_tokens: float
    duration_s: float
    steps: float = 1.0


def parse_pace(text: str) -> LinearPace:
    """The line that `base=0.01,prefill=2e-5,decode=1e-4,kv=1e-8` names; base is needed.

    Errors: InputError.
    """
    values = dict.fromkeys(_NAMES, 0.0)
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if name not in values or not 0 <= value < 1e6:
            raise InputError(f"{part!r}: {', '.join(_NAMES)} are known, each with =SECONDS", "--latency")
        values[name] = value
    if not values["base"]:
        raise InputError("base=SECONDS is needed: what a step takes before any work", "--latency")
    return LinearPace(values["base"], values["prefill"], values["decode"], values["kv"])


def fit(samples: Sequence[StepSample], source: str) -> LinearPace:
    """The line nearest to the samples with no part below zero, in relative error, and how far off it is.

    Errors: InputError with fewer than 2 usable samples.
    """
    usable = [sample for sample in samples if sample.duration_s > 0 and sample.steps > 0]
    if len(usable) < 2:
        raise InputError("at least two stretches with steps are needed to fit how long one takes", source)
    # Scaled so that each column is about 1, and weighted so that short steps count as much as long ones.
    columns = [[1.0, s.prefill_tokens, s.decodes, s.kv_tokens] for s in usable]
    scales = [max(abs(row[place]) for row in columns) or 1.0 for place in range(4)]
    weights = [math.sqrt(s.steps) / s.duration_s for s in usable]
    rows = [[row[place] / scales[place] * weight for place in range(4)] for row, weight in zip(columns, weights, strict=True)]
    targets = [s.duration_s * weight for s, weight in zip(usable, weights, strict=True)]
    parts = [value / scale for value, scale in zip(_non_negative(rows, targets), scales, strict=True)]
    total = sum(s.steps for s in usable)
    off = sum(
        s.steps * (sum(part * value for part, value in zip(parts, row, strict=True)) / s.duration_s - 1) ** 2
        for s, row in zip(usable, columns, strict=True)
    )
    base, prefill, decode, kv = parts
    return LinearPace(base, prefill, decode, kv, math.sqrt(off / total), source)


def _non_negative(rows: list[list[float]], targets: list[float]) -> list[float]:
    """Least squares with nothing below zero, by coordinate descent on the normal equations: four unknowns, convex."""
    size = len(rows[0])
    gram = [[sum(row[i] * row[j] for row in rows) for j in range(size)] for i in range(size)]
    right = [sum(row[i] * target for row, target in zip(rows, targets, strict=True)) for i in range(size)]
    found = [0.0] * size
    for _ in range(20_000):
        moved = 0.0
        for i in range(size):
            if gram[i][i] <= 0:
                continue
            step = max(0.0, found[i] + (right[i] - sum(gram[i][j] * found[j] for j in range(size))) / gram[i][i])
            moved = max(moved, abs(step - found[i]))
            found[i] = step
        if moved < 1e-13:
            break
    return found
