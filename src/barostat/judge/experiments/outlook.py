"""Summarizes a stretch of a simulated run, with the uncertainty over several runs."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from barostat.twin.intake import NS
from barostat.twin.outcome import Life, Outcome
from barostat.twin.summary import Slo, spread, spread_of_counted

_PER_SECOND = (
    "good_per_s",
    "requests_per_s",
    "output_tokens_per_s",
    "preempted_per_s",
    "recomputed_per_s",
)


@dataclass(frozen=True, slots=True)
class Outlook:
    """A stretch of a run in the numbers that decide. None: nothing of the kind happened in it.

    Rates per second of the stretch; `preempted_ratio`: preemptions per finished request;
    `refused_ratio`: of those that came; `tokens_per_step` over the whole run.
    """

    good_per_s: float
    requests_per_s: float
    output_tokens_per_s: float
    ttft_p50_s: float | None
    ttft_p99_s: float | None
    itl_p50_s: float | None
    itl_p99_s: float | None
    e2e_p50_s: float | None
    kv_usage_ratio: float
    running: float
    waiting: float
    preempted_ratio: float
    preempted_per_s: float
    recomputed_per_s: float
    refused_ratio: float
    tokens_per_step: float = 0.0
    stuck: str = ""
    ttft_mean_s: float | None = None
    itl_mean_s: float | None = None


def outlook(
    outcome: Outcome,
    usable_blocks: int,
    slo: Slo,
    from_s: float,
    until_s: float,
    front_s: float = 0.0,
    *,
    of_arrivals: bool = False,
) -> Outlook:
    """The stretch between two instants of the run. A request belongs to it if it ends or is refused
    in it, as engines count.

    `of_arrivals`: it belongs to it if it came in it, whenever it ends. `front_s`: what clients wait
    beyond the steps. Times between tokens are those of the whole run. A run that is stuck has no
    good requests from then on.
    """
    start, end, front_ns = round(from_s * NS), round(until_s * NS), round(front_s * NS)
    if of_arrivals:
        ended = [
            life
            for life in outcome.lives
            if life.finished_ns is not None and start <= life.arrival_ns <= end
        ]
    else:
        ended = [
            life
            for life in outcome.lives
            if life.finished_ns is not None and start < life.finished_ns <= end
        ]
    refused = sum(start <= round(one.at_s * NS) <= end for one in outcome.rejections)
    let_in = sum(start <= life.arrival_ns <= end for life in outcome.lives) if refused else 0
    length_s = max(until_s - from_s, 1e-9)
    held = running = waiting = 0.0
    # the step under way as the stretch begins, to the last that begins within it
    first_step, behind = (
        max(0, bisect_right(outcome.load, start, key=_begin) - 1),
        bisect_left(outcome.load, end, key=_begin),
    )
    ends = [*map(_begin, outcome.load[first_step + 1 : behind + 1]), outcome.end_ns]
    for (at, free, runs, waits), following in zip(
        outcome.load[first_step:behind], ends, strict=False
    ):
        overlap = (following if following < end else end) - (at if at > start else start)
        if overlap > 0:
            held += overlap * (usable_blocks - free)
            running += overlap * runs
            waiting += overlap * waits
    whole_ns = max(1, end - start)
    first = spread(_since_arrival(life, life.first_token_ns, front_ns) for life in ended)
    last = spread(_since_arrival(life, life.finished_ns, front_ns) for life in ended)
    gaps = spread_of_counted(outcome.gaps)
    return Outlook(
        good_per_s=sum(_is_good(life, slo, front_ns) for life in ended) / length_s,
        requests_per_s=len(ended) / length_s,
        output_tokens_per_s=sum(life.output_tokens for life in ended) / length_s,
        ttft_p50_s=first.p50,
        ttft_p99_s=first.p99,
        itl_p50_s=gaps.p50,
        itl_p99_s=gaps.p99,
        e2e_p50_s=last.p50,
        kv_usage_ratio=held / whole_ns / usable_blocks,
        running=running / whole_ns,
        waiting=waiting / whole_ns,
        preempted_ratio=sum(life.preemptions for life in ended) / len(ended) if ended else 0.0,
        preempted_per_s=sum(life.preemptions for life in ended) / length_s,
        recomputed_per_s=sum(life.recomputed_tokens for life in ended) / length_s,
        refused_ratio=refused / (refused + let_in) if refused else 0.0,
        tokens_per_step=outcome.scheduled_tokens / outcome.steps if outcome.steps else 0.0,
        stuck=outcome.stuck,
        ttft_mean_s=first.mean,
        itl_mean_s=gaps.mean,
    )


def _begin(step: tuple[int, int, int, int]) -> int:
    return step[0]


def of_several(one: Outlook, engines: float) -> Outlook:
    """Return the total of that many engines sharing a load; latencies, usage and queue stay those
    of one.
    """
    if engines == 1.0:
        return one
    return replace(one, **{name: getattr(one, name) * engines for name in _PER_SECOND})


@dataclass(frozen=True, slots=True)
class Range:
    """A number with what it may be: the central runs' mean, the lowest and the highest of all
    runs.
    """

    mean: float
    low: float
    high: float


def over(
    runs: Sequence[Outlook], central: int, of: Callable[[Outlook], float | None]
) -> Range | None:
    """Return the figure's range over the runs, of which the first `central` are the expected case;
    None if too few runs have it.
    """
    middle = [value for value in map(of, runs[:central]) if value is not None]
    found = [value for value in map(of, runs) if value is not None]
    if not middle:
        return None
    return Range(sum(middle) / len(middle), min(found), max(found))


def difference(ones: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """Mean of the pairwise differences (other less one) of runs of the same seeds, and their
    standard error: infinite of one pair.
    """
    pairs = [other - one for one, other in zip(ones, others, strict=True)]
    mean = sum(pairs) / len(pairs)
    if len(pairs) < 2:
        return mean, math.inf
    variance = sum((pair - mean) ** 2 for pair in pairs) / (len(pairs) - 1)
    return mean, float((variance / len(pairs)) ** 0.5)


def _since_arrival(life: Life, at_ns: int | None, front_ns: int) -> float:
    return ((at_ns or 0) - life.arrival_ns + front_ns) / NS


def _is_good(life: Life, slo: Slo, front_ns: int) -> bool:
    if life.first_token_ns is None or life.finished_ns is None:
        return False
    if slo.ttft_s is not None and _since_arrival(life, life.first_token_ns, front_ns) > slo.ttft_s:
        return False
    if slo.itl_s is None or life.output_tokens < 2:
        return True
    return (life.finished_ns - life.first_token_ns) / (life.output_tokens - 1) / NS <= slo.itl_s
