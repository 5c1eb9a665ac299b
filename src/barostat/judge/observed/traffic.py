"""Derives the traffic of a running engine from its histograms and counters, and a similar workload.

Inputs: arrivals between scrapes (completions plus growth of the queue), the histograms of prompt
and output lengths with their sums, the prefix cache's hits, running and waiting requests.
Assumptions, which are reported: prompt and output lengths are independent, and all prefix-cache
hits are one shared prefix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from barostat.catalog import metric_names as names
from barostat.core.units import figure
from barostat.core.window import Window
from barostat.engines.vllm.metrics.gauges import queue_length
from barostat.engines.vllm.metrics.quantiles import Histogram
from barostat.engines.vllm.metrics.scrapes import EngineScrapes, HistogramStep
from barostat.judge.observed.arrivals import Stretch, arrivals_of

_FEWEST_FINISHED = 20
_FEWEST_MEANS = 4
# Lengths that are all the same keep clients in step with each other for ever, as no real ones are.
_LEAST_SPREAD = 0.3
# As log odds: so near to an end of its bucket may a mean lie.
_MOST_SHIFT = 4.0
# The mean of a density that falls straight to nothing.
_FALLING = 1 / 3


@dataclass(frozen=True, slots=True)
class ObservedLengths:
    """A length distribution: `counts` cumulative per bound as in a histogram, and the exact mean.
    Units: tokens.

    `deviation_tokens`: standard deviation, from the means between scrapes; None if unknown.
    """

    histogram: Histogram
    mean_tokens: float
    deviation_tokens: float | None = None

    @property
    def middles(self) -> tuple[float, ...]:
        """Return the mean position within each bucket, 0..1, so that the overall mean is exact.

        A bucket next to an emptier one is denser on the other side: a distribution that ends within
        the last bucket leaves it nearly empty, without compressing lower buckets.
        """
        found = buckets(self.histogram)
        leans = [math.log(middle / (1 - middle)) for middle in _leaning(found)]

        def mean(shift: float) -> float:
            placed = zip(found, leans, strict=True)
            return sum(
                count * (low + (high - low) / (1 + math.exp(-lean - shift)))
                for (low, high, count), lean in placed
            )

        below, above = -_MOST_SHIFT, _MOST_SHIFT
        for _ in range(40):
            shift = (below + above) / 2
            below, above = (
                (shift, above)
                if mean(shift) < self.mean_tokens * self.histogram.total
                else (below, shift)
            )
        return tuple(1 / (1 + math.exp(-lean - below)) for lean in leans)

    @property
    def inner_spread(self) -> float:
        """Return the used share of a bucket's width, 0..1, so that the lengths have the observed
        deviation.

        The observed deviation comes from a few means, so twice its square is allowed for.
        """
        if self.deviation_tokens is None:
            return 1.0
        total = self.histogram.total
        within = between = 0.0
        for (low, high, count), middle in zip(buckets(self.histogram), self.middles, strict=True):
            within += count * (high - low) ** 2 * variance_within(middle)
            between += count * (low + (high - low) * middle - self.mean_tokens) ** 2
        left = 2 * self.deviation_tokens**2 - between / total
        return (
            max(_LEAST_SPREAD, math.sqrt(min(1.0, max(0.0, left) * total / within)))
            if within > 0
            else 1.0
        )


_TO_THE_LIMIT = 0.98
"""Answers of so much of what their requests allow, on average, end there and hardly ever before."""


@dataclass(frozen=True, slots=True)
class ObservedTraffic:
    """Requests as the engine saw them over `span_s`.

    `rates`: (seconds, arrivals per second) between scrapes. `in_flight`: running plus waiting, at
    each scrape. `clients`: number of closed-loop clients that fits the traffic; None for open-loop
    traffic. `hit_ratio`: of prompt tokens. `came`: how this was decided, for the user.
    `to_the_limit`: answers are as long as max_tokens allows. `adapters`: LoRA adapters in use at
    once, 0 without LoRA.
    """

    span_s: float
    rates: tuple[tuple[float, float], ...]
    prompts: ObservedLengths
    outputs: ObservedLengths
    hit_ratio: float
    in_flight: tuple[float, ...]
    clients: int | None = None
    notes: tuple[str, ...] = ()
    came: str = ""
    to_the_limit: bool = False
    adapters: int = 0

    @property
    def rate_per_s(self) -> float:
        """Mean arrivals per second."""
        return (
            sum(seconds * rate for seconds, rate in self.rates) / self.span_s
            if self.span_s
            else 0.0
        )

    def times(self, factor: float) -> ObservedTraffic:
        """Scale the traffic: clients for closed-loop traffic (at least one), otherwise arrivals."""
        clients = None if self.clients is None else max(1, round(self.clients * factor))
        really = factor if self.clients is None or clients is None else clients / self.clients
        rates = tuple((seconds, rate * really) for seconds, rate in self.rates)
        return replace(
            self,
            clients=clients,
            rates=rates,
            in_flight=tuple(held * really for held in self.in_flight),
        )

    @property
    def pause_s(self) -> float:
        """Client think time between an answer and the next request, in seconds."""
        if self.clients is None or not self.in_flight or not self.rate_per_s:
            return 0.0
        return max(
            0.0, (self.clients - sum(self.in_flight) / len(self.in_flight)) / self.rate_per_s
        )

    def told(self) -> str:
        """The traffic in one sentence."""
        came = (
            f"{self.clients} clients that wait for each answer"
            if self.clients is not None
            else f"{figure(self.rate_per_s)} requests/s"
        )
        shared = (
            f", {self.hit_ratio:.0%} of the prompt tokens shared" if self.hit_ratio >= 0.005 else ""
        )
        return (
            f"traffic seen over {self.span_s:.0f} s: {came}, prompts of "
            f"{self.prompts.mean_tokens:,.0f} tokens on average, "
            f"outputs of {self.outputs.mean_tokens:,.0f}{shared}"
        )


@dataclass(frozen=True, slots=True)
class NotObserved:
    """The input that is missing for a workload, in one sentence with the flag that supplies it."""

    why: str


def observed_traffic(window: Window, engine: EngineScrapes | None) -> ObservedTraffic | NotObserved:
    """The traffic of the engine within the window."""
    flag = "say --workload SPEC or --trace FILE"
    if engine is None:
        return NotObserved(
            f"the engine's metrics were not seen, so that its traffic is not known: {flag}"
        )
    arrivals = window.signals.get("arrivals_per_s")
    if arrivals is None:
        return NotObserved(
            "arrivals are seen between two scrapes, and there is one: look longer (--for "
            f"1m), or {flag}"
        )
    notes: list[str] = []
    prompts, outputs = (
        _lengths(engine, family, what, notes)
        for family, what in ((names.PROMPT_LENGTH, "prompts"), (names.OUTPUT_LENGTH, "outputs"))
    )
    if prompts is None or outputs is None:
        return NotObserved(
            "no request has finished yet, so that lengths of prompts and outputs are not "
            f"known: {flag}"
        )
    ends = [point.at for point in arrivals.points]
    starts = [
        max((scrape.at for scrape in engine.scrapes if scrape.at < end), default=end)
        for end in ends
    ]
    rates = tuple(
        (end - start, point.value)
        for start, end, point in zip(starts, ends, arrivals.points, strict=True)
        if end > start
    )
    span_s = sum(seconds for seconds, _ in rates)
    if not any(rate > 0 for _, rate in rates):
        return NotObserved(
            f"no request arrived within {span_s:.0f} s: look when there is load, or {flag}"
        )
    hits = window.signals.get("prefix_hit_ratio")
    hit_ratio = min(0.99, max(0.0, hits.last)) if hits is not None else 0.0
    if hit_ratio >= 0.005:
        notes.append(
            f"the {hit_ratio:.0%} of prompt tokens that the prefix cache spared are taken "
            "as one beginning that prompts share"
        )
    waiting = dict(queue_length(engine))
    held = {
        at: running + waiting[at] for at, running in engine.gauge(names.RUNNING) if at in waiting
    }
    found = arrivals_of([
        Stretch(point.value * (end - start), held[start], held[end], waiting[end])
        for start, end, point in zip(starts, ends, arrivals.points, strict=True)
        if end > start and start in held and end in held
    ])  # fmt: skip
    limits = _lengths(engine, names.MAX_TOKENS, "limits", [])
    to_the_limit = limits is not None and limits.mean_tokens <= outputs.mean_tokens / _TO_THE_LIMIT
    in_flight = tuple(held.values())
    return ObservedTraffic(
        span_s,
        rates,
        prompts,
        outputs,
        hit_ratio,
        in_flight,
        found.clients,
        tuple(notes),
        found.told,
        to_the_limit,
        _adapters(window),
    )


def _adapters(window: Window) -> int:
    """Return the largest number of adapters that ran or waited at once."""
    running, waiting = (
        window.signals.get(name) for name in ("running_adapters", "waiting_adapters")
    )
    if running is None or waiting is None or window.config.number("max_loras") is None:
        return 0
    return round(running.high + waiting.high)


def buckets(histogram: Histogram) -> list[tuple[float, float, float]]:
    """Return (low, high, observations) of every non-empty bucket; the last, infinite one is assumed
    to end at twice its lower bound.
    """
    found, start, below = [], 0.0, 0.0
    for end, count in zip(histogram.bounds, histogram.counts, strict=True):
        high = end if math.isfinite(end) else 2 * start
        if count > below:
            found.append((start, high, count - below))
        start, below = high, count
    return found


def place_within(middle: float, even: float) -> float:
    """A place in a bucket, 0..1, whose mean is `middle`, of a number even in 0..1: density runs
    straight from edge to edge.

    Where that cannot have such a mean, it falls to nothing within the bucket already.
    """
    if middle > 0.5:
        return 1 - place_within(1 - middle, even)
    if middle < _FALLING:
        return 3 * middle * (1 - math.sqrt(1 - even))
    slope = 6 * middle - 3
    return (
        even
        if abs(slope) < 1e-6
        else (math.sqrt((1 - slope) ** 2 + 4 * slope * even) - 1 + slope) / (2 * slope)
    )


def variance_within(middle: float) -> float:
    """The variance of `place_within`."""
    low = min(middle, 1 - middle)
    return low * low / 2 if low < _FALLING else 1 / 12 - (2 * low - 1) ** 2 / 4


def _leaning(found: Sequence[tuple[float, float, float]]) -> list[float]:
    """Where in each bucket its mean lies, 0..1, if density runs straight from edge to edge and at
    an edge is between that of both sides.
    """
    dense = [count / (high - low) for low, high, count in found]
    edges = [0.0] * (len(found) + 1)
    for at in range(1, len(found)):
        if found[at - 1][1] == found[at][0]:
            edges[at] = math.sqrt(dense[at - 1] * dense[at])
    return [
        (left + 2 * right) / (3 * (left + right)) if left + right else 0.5
        for left, right in pairwise(edges)
    ]


def bucket_of(histogram: Histogram, q: float) -> tuple[float, float] | None:
    """Return the bounds of the bucket with that quantile, which is all that a histogram shows. None
    without observations.
    """
    wanted, seen = q * histogram.total, 0.0
    for low, high, count in buckets(histogram):
        seen += count
        if seen >= wanted:
            return low, high
    return None


def _lengths(
    engine: EngineScrapes, family: tuple[str, ...], what: str, notes: list[str]
) -> ObservedLengths | None:
    """Return the lengths within the window if enough requests finished, else since the engine's
    start.
    """
    observed = engine.observed(family)
    if observed is not None and observed.total >= _FEWEST_FINISHED:
        steps = [
            step for step in engine.histogram_steps(family, family[0]) if step.observations > 0
        ]
        mean = sum(step.total for step in steps) / observed.total
        return ObservedLengths(observed, max(1.0, mean), _deviation(steps))
    last = engine.scrapes[-1].exposition
    whole = engine.histogram(last, family)
    if whole is None or whole.total <= 0:
        return None
    few = 0 if observed is None else observed.total
    notes.append(
        f"only {few:.0f} requests finished while looking: lengths of {what} are those "
        "since the engine's start"
    )
    sums = [
        sample.value
        for name in family
        for sample in last.named(f"{name}_sum")
        if sample.labels.get("engine", "") == engine.engine
    ]
    return ObservedLengths(whole, max(1.0, sum(sums) / whole.total))


def _deviation(steps: Sequence[HistogramStep]) -> float | None:
    """Estimate the standard deviation of single lengths from that of means: each squared deviation
    times its sample size.
    """
    count, total = sum(step.observations for step in steps), sum(step.total for step in steps)
    if len(steps) < _FEWEST_MEANS:
        return None
    mean = total / count
    squares = sum(
        step.observations * (step.total / step.observations - mean) ** 2 for step in steps
    )
    return math.sqrt(squares / (len(steps) - 1))
