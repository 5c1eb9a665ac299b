"""Prometheus histograms: observations between two scrapes, and their quantiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Histogram:
    """Observations by bucket.

    Shapes: `bounds` ascending, the last one is +Inf; `counts` cumulative, one per bound.
    """

    bounds: tuple[float, ...]
    counts: tuple[float, ...]

    @property
    def total(self) -> float:
        """Number of observations."""
        return self.counts[-1]

    def minus(self, earlier: Histogram) -> Histogram | None:
        """Return the observations after `earlier`; None if the buckets differ or a count decreased."""
        if self.bounds != earlier.bounds:
            return None
        counts = [now - then for now, then in zip(self.counts, earlier.counts, strict=True)]
        return None if counts[-1] < 0 else Histogram(self.bounds, _ascending(counts))

    def plus(self, other: Histogram) -> Histogram | None:
        """Both together; None if the buckets differ."""
        if self.bounds != other.bounds:
            return None
        return Histogram(
            self.bounds, tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        )

    def empty(self) -> Histogram:
        """The same buckets without an observation."""
        return Histogram(self.bounds, (0.0,) * len(self.bounds))

    def up_to(self, bound: float) -> float | None:
        """Observations of at most `bound`; None if no bucket ends there."""
        for end, count in zip(self.bounds, self.counts, strict=True):
            if end == bound:
                return count
        return None


@dataclass(frozen=True, slots=True)
class Quantile:
    """An estimate from buckets. `beyond`: it lies over the last finite bound, and `value` is that
    bound.
    """

    value: float
    beyond: bool


def histogram(buckets: Iterable[tuple[Mapping[str, str], float]]) -> Histogram | None:
    """The histogram of `_bucket` samples given as (labels, value), several series added up; None
    if it is not whole.

    A half scrape may have lost the end of it: without +Inf nothing can be said. A bucket that
    several processes wrote at different instants may be smaller than the one below it: it is raised
    to that.
    """
    counts: dict[float, float] = {}
    for labels, value in buckets:
        try:
            bound = float(labels["le"])
        except (KeyError, ValueError):
            return None
        if math.isnan(bound) or not math.isfinite(value) or value < 0:
            return None
        counts[bound] = counts.get(bound, 0.0) + value
    if math.inf not in counts:
        return None
    bounds = tuple(sorted(counts))
    return Histogram(bounds, _ascending([counts[bound] for bound in bounds]))


def quantile(found: Histogram, q: float) -> Quantile | None:
    """The q-quantile (0..1), linear within its bucket as PromQL's histogram_quantile has it; None
    without observations.
    """
    total = found.total
    finite = [bound for bound in found.bounds if math.isfinite(bound)]
    if not total > 0 or not finite:
        return None
    rank = q * total
    below, start = 0.0, 0.0
    for end, count in zip(found.bounds, found.counts, strict=True):
        if count >= rank:
            if not math.isfinite(end):
                return Quantile(finite[-1], beyond=True)
            if end <= 0 or count <= below:
                return Quantile(end, beyond=False)
            return Quantile(start + (end - start) * (rank - below) / (count - below), beyond=False)
        below, start = count, end
    return Quantile(finite[-1], beyond=True)


def _ascending(counts: list[float]) -> tuple[float, ...]:
    """Return the counts with every dip raised to the previous value, and nothing below 0."""
    high = 0.0
    raised = []
    for count in counts:
        high = max(high, count)
        raised.append(high)
    return tuple(raised)
