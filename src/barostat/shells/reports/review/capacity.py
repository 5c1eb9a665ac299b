"""The capacity review: what the fleet has, what traffic asks, what it cost, when it will not fit,
what to change, how many cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from barostat.core.diagnosis import ReplicaReport, Severity
from barostat.core.signal import Point
from barostat.core.units import many
from barostat.judge.advice.change_text import as_written
from barostat.judge.history.growth import CannotTell, Growth
from barostat.judge.history.review import HEADROOM_RATIO, Review, Shape
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.review.words import lasting, measured, part, when
from barostat.shells.reports.sheet.blocks import (
    Block,
    Charts,
    Document,
    Facts,
    Footer,
    Heading,
    Tiles,
    Verdict,
)
from barostat.shells.reports.sheet.charts import Chart, Line, Span
from barostat.shells.reports.sheet.scale import percent, plain

_SHAPES = (
    ("prompt_tokens", "Prompt, tokens", "tokens"), ("output_tokens", "Output, tokens", "tokens"), ("ttft_s", "Time to first token", "s"),
    ("itl_s", "Between tokens", "s"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fleet:
    """Facts about the engines. None: not in Prometheus. `worst`: the diagnosis at the worst
    instant.
    """

    pool_tokens: float | None = None
    cards_per_replica: float | None = None
    versions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    worst: ReplicaReport | None = None
    worst_at: float | None = None
    ranks: int = 1
    """Data-parallel ranks in one pod, each of which is counted as a replica: it has a pool of its
    own.
    """


def capacity_document(found: Review, fleet: Fleet, target: str) -> Document:
    """Return the report."""
    kept = found.kept
    severity, badge, headline, sentence = _verdict(found)
    days = lasting(kept.end - kept.start)
    about = f"{when(kept.start)} to {when(kept.end)} ({days}), a point every {lasting(kept.step_s)}"
    span = Span(kept.start, kept.end, zero_s=kept.start)
    blocks: list[Block] = [
        Heading("capacity review", f"Capacity of {target}", about),
        Verdict(severity, badge, headline, sentence),
        Tiles(_tiles(found)),
        Facts(_has(found, fleet)),
        part(
            "What traffic asks",
            _asks(found),
            charts=Charts(_traffic(found), span),
            rows=_shapes(found),
        ),
        part("When in the day", _busiest(found), charts=Charts(_day(found), Span(0, 86_400.0))),
        part("Pressure and harm", _harm(found), charts=Charts(_pressure(found), span)),
        part("When it will not fit", _growth(found), charts=Charts(_peaks(found), span)),
        part(
            "What to change",
            _change(fleet),
            steps=fleet.worst.next if fleet.worst is not None else (),
        ),
        part("What it costs", _cards(fleet), rows=_cost(found, fleet)),
        part("Notes", listed=kept.problems),
        Footer("the same as data: barostat report -o json"),
    ]
    return Document(f"Barostat: Capacity of {target}", blocks)


def _verdict(found: Review) -> tuple[Severity, str, str, str]:
    need, reach = found.need, found.reach
    if need is None:
        return (
            "info",
            "CANNOT TELL",
            "how full the pools were was not kept",
            "The series that show it are not there, or were aggregated.",
        )
    hurt = (found.harm.hours_preempting or 0) + (found.harm.hours_waiting or 0) > 0
    peak = (
        (
            f"The highest demand was {found.peak.value:.2f} pools "
            f"({when(found.peak.at)}{_varied(found)})"
        )
        if found.peak is not None
        else ""
    )
    if need.now > need.have:
        cost = f"; {_harm(found)}" if hurt else ""
        return (
            "critical",
            "DOES NOT FIT",
            f"{many(need.have, 'replica')} for a peak that needs {need.now}",
            f"{peak}{cost}",
        )
    if reach is not None and not reach.already and reach.soonest_days is not None:
        return (
            "warning",
            "WILL NOT FIT",
            f"full in {_days(reach.expected_days, reach.soonest_days, reach.latest_days)}",
            f"{peak}.",
        )
    if isinstance(found.growth, CannotTell):
        return (
            "none",
            "FITS",
            f"{many(need.have, 'replica')}, the peak needs {need.now}",
            f"{peak}. Growth: {found.growth.why}.",
        )
    horizon = found.reach.horizon_days if found.reach is not None else 0
    return (
        "none",
        "FITS",
        f"{many(need.have, 'replica')}, the peak needs {need.now}",
        f"{peak}. Not full within {horizon} days more.",
    )


def _have(found: Review) -> int:
    """The replicas by which the fleet is judged."""
    return found.need.have if found.need is not None else found.replicas[2]


def _varied(found: Review) -> str:
    """How many replicas there were, where that was not always the same."""
    fewest, most, now = found.replicas
    return (
        ""
        if fewest == most
        else (
            f"; {fewest} to {many(most, 'replica')} in that time, judged by {_have(found)}, "
            f"{now} at the end"
        )
    )


def _days(expected: float | None, soonest: float, latest: float | None) -> str:
    first = f"about {expected:.0f} days" if expected is not None else "more days than were seen"
    return (
        f"{first} ({soonest:.0f} at the soonest, "
        f"{f'{latest:.0f} at the latest' if latest is not None else 'perhaps never'})"
    )


def _tiles(found: Review) -> list[tuple[str, str, str]]:
    fewest, most, now = found.replicas
    tiles = [("Replicas", str(now), f"{fewest} to {most} in that time" if fewest != most else "")]
    if found.peak is not None and (have := _have(found)):
        tiles.append(("Peak demand", f"{found.peak.value / have:.0%}", f"of {many(have, 'pool')}"))
    if found.requests_per_s is not None:
        mean, high = found.requests_per_s
        tiles.append(
            ("Requests/s", plain(high), f"busiest step; {plain(round(mean, 3))} on average")
        )
    if found.harm.preemptions is not None:
        tiles.append(
            (
                "Preemptions",
                plain(round(found.harm.preemptions)),
                _per_thousand(found.harm.per_thousand),
            )
        )
    return tiles


def _per_thousand(value: float | None) -> str:
    return "" if value is None else f"{value:.3g} per 1,000 requests"


def _has(found: Review, fleet: Fleet) -> list[tuple[str, str]]:
    known = []
    if fleet.models:
        known.append(("Serves", ", ".join(fleet.models)))
    known.append(
        (
            "Engine",
            f"vLLM {', '.join(fleet.versions)}"
            if fleet.versions
            else "vLLM; its version is not told by its metrics",
        )
    )
    if fleet.ranks > 1:
        known.append(
            (
                "Ranks",
                (
                    "each data-parallel rank is counted as a replica, as it has a pool of its "
                    f"own: {fleet.ranks} to a pod"
                ),
            )
        )
    if fleet.pool_tokens is not None:
        known.append(
            (
                "Pool",
                (
                    f"{fleet.pool_tokens:,.0f} tokens in each replica, "
                    f"{fleet.pool_tokens * found.replicas[2]:,.0f} in all"
                ),
            )
        )
    if fleet.cards_per_replica:
        known.append(
            (
                "Cards",
                (
                    f"{fleet.cards_per_replica:g} for each replica, "
                    f"{fleet.cards_per_replica * found.replicas[2]:g} in all"
                ),
            )
        )
    return known


def _asks(found: Review) -> str:
    if found.requests_per_s is None:
        return "How many requests finished was not kept."
    mean, high = found.requests_per_s
    return (
        f"{plain(round(mean, 3))} requests per second on average, {plain(round(high, 3))} in "
        "the busiest step."
    )


def _shapes(found: Review) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "median", "95th percentile", "99th percentile")]
    for name, title, unit in _SHAPES:
        if (shape := found.shapes.get(name)) is not None:
            last = measured(shape.p99, unit)
            rows.append(
                (
                    title,
                    measured(shape.p50, unit),
                    measured(shape.p95, unit),
                    f"over {last}" if shape.beyond else last,
                )
            )
    return rows


MOST_DRAWN = 700
"""A chart leaves points out beyond these; which of them stays is decided here, so that no peak is
lost.
"""


def _line(points: Sequence[Point], name: str = "", kind: str = "") -> Line:
    together = -(-len(points) // MOST_DRAWN) or 1
    highest = [
        max(points[place : place + together], key=lambda point: point.value)
        for place in range(0, len(points), together)
    ]
    return Line([(point.at, point.value) for point in highest], name, kind)


def _traffic(found: Review) -> list[Chart]:
    kept = found.kept
    return [
        Chart("Requests finished per second", (_line(kept.line("requests_per_s")),), plain),
        Chart(
            "Tokens per second",
            (
                _line(kept.line("prompt_tokens_per_s"), "prompt"),
                _line(kept.line("output_tokens_per_s"), "output", "second"),
            ),
            plain,
        ),
    ]


def _busiest(found: Review) -> str:
    """The three hours that usually bring most."""
    top = sorted(found.by_hour, key=lambda one: -one.usual)[:3]
    named = ", ".join(
        f"{one.hour:02}:00 ({plain(round(one.usual, 3))}, {plain(round(one.most, 3))} at most)"
        for one in top
    )
    return (
        (
            "Requests finished per second by hour of the day (UTC): the usual day and the "
            f"busiest. Most come at {named}."
        )
        if top
        else ""
    )


def _day(found: Review) -> list[Chart]:
    usual = Line([(3600.0 * (one.hour + 0.5), one.usual) for one in found.by_hour], "usual")
    most = Line(
        [(3600.0 * (one.hour + 0.5), one.most) for one in found.by_hour], "busiest", "second"
    )
    return (
        [Chart("Requests finished per second", (usual, most), plain)]
        if len(found.by_hour) > 1
        else []
    )


def _harm(found: Review) -> str:
    harm = found.harm
    if harm.preemptions is None and harm.hours_waiting is None:
        return "Whether anybody was harmed was not kept."
    parts = []
    if harm.preemptions is not None:
        per = f" ({_per_thousand(harm.per_thousand)})" if harm.per_thousand else ""
        parts.append(
            f"{harm.preemptions:,.0f} preemptions{per}, in "
            f"{harm.hours_preempting or 0:.3g} of {harm.hours:,.0f} hours"
        )
    if harm.hours_waiting is not None:
        parts.append(f"somebody waited in {harm.hours_waiting:.3g} of {harm.hours:,.0f} hours")
    return "; ".join(parts) + "."


def _pressure(found: Review) -> list[Chart]:
    kept = found.kept
    usage = (
        _line(kept.line("kv_mean_ratio"), "mean"),
        _line(kept.line("kv_high_ratio"), "highest", "second"),
    )
    return [
        Chart("KV usage", usage, percent, 1.0, note="high alone is no harm"),
        Chart("Preemptions per step", (_line(kept.line("preemptions")),), plain, counts=True),
        Chart(
            "Requests",
            (
                _line(kept.line("running"), "running"),
                _line(kept.line("waiting"), "waiting", "second"),
            ),
            plain,
        ),
    ]


def _growth(found: Review) -> str:
    match found.growth:
        case CannotTell(why):
            return f"Cannot tell: {why}."
        case Growth() as grown:
            each = (
                f"{grown.per_day:+.3g} pools per day ({grown.low:+.3g} to {grown.high:+.3g}, "
                f"90 % interval, {grown.days} days)"
            )
            reach = found.reach
            if reach is None:
                return f"The daily peak moves by {each}."
            limit = f"{1 - HEADROOM_RATIO:.0%} of {many(_have(found), 'pool')}"
            if reach.already:
                return (
                    f"It does not fit now: the last week's highest peak is {grown.level:.2f} "
                    f"pools, over {limit}. It moves by {each}."
                )
            if reach.soonest_days is None:
                return (
                    f"Not within the next {reach.horizon_days} days, and further a trend of "
                    f"{grown.days} days does not reach: {each}."
                )
            sure = "" if grown.certain else " That it grows at all is not certain."
            return (
                f"{limit} is reached in "
                f"{_days(reach.expected_days, reach.soonest_days, reach.latest_days)}: "
                f"{each}.{sure}"
            )


def _peaks(found: Review) -> list[Chart]:
    have = _have(found)
    limits = ((have * (1 - HEADROOM_RATIO), f"{have} replicas, headroom kept"),) if have else ()
    return [
        Chart(
            "Demand, in pools",
            (_line(found.kept.line("demand_pools")),),
            plain,
            limits=limits,
            note="running, and waiting as if it ran",
        )
    ]


def _change(fleet: Fleet) -> str:
    if fleet.worst is None or fleet.worst_at is None:
        return "Nothing hurt in that time: no change is called for by what was seen."
    diagnosis = fleet.worst.diagnosis
    return (
        f"The worst instant, {when(fleet.worst_at)} on {fleet.worst.name}, was "
        f"{diagnosis.cause}: {diagnosis.summary}"
    )


def _cards(fleet: Fleet) -> str:
    return (
        ""
        if fleet.cards_per_replica
        else (
            "Cards per replica are not told by what Prometheus keeps: --cards-per-replica N "
            "says them."
        )
    )


def _cost(found: Review, fleet: Fleet) -> list[tuple[str, ...]]:
    need = found.need
    if need is None:
        return []
    cards = fleet.cards_per_replica
    rows: list[tuple[str, ...]] = [("", "replicas", "cards", "beside what is there")]

    def row(title: str, replicas: int) -> tuple[str, ...]:
        more = replicas - need.have
        return (
            title,
            str(replicas),
            "-" if cards is None else f"{replicas * cards:g}",
            f"{more:+d}" if more else "as many",
        )

    rows += [
        row("there now" if need.have == found.replicas[2] else "there at the peak", need.have),
        row(f"for the peak seen, {HEADROOM_RATIO:.0%} kept free", need.now),
    ]
    if need.later is not None:
        low, high = need.later
        rows += [row("as long again from now, at least", low)] + (
            [row("as long again from now, at most", high)] if high != low else []
        )
    return rows


def capacity_json(found: Review, fleet: Fleet, target: str) -> dict[str, Any]:
    """`kind: CapacityReview` as plain data, keys in reading order."""
    need, reach, harm = found.need, found.reach, found.harm
    severity, badge, headline, sentence = _verdict(found)
    return {
        "apiVersion": API_VERSION,
        "kind": "CapacityReview",
        "target": target,
        "from": found.kept.start,
        "to": found.kept.end,
        "stepSeconds": found.kept.step_s,
        "verdict": {
            "severity": severity,
            "word": badge,
            "headline": headline,
            "sentence": sentence,
        },
        "fleet": {
            "replicas": dict(zip(("fewest", "most", "now"), found.replicas, strict=True)),
            "poolTokens": fleet.pool_tokens,
            "cardsPerReplica": fleet.cards_per_replica,
            "engineVersions": list(fleet.versions),
            "models": list(fleet.models),
        },
        "traffic": {
            "requestsPerSecond": None
            if found.requests_per_s is None
            else dict(zip(("mean", "high"), found.requests_per_s, strict=True)),
            "shapes": {_camel(name): _shape(shape) for name, shape in found.shapes.items()},
            "byHour": [
                {"hourUtc": one.hour, "usual": one.usual, "most": one.most} for one in found.by_hour
            ],
        },
        "harm": {
            "preemptions": harm.preemptions,
            "preemptionsPerThousandRequests": harm.per_thousand,
            "hoursPreempting": harm.hours_preempting,
            "hoursWaiting": harm.hours_waiting,
            "hours": harm.hours,
            "worstAt": fleet.worst_at,
            "worst": None
            if fleet.worst is None
            else {"cause": fleet.worst.diagnosis.cause, "summary": fleet.worst.diagnosis.summary},
        },
        "demandPools": {
            "peak": None
            if found.peak is None
            else {"at": found.peak.at, "pools": found.peak.value},
            "dailyPeaks": [{"day": point.at, "pools": point.value} for point in found.peaks],
        },
        "growth": _growth_json(found.growth),
        "reach": None
        if reach is None
        else {
            "already": reach.already,
            "horizonDays": reach.horizon_days,
            "expectedDays": reach.expected_days,
            "soonestDays": reach.soonest_days,
            "latestDays": reach.latest_days,
        },
        "need": None
        if need is None
        else {
            "have": need.have,
            "now": need.now,
            "laterLow": need.later and need.later[0],
            "laterHigh": need.later and need.later[1],
        },
        "next": [
            {
                "lever": one.lever,
                "change": str(as_written(one.change)),
                "because": str(one.because),
                "restarts": one.restarts,
            }
            for one in (fleet.worst.next if fleet.worst is not None else ())
        ],
        "problems": list(found.kept.problems),
    }


def _growth_json(found: Growth | CannotTell) -> dict[str, Any]:
    if isinstance(found, CannotTell):
        return {
            "cannotTell": found.why,
            "poolsPerDay": None,
            "low": None,
            "high": None,
            "days": None,
        }
    return {
        "cannotTell": None,
        "poolsPerDay": found.per_day,
        "low": found.low,
        "high": found.high,
        "days": found.days,
    }


def _shape(shape: Shape) -> dict[str, Any]:
    return {
        "p50": shape.p50,
        "p95": shape.p95,
        "p99": shape.p99,
        "p99BeyondLastBucket": shape.beyond,
    }


def _camel(name: str) -> str:
    return {
        "prompt_tokens": "promptTokens",
        "output_tokens": "outputTokens",
        "ttft_s": "ttftSeconds",
        "itl_s": "itlSeconds",
    }.get(name, name)
