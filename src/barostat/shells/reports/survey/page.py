"""The survey as one HTML page."""

from __future__ import annotations

from datetime import UTC, datetime

from barostat.core.diagnosis import Severity
from barostat.core.units import many
from barostat.judge.survey.survey import Survey
from barostat.shells.reports.sheet.blocks import (
    Document,
    Footer,
    Heading,
    Listing,
    Table,
    Tiles,
    Verdict,
)
from barostat.shells.reports.sheet.forms import as_html
from barostat.shells.reports.survey.rows import NUMBERS, cells
from barostat.shells.reports.survey.text import first_steps


def survey_html(survey: Survey) -> str:
    """The page: how many engines are harmed, figures, the table, what to look at first."""
    harmed = [one for one in survey.engines if one.is_harmed or one.report.unreachable]
    at_risk = [one for one in survey.engines if one.rollout.outcome in ("outage", "stuck")]
    critical = any(one.report.diagnosis.severity == "critical" for one in harmed)
    if harmed:
        verb = "needs" if len(harmed) == 1 else "need"
        severity: Severity = "critical" if critical else "warning"
        word = "ACT" if critical else "LOOK"
        headline = f"{len(harmed)} of {many(len(survey.engines), 'engine')} {verb} attention"
    else:
        severity, word, headline = (
            "none",
            "OK",
            f"{many(len(survey.engines), 'engine')}, none harmed",
        )
    told = datetime.fromtimestamp(survey.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    tiles = [
        ("engines", str(len(survey.engines)), ""),
        ("harmed", str(len(harmed)), ""),
        ("at risk in a rollout", str(len(at_risk)), "outage or stuck"),
        ("GPUs", str(sum(one.gpus for one in survey.engines)), ""),
    ]
    if survey.cost_per_hour is not None:
        tiles.append(("cost", f"${survey.cost_per_hour:,.2f}", "per hour"))
    rows = cells(survey.engines, priced=survey.cost_per_hour is not None)
    words = [place for place in range(len(rows[0])) if place not in NUMBERS]
    blocks = (
        Heading("survey", survey.target, told),
        Verdict(severity, word, headline),
        Tiles(tiles),
        Table(rows, words),
        Listing("Look first", first_steps(survey)),
        Listing("Not read or not checked", survey.not_read),
        Footer("the same as data: -o json"),
    )
    return as_html(Document(f"Survey of {survey.target}", blocks))
