"""What is drawn of a run over time: latency and preemptions by when requests came, the pool, those
that run and those that wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from barostat.core.units import many
from barostat.shells.reports.sheet.blocks import Block, Charts, Paragraph
from barostat.shells.reports.sheet.charts import Chart, Line, Span
from barostat.shells.reports.sheet.scale import duration, percent, plain
from barostat.twin.intake import NS
from barostat.twin.outcome import Life, Outcome
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo, Summary

Points = list[tuple[float, float]]
Run = tuple[str, Settings, Outcome, Summary]
"""A candidate: its name, its settings, what came of it."""
_KINDS = ("dashed", "second", "third", "pale", "second dashed", "third dashed")
_STRETCHES = 40
_CAME = "by arrival time"


def one_over_time(settings: Settings, outcome: Outcome, summary: Summary, slo: Slo) -> list[Block]:
    """The drawings of one run; what the service level asks for is drawn across."""
    bins = summary.bins
    if not bins:
        return []
    usage = (
        Line([(one.at_s, one.usage_max_ratio) for one in bins], "highest", "pale"),
        Line([(one.at_s, one.usage_mean_ratio) for one in bins], "mean"),
    )
    seats = ((float(settings.running_limit), f"limit {settings.running_limit:,}"),)
    preempted = Line(by_arrival(outcome.lives, _preemptions, sum))
    drawn = (
        Chart(
            "First token",
            _latency(outcome, first_token_s),
            duration,
            limits=_asked(slo.ttft_s),
            note=_CAME,
        ),
        Chart(
            "Between tokens",
            _latency(outcome, between_tokens_s),
            duration,
            limits=_asked(slo.itl_s),
            note=f"mean, {_CAME}",
        ),
        Chart("Preemptions", (preempted,), plain, note=_CAME, counts=True),
        Chart(
            "KV usage", usage, percent, top=1.0, note=f"of {many(settings.usable_blocks, 'block')}"
        ),
        Chart(
            "Running",
            (Line([(one.at_s, one.running) for one in bins]),),
            plain,
            limits=seats,
            counts=True,
        ),
        Chart("Waiting", (Line([(one.at_s, one.waiting) for one in bins]),), plain, counts=True),
    )
    return [Charts(drawn, Span(bins[0].at_s, max(bins[-1].at_s, bins[0].at_s + 1e-9)))]


def runs_over_time(shown: Sequence[Run], slo: Slo) -> list[Block]:
    """The drawings of the first candidates in each other's colours, as far as lines can be told
    apart.
    """
    several = [run for run in shown if run[3].bins][: len(_KINDS)]
    if not several:
        return []

    def lines(points: Callable[[Run], Points]) -> tuple[Line, ...]:
        return tuple(
            Line(points(run), run[0], kind) for run, kind in zip(several, _KINDS, strict=False)
        )

    def binned(field: str) -> tuple[Line, ...]:
        return lines(lambda run: [(one.at_s, getattr(one, field)) for one in run[3].bins])

    drawn = (
        Chart("Slowest first token", lines(lambda run: by_arrival(run[2].lives, first_token_s, max)), duration, limits=_asked(slo.ttft_s)),
        Chart(
            "Slowest mean between tokens", lines(lambda run: by_arrival(run[2].lives, between_tokens_s, max)), duration,
            limits=_asked(slo.itl_s),
        ),
        Chart("Preemptions", lines(lambda run: by_arrival(run[2].lives, _preemptions, sum)), plain, counts=True),
        Chart("KV usage", binned("usage_mean_ratio"), percent, top=1.0),
        Chart("Running", binned("running"), plain, counts=True),
        Chart("Waiting", binned("waiting"), plain, counts=True),
    )  # fmt: skip
    begin, end = (
        min(run[3].bins[0].at_s for run in several),
        max(run[3].bins[-1].at_s for run in several),
    )
    return [
        Paragraph(f"Latencies and preemptions {_CAME}.", "soft"),
        Charts(drawn, Span(begin, end + 1e-9)),
    ]


def by_arrival(
    lives: Sequence[Life],
    of: Callable[[Life], float | None],
    told: Callable[[Sequence[float]], float],
) -> Points:
    """One point for each stretch of the time in which requests came: what is told of those that
    came in it.

    Shapes: (middle of the stretch in seconds, value), ascending; no point where nothing was
    measured.
    """
    if not lives:
        return []
    first = min(life.arrival_ns for life in lives)
    width = max(1, math.ceil((max(life.arrival_ns for life in lives) - first + 1) / _STRETCHES))
    found: dict[int, list[float]] = {}
    for life in lives:
        if (value := of(life)) is not None:
            found.setdefault((life.arrival_ns - first) // width, []).append(value)
    return [((first + (place + 0.5) * width) / NS, told(found[place])) for place in sorted(found)]


def first_token_s(life: Life) -> float | None:
    """The wait for the first token, without what clients wait beyond the steps; None if none
    came.
    """
    return None if life.first_token_ns is None else (life.first_token_ns - life.arrival_ns) / NS


def between_tokens_s(life: Life) -> float | None:
    """The mean time between the tokens of a request that finished; None for one of a single
    token.
    """
    if life.finished_ns is None or life.first_token_ns is None or life.output_tokens < 2:
        return None
    return (life.finished_ns - life.first_token_ns) / (life.output_tokens - 1) / NS


def _preemptions(life: Life) -> float:
    return float(life.preemptions)


def _latency(outcome: Outcome, of: Callable[[Life], float | None]) -> tuple[Line, ...]:
    return (
        Line(by_arrival(outcome.lives, of, max), "slowest", "pale"),
        Line(by_arrival(outcome.lives, of, _median), "median"),
    )


def _median(values: Sequence[float]) -> float:
    return sorted(values)[(len(values) - 1) // 2]


def _asked(limit_s: float | None) -> tuple[tuple[float, str], ...]:
    return () if limit_s is None else ((limit_s, f"SLO {duration(limit_s)}"),)
