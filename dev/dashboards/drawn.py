"""A board drawn with our own sheet from what a Prometheus answers to its queries: to be looked at
where there is no Grafana.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from dev.dashboards.board import Board, Panel

from barostat.shells.reports.sheet.blocks import (
    Block,
    Charts,
    Document,
    Heading,
    Paragraph,
    Section,
)
from barostat.shells.reports.sheet.charts import Chart, Line, Span
from barostat.shells.reports.sheet.forms import as_html
from barostat.shells.reports.sheet.scale import duration, percent, plain

KINDS = ("", "second", "third", "dashed", "second dashed", "third dashed", "pale")
Answers = Callable[[str], list[Any]]
"""A query -> series, each with `metric` and `values`."""


def drawn(board: Board, asked: Answers, since: float, until: float, told: str) -> str:
    """The page. `since` and `until`: unix seconds; `told`: where the values are from."""
    span = Span(0.0, until - since)
    blocks: list[Block] = [Heading("dashboard", board.title, f"{board.description} {told}")]
    for title, panels in board.rows:
        charts = [_chart(panel, asked, since) for panel in panels]
        drawn = [chart for chart in charts if any(line.points for line in chart.lines)]
        shown = Charts(drawn, span) if drawn else Paragraph("nothing to show")
        blocks.append(Section(title, [shown]))
    return as_html(Document(board.title, blocks))


def _chart(panel: Panel, asked: Answers, since: float) -> Chart:
    lines: list[Line] = []
    for query in panel.queries:
        for series in asked(query.expression):
            points = [
                (at - since, float(value))
                for at, value in series["values"]
                if math.isfinite(float(value))
            ]
            lines.append(
                Line(
                    points,
                    _legend(query.legend, series["metric"]),
                    KINDS[min(len(lines), len(KINDS) - 1)],
                )
            )
    words = {"percentunit": percent, "s": duration}.get(panel.unit, plain)
    limits = ((panel.threshold, "too many"),) if panel.threshold is not None else ()
    whole = words is plain and all(value.is_integer() for line in lines for _, value in line.points)
    return Chart(panel.title, tuple(lines), words, panel.top, limits, counts=whole)


def _legend(template: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), template).strip()
