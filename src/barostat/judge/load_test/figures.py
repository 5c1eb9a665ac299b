"""The results of a load test, and whether the sender kept its schedule.

Units: seconds since the run began; tokens. Latencies count from the instant at which a request was
due, so they include the sender's own delay, which is also reported separately.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from barostat.core.units import figure
from barostat.twin.intake import NS
from barostat.twin.summary import Slo, Spread, spread, spread_of_counted

Fate = Literal["ok", "refused", "error", "cut"]
REFUSING = frozenset({400, 413, 422, 429, 503})
"""The server said no on purpose; any other status that is no 200 is an error."""
_STEPS_PER_E = 200.0
"""Gaps are kept as their logarithm in these steps: half a percent of resolution, whatever the
number of tokens.
"""
_SHORTEST_S = 1e-6
_BINS = 60
_SETTLED_S = 2.0
LATE_S, LATE_RATIO, LAG_S, BUSY_RATIO = 0.010, 0.05, 0.050, 0.9
"""The sender keeps up while its p99 delay is below this bound, or negligible relative to the median
TTFT; while its event loop is on time; and while its core is not saturated.
"""


@dataclass(slots=True)
class Sent:
    """One request. Mutable until it has ended. `produced` tokens came in `events`; `counted_input`:
    prompt tokens as the engine counts.
    """

    due_s: float
    sent_s: float
    input_tokens: int
    output_tokens: int
    first_s: float | None = None
    last_s: float = 0.0
    ended_s: float | None = None
    produced: int = 0
    events: int = 0
    counted_input: int | None = None
    status: int = 0
    fate: Fate = "cut"
    reason: str = ""


class Gaps:
    """How often each time between two events of a stream was. Mutable."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def add(self, gap_s: float) -> None:
        """Count a gap between two events, in seconds."""
        step = int(math.log(gap_s if gap_s > _SHORTEST_S else _SHORTEST_S) * _STEPS_PER_E)
        self.counts[step] = self.counts.get(step, 0) + 1

    def spread(self) -> Spread:
        """Return the distribution of the gaps, in seconds."""
        return spread_of_counted(
            {
                round(math.exp(step / _STEPS_PER_E) * NS): count
                for step, count in self.counts.items()
            }
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """The engine's metrics at an instant. `preemptions`: since it started."""

    at_s: float
    usage_ratio: float
    running: int
    waiting: int
    preemptions: int


@dataclass(slots=True)
class Collected:
    """The raw results of one run. Mutable while it runs. `lags_s`: delays of the event loop;
    `cpu_s`: CPU time of the sender.
    """

    sent: list[Sent] = field(default_factory=list)
    gaps: Gaps = field(default_factory=Gaps)
    lags_s: list[float] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    duration_s: float = 0.0
    cpu_s: float = 0.0
    peak: int = 0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Keeping:
    """Whether the sender kept its schedule. `trouble`: why its figures are not the engine's alone,
    empty if they are; `overloaded`: not even the load was what was meant.
    """

    late: Spread
    late_ratio: float
    lag_p99_s: float | None
    cpu_ratio: float
    trouble: str
    overloaded: bool = False


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the run: requests sent and answered per second, under way at its end, and the time
    to first tokens in it.
    """

    at_s: float
    sent_per_s: float
    done_per_s: float
    under_way: int
    ttft_p99_s: float | None


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """The engine's own metrics during the run."""

    usage_mean_ratio: float
    usage_max_ratio: float
    running_max: int
    waiting_max: int
    preemptions: int


@dataclass(frozen=True, slots=True)
class Figures:
    """One run. Rates are over `duration_s`; `good`: kept the service level; `tpot`: a request's
    mean time per token after its first.

    `input_off_ratio`: prompt tokens as the engine counted them over those that were asked for, less
    1.
    """

    duration_s: float
    sent: int
    ok: int
    refused: int
    errors: int
    cut: int
    reasons: Mapping[str, int]
    good: int
    sent_per_s: float
    ok_per_s: float
    good_per_s: float
    input_tokens_per_s: float
    output_tokens_per_s: float
    ttft: Spread
    itl: Spread
    tpot: Spread
    e2e: Spread
    peak: int
    tokens_per_event: float | None
    input_off_ratio: float | None
    keeping: Keeping
    engine: EngineFigures | None
    stretches: tuple[Stretch, ...]
    readings: tuple[Reading, ...]
    interrupted: bool


def figures(run: Collected, slo: Slo | None = None) -> Figures:
    """The run in numbers."""
    asked = slo or Slo()
    done = [one for one in run.sent if one.fate == "ok"]
    fates = Counter(one.fate for one in run.sent)
    good = sum(_is_good(one, asked) for one in done)
    produced, events = sum(one.produced for one in run.sent), sum(one.events for one in run.sent)
    counted = [one for one in done if one.counted_input]
    over_s = max(run.duration_s, 1e-9)
    return Figures(
        duration_s=run.duration_s,
        sent=len(run.sent),
        ok=len(done),
        refused=fates["refused"],
        errors=fates["error"],
        cut=fates["cut"],
        reasons=dict(
            Counter(
                one.reason for one in run.sent if one.fate in ("refused", "error")
            ).most_common()
        ),
        good=good,
        sent_per_s=len(run.sent) / over_s,
        ok_per_s=len(done) / over_s,
        good_per_s=good / over_s,
        input_tokens_per_s=sum(one.counted_input or one.input_tokens for one in done) / over_s,
        output_tokens_per_s=produced / over_s,
        ttft=spread(one.first_s - one.due_s for one in run.sent if one.first_s is not None),
        itl=run.gaps.spread(),
        tpot=spread(_tpot_s(one) for one in done if one.produced > 1 and one.first_s is not None),
        e2e=spread(one.ended_s - one.due_s for one in done if one.ended_s is not None),
        peak=run.peak,
        tokens_per_event=produced / events if events else None,
        input_off_ratio=sum(one.counted_input or 0 for one in counted)
        / sum(one.input_tokens for one in counted)
        - 1
        if counted
        else None,
        keeping=keeping(run),
        engine=_engine(run.readings),
        stretches=tuple(_stretches(run)),
        readings=tuple(run.readings),
        interrupted=run.interrupted,
    )


def keeping(run: Collected) -> Keeping:
    """Whether the sender kept up."""
    late = [max(0.0, one.sent_s - one.due_s) for one in run.sent]
    waited = spread(one.first_s - one.due_s for one in run.sent if one.first_s is not None).p50
    bound_s = max(LATE_S, LATE_RATIO * (waited or 0.0))
    told, ratio = spread(late), sum(one > bound_s for one in late) / len(late) if late else 0.0
    lag = spread(run.lags_s).p99
    cpu = run.cpu_s / run.duration_s if run.duration_s > 0 else 0.0
    lagged = lag is not None and lag > LAG_S
    busy = cpu > BUSY_RATIO and run.duration_s > _SETTLED_S
    trouble = ""
    if (told.p99 or 0.0) > bound_s:
        trouble = (
            f"{ratio:.1%} of the requests were sent more than {figure(bound_s * 1000)} ms late "
            f"(p99 {figure((told.p99 or 0) * 1000)} ms)"
        )
    elif lagged:
        trouble = (
            f"the event loop was {(lag or 0) * 1000:.0f} ms late at p99, and so are the times "
            "that it took"
        )
    elif busy:
        trouble = f"the sender took {cpu:.0%} of its one core"
    return Keeping(told, ratio, lag, cpu, trouble, lagged or busy)


def _tpot_s(one: Sent) -> float:
    return (one.last_s - (one.first_s or 0.0)) / (one.produced - 1)


def _is_good(one: Sent, slo: Slo) -> bool:
    if one.first_s is None or (slo.ttft_s is not None and one.first_s - one.due_s > slo.ttft_s):
        return False
    return slo.itl_s is None or one.produced < 2 or _tpot_s(one) <= slo.itl_s


def _engine(readings: Sequence[Reading]) -> EngineFigures | None:
    if not readings:
        return None
    usages = [one.usage_ratio for one in readings]
    return EngineFigures(
        sum(usages) / len(usages),
        max(usages),
        max(one.running for one in readings),
        max(one.waiting for one in readings),
        max(0, readings[-1].preemptions - readings[0].preemptions),
    )


def _stretches(run: Collected) -> Iterator[Stretch]:
    if not run.sent or run.duration_s <= 0:
        return
    width_s = run.duration_s / _BINS
    begun, ended, firsts = Counter[int](), Counter[int](), dict[int, list[float]]()
    for one in run.sent:
        begun[_bin(one.sent_s, width_s)] += 1
        if one.first_s is not None:
            firsts.setdefault(_bin(one.first_s, width_s), []).append(one.first_s - one.due_s)
        if one.ended_s is not None:
            ended[_bin(one.ended_s, width_s)] += 1
    under_way = 0
    for place in range(_BINS):
        under_way += begun[place] - ended[place]
        waited = spread(firsts.get(place, ())).p99
        yield Stretch(
            (place + 0.5) * width_s,
            begun[place] / width_s,
            ended[place] / width_s,
            under_way,
            waited,
        )


def _bin(at_s: float, width_s: float) -> int:
    return min(_BINS - 1, max(0, int(at_s / width_s)))
