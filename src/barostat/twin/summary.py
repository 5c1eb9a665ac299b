"""A run in the numbers that people compare: goodput, latencies, cache use over time, preemptions,
rejections.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, chain, islice
from operator import mul

from barostat.twin.intake import NS
from barostat.twin.outcome import Life, Outcome

_BINS = 60


@dataclass(frozen=True, slots=True)
class Spread:
    """How a quantity is distributed. `count` 0: nothing was measured, and every value is None."""

    count: int
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    highest: float | None = None


@dataclass(frozen=True, slots=True)
class Bin:
    """A stretch of the run: use of the KV cache (mean and highest ratio), requests running and
    waiting (mean), all weighted by time.
    """

    at_s: float
    usage_mean_ratio: float
    usage_max_ratio: float
    running: float
    waiting: float


@dataclass(frozen=True, slots=True)
class Slo:
    """Bounds for a good request: time to first token and mean time between tokens, in seconds.
    None: no bound.

    `refused_ratio`: largest share of requests that may be refused.
    """

    ttft_s: float | None = None
    itl_s: float | None = None
    refused_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """One run. Rates are over `duration_s`, from the first arrival to the end of the last step."""

    duration_s: float
    requests: int
    finished: int
    rejected: int
    good: int
    output_tokens: int
    good_per_s: float
    requests_per_s: float
    output_tokens_per_s: float
    ttft: Spread
    itl: Spread
    e2e: Spread
    queue: Spread
    usage_mean_ratio: float
    usage_max_ratio: float
    bins: tuple[Bin, ...]
    hit_ratio: float


def spread_of_counted(counted: Mapping[int, int]) -> Spread:
    """The distribution, in seconds, of durations in ns with how often each was. Quantiles as in
    `spread`.
    """
    ordered = sorted(counted)
    if not ordered:
        return Spread(0)
    values, counts = (
        [duration / NS for duration in ordered],
        [counted[duration] for duration in ordered],
    )
    seen = list(accumulate(counts))
    p50, p90, p95, p99 = (values[bisect_left(seen, place)] for place in _places(seen[-1]))
    return Spread(
        seen[-1], sum(map(mul, values, counts)) / seen[-1], p50, p90, p95, p99, values[-1]
    )


def spread(values: Iterable[float]) -> Spread:
    """The distribution of the values. A quantile q is the smallest value that at least q of them do
    not exceed.
    """
    ordered = sorted(values)
    if not ordered:
        return Spread(0)
    p50, p90, p95, p99 = (ordered[place - 1] for place in _places(len(ordered)))
    return Spread(len(ordered), sum(ordered) / len(ordered), p50, p90, p95, p99, ordered[-1])


def _places(total: int) -> list[int]:
    """Ranks (from 1) of the 50th, 90th, 95th and 99th percentile among `count` sorted values."""
    return [max(1, math.ceil(q * total)) for q in (0.5, 0.9, 0.95, 0.99)]


def summarise(
    outcome: Outcome, usable_blocks: int, slo: Slo | None = None, front_s: float = 0.0
) -> Summary:
    """The run in numbers. `front_s`: what clients wait beyond the steps; it is in the time to the
    first token and to the last.
    """
    asked = slo or Slo()
    front_ns = round(front_s * NS)
    done = [life for life in outcome.lives if life.finished_ns is not None]
    start_ns = min((life.arrival_ns for life in outcome.lives), default=0)
    duration_s = max(outcome.end_ns - start_ns, 0) / NS
    good = sum(_is_good(life, asked, front_ns) for life in done)
    produced = sum(life.output_tokens for life in outcome.lives)
    summed = _summed(outcome, usable_blocks)
    observed_ns, held = sum(one.length_ns for one in summed), sum(one.held for one in summed)
    return Summary(
        duration_s=duration_s,
        requests=len(outcome.lives) + len(outcome.rejections),
        finished=len(done),
        rejected=len(outcome.rejections),
        good=good,
        output_tokens=produced,
        good_per_s=_rate(good, duration_s),
        requests_per_s=_rate(len(done), duration_s),
        output_tokens_per_s=_rate(produced, duration_s),
        ttft=spread(
            [
                (life.first_token_ns - life.arrival_ns + front_ns) / NS
                for life in outcome.lives
                if life.first_token_ns is not None
            ]
        ),
        itl=spread_of_counted(outcome.gaps),
        e2e=spread(
            [
                (life.finished_ns - life.arrival_ns + front_ns) / NS
                for life in done
                if life.finished_ns is not None
            ]
        ),
        queue=spread(
            [
                (life.admitted_ns - life.arrival_ns) / NS
                for life in outcome.lives
                if life.admitted_ns is not None
            ]
        ),
        usage_mean_ratio=held / observed_ns / usable_blocks if observed_ns else 0.0,
        usage_max_ratio=max((one.most for one in summed), default=0) / usable_blocks,
        bins=tuple(one.bin(usable_blocks) for one in summed if one.length_ns),
        hit_ratio=outcome.cached_tokens / outcome.looked_up_tokens
        if outcome.looked_up_tokens
        else 0.0,
    )


def together(one: Summary, engines: float) -> Summary:
    """Rates of several engines that share a load; latencies, use and counts stay those of one."""
    return replace(
        one,
        good_per_s=one.good_per_s * engines,
        requests_per_s=one.requests_per_s * engines,
        output_tokens_per_s=one.output_tokens_per_s * engines,
    )


def _rate(count: int, duration_s: float) -> float:
    return count / duration_s if duration_s > 0 else 0.0


def _is_good(life: Life, slo: Slo, front_ns: int) -> bool:
    if life.first_token_ns is None or life.finished_ns is None:
        return False
    if (
        slo.ttft_s is not None
        and (life.first_token_ns - life.arrival_ns + front_ns) / NS > slo.ttft_s
    ):
        return False
    if slo.itl_s is None or life.output_tokens < 2:
        return True
    return (life.finished_ns - life.first_token_ns) / (life.output_tokens - 1) / NS <= slo.itl_s


@dataclass(slots=True)
class _Summed:
    """A stretch of the run. `held`, `running`, `waiting`: blocks and requests times ns."""

    at_ns: int
    length_ns: int = 0
    held: int = 0
    most: int = 0
    running: int = 0
    waiting: int = 0

    def add(self, length_ns: int, held: int, running: int, waiting: int) -> None:
        """So long it was like this."""
        self.length_ns += length_ns
        self.held += length_ns * held
        self.running += length_ns * running
        self.waiting += length_ns * waiting
        if held > self.most:
            self.most = held

    def bin(self, usable_blocks: int) -> Bin:
        """Return the means over the bin."""
        length = self.length_ns
        return Bin(
            self.at_ns / NS,
            self.held / length / usable_blocks,
            self.most / usable_blocks,
            self.running / length,
            self.waiting / length,
        )


def _summed(outcome: Outcome, usable_blocks: int) -> list[_Summed]:
    """The run in stretches of one length. An idle engine between two steps counts as what the step
    before it left.
    """
    load = outcome.load
    if not load:
        return []
    first = load[0][0]
    width = max(1, -(-(outcome.end_ns - first) // _BINS))
    found = [_Summed(first)]
    ends = chain((entry[0] for entry in islice(load, 1, None)), (outcome.end_ns,))
    for (start, free, running, waiting), end in zip(load, ends, strict=True):
        held, edge = usable_blocks - free, found[-1].at_ns + width
        while start >= edge or end > edge:
            if start < edge:
                found[-1].add(edge - start, held, running, waiting)
                start = edge
            found.append(_Summed(edge))
            edge += width
        found[-1].add(end - start, held, running, waiting)
    return found
