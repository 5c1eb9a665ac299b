"""Where engines are lost, as a document and as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barostat.core.limits import API_VERSION
from barostat.core.units import figure
from barostat.judge.experiments.breaking_point import WITHIN_RATIO, BreakingPoint, Gap
from barostat.shells.reports.sheet.blocks import Document, Paragraph, Table
from barostat.shells.reports.simulation.closing import level
from barostat.twin.summary import Slo


def breaking_document(found: Sequence[BreakingPoint], slo: Slo) -> Document:
    """A row for each, and what was asked of them."""
    asked = (
        f"99 of 100 requests have {level(slo)}, and it keeps up"
        if level(slo)
        else "it keeps up (no SLO was stated: --slo-ttft, --slo-itl)"
    )
    rows = [("", "holds up to", "requests/s", "may be")]
    rows += [(one.name, _load(one.expected.holds_at), _rate(one), _span(one)) for one in found]
    given = (
        f"Holds: {asked}. Load 1 is what was given, {figure(found[0].rate_per_s, 4)} requests/s; "
        f"bisected to {WITHIN_RATIO:.0%}."
    )
    first = Paragraph(_sentence(found[0])) if len(found) == 1 else Table(rows)
    return Document("Until it breaks", (first, Paragraph(given)))


def _sentence(one: BreakingPoint) -> str:
    gap = one.expected
    if gap.holds_at is None:
        return (
            f"It is lost at any load that was tried, down to {_load(gap.breaks_at)} of the "
            "given one."
        )
    if gap.breaks_at is None:
        return f"It holds at every load that was tried, up to {_load(gap.holds_at)}."
    span = f"; with steps as long, and as short, as they may be: {_span(one)}" if one.ends else ""
    return (
        f"It holds up to {_load(gap.holds_at)} ({_rate(one)} requests/s) and is lost at "
        f"{_load(gap.breaks_at)}{span}."
    )


def _load(times: float | None) -> str:
    return "-" if times is None else f"{figure(times)}x"


def _rate(one: BreakingPoint) -> str:
    return "-" if one.expected.holds_at is None else figure(one.expected.holds_at * one.rate_per_s)


def _span(one: BreakingPoint) -> str:
    low, high = one.lowest, one.highest
    return (
        f"{_load(low) if low is not None else 'none'} to "
        f"{_load(high) if high is not None else 'more'}"
    )


def breaking_json(found: Sequence[BreakingPoint], slo: Slo, version: str) -> dict[str, Any]:
    """Return the versioned JSON document."""
    return {
        "apiVersion": API_VERSION,
        "kind": "BreakingPoints",
        "engineVersion": version,
        "ttftSeconds": slo.ttft_s,
        "itlSeconds": slo.itl_s,
        "withinRatio": WITHIN_RATIO,
        "candidates": [
            {
                "name": one.name,
                "givenRequestsPerSecond": round(one.rate_per_s, 6),
                **_gap_json(one.expected),
                "ends": [_gap_json(gap) for gap in one.ends],
                "lowestLoad": one.lowest,
                "highestLoad": one.highest,
            }
            for one in found
        ],
    }


def _gap_json(gap: Gap) -> dict[str, float | None]:
    return {"holdsAtLoad": gap.holds_at, "breaksAtLoad": gap.breaks_at}
