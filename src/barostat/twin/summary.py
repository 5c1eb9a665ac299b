"""A run in the numbers that people compare: goodput, latencies, cache use over time, preemptions, rejections."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

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
    """A stretch of the run: use of the KV cache (mean and highest ratio), requests running and waiting (mean), all weighted by time."""

    at_s: float
    usage_mean_ratio: float
    usage_max_ratio: float
    running: float
    waiting: float


@dataclass(frozen=True, slots=True)
class Slo:
    """What a request has to keep to count as good: time to the first token, and its mean time between tokens. None: not asked."""

    ttft_s: float | None = None
    itl_s: float | None = None


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


def spread(weighted: Iterable[tuple[float, int]]) -> Spread:
    """The distribution of values with their counts. A quantile q is the smallest value that at least q of them do not exceed."""
    ordered = sorted(weighted)
    total = sum(count for _, count in ordered)
    if not total:
        return Spread(0)
    wanted = [max(1, math.ceil(q * total)) for q in (0.5, 0.9, 0.95, 0.99)]
    found: list[float] = []
    seen = 0
    for value, count in ordered:
        seen += count
        while len(found) < len(wanted) and seen >= wanted[len(found)]:
            found.append(value)
    mean = sum(value * count for value, count in ordered) / total
    p50, p90, p95, p99 = found
    return Spread(total, mean, p50, p90, p95, p99, ordered[-1][0])


def summarise(outcome: Outcome, usable_blocks: int, slo: Slo | None = None, front_s: float = 0.0) -> Summary:
    """The run in numbers. `front_s`: what clients wait beyond the steps; it is in the time to the first token and to the last."""
    asked = slo or Slo()
    front_ns = round(front_s * NS)
    done = [life for life in outcome.lives if life.finished_ns is not None]
    start_ns = min((life.arrival_ns for life in outcome.lives), default=0)
    duration_s = max(outcome.end_ns - start_ns, 0) / NS
    good = sum(_is_good(life, asked, front_ns) for life in done)
    produced = sum(life.output_tokens for life in outcome.lives)
    bins = _bins(outcome, usable_blocks)
    mean, highest = _usage(outcome, usable_blocks)
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
            ((life.first_token_ns - life.arrival_ns + front_ns) / NS, 1) for life in outcome.lives if life.first_token_ns is not None
        ),
        itl=spread((gap / NS, count) for gap, count in outcome.gaps.items()),
        e2e=spread(((life.finished_ns - life.arrival_ns + front_ns) / NS, 1) for life in done if life.finished_ns is not None),
        queue=spread(((life.admitted_ns - life.arrival_ns) / NS, 1) for life in outcome.lives if life.admitted_ns is not None),
        usage_mean_ratio=mean,
        usage_max_ratio=highest,
        bins=bins,
        hit_ratio=outcome.cached_tokens / outcome.looked_up_tokens if outcome.looked_up_tokens else 0.0,
    )


def _rate(count: int, duration_s: float) -> float:
    return count / duration_s if duration_s > 0 else 0.0


def _is_good(life: Life, slo: Slo, front_ns: int) -> bool:
    if life.first_token_ns is None or life.finished_ns is None:
        return False
    if slo.ttft_s is not None and (life.first_token_ns - life.arrival_ns + front_ns) / NS > slo.ttft_s:
        return False
    if slo.itl_s is None or life.output_tokens < 2:
        return True
    return (life.finished_ns - life.first_token_ns) / (life.output_tokens - 1) / NS <= slo.itl_s


def _spans(outcome: Outcome) -> Iterable[tuple[int, int, int, int, int]]:
    """(start, end, free blocks, running, waiting): an idle engine between two steps counts as what the step before it left."""
    for index, (start, free, running, waiting) in enumerate(outcome.load):
        end = outcome.load[index + 1][0] if index + 1 < len(outcome.load) else outcome.end_ns
        yield start, end, free, running, waiting


def _usage(outcome: Outcome, usable_blocks: int) -> tuple[float, float]:
    held = total = most = 0
    for start, end, free, _, _ in _spans(outcome):
        held += (end - start) * (usable_blocks - free)
        total += end - start
        most = max(most, usable_blocks - free)
    return (held / total / usable_blocks if total else 0.0), most / usable_blocks


def _bins(outcome: Outcome, usable_blocks: int) -> tuple[Bin, ...]:
    if not outcome.load:
        return ()
    first = outcome.load[0][0]
    width = max(1, -(-(outcome.end_ns - first) // _BINS))
    sums: dict[int, list[int]] = {}
    for start, end, free, running, waiting in _spans(outcome):
        held = usable_blocks - free
        at = start
        while at < end or at == start:
            index = (at - first) // width
            until = min(end, first + (index + 1) * width)
            entry = sums.setdefault(index, [0, 0, 0, 0, 0])
            length = until - at
            entry[0] += length
            entry[1] += length * held
            entry[2] = max(entry[2], held)
            entry[3] += length * running
            entry[4] += length * waiting
            if until <= at:
                break
            at = until
    return tuple(
        Bin((first + index * width) / NS, held / length / usable_blocks, most / usable_blocks, running / length, waiting / length)
        for index, (length, held, most, running, waiting) in sorted(sums.items())
        if length
    )
