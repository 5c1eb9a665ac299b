"""The survey as a document: how many engines are harmed, figures, the table, what to look at
first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from barostat.core.diagnosis import Severity
from barostat.core.units import many
from barostat.judge.survey.survey import Survey, SurveyedEngine
from barostat.shells.reports.sheet.blocks import (
    Document,
    Footer,
    Heading,
    Listing,
    Only,
    Paragraph,
    Table,
    Tiles,
    Verdict,
)
from barostat.shells.reports.survey.rows import NUMBERS, cells, rows

MOST_ROWS = 40
MOST_NAMED = 5
MOST_OWNERS = 3
_FIRST_TO_GO = (7, 8, 4, 6, 3)


def survey_document(survey: Survey, *, wide: bool = False) -> Document:
    """Return the document. `wide`: a terminal gets every row, too."""
    priced = survey.cost_per_hour is not None
    table = cells(survey.engines, priced=priced)
    words = [place for place in range(len(table[0])) if place not in NUMBERS]
    shown = table if wide else table[: MOST_ROWS + 1]
    hidden = len(table) - len(shown)
    more = [Paragraph(f"{many(hidden, 'more row')}: -o wide", "soft")] if hidden else []
    at_risk = [one for one in survey.engines if one.rollout.outcome in ("outage", "stuck")]
    tiles = [
        ("engines", str(len(survey.engines)), ""),
        ("harmed", str(len(_harmed(survey))), ""),
        ("at risk in a rollout", str(len(at_risk)), "outage or stuck"),
        ("GPUs", str(sum(one.gpus for one in survey.engines)), ""),
    ]
    if survey.cost_per_hour is not None:
        tiles.append(("cost", f"${survey.cost_per_hour:,.2f}", "per hour"))
    at = datetime.fromtimestamp(survey.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    blocks = (
        Heading("survey", survey.target, at),
        _verdict(survey),
        Only(("html",), [Tiles(tiles)]),
        Only(("html", "markdown"), [Table(table, words)]),
        Only(("terminal",), [Table(shown, words, first_to_go=_FIRST_TO_GO), *more]),
        Listing("Look first", first_steps(survey)),
        Listing("Not read or not checked", survey.not_read),
        Footer("the same as data: barostat survey -o json"),
    )
    return Document(f"Survey of {survey.target}", blocks)


def _harmed(survey: Survey) -> list[SurveyedEngine]:
    return [one for one in survey.engines if one.is_harmed or one.report.unreachable]


def _verdict(survey: Survey) -> Verdict:
    harmed = _harmed(survey)
    engines = many(len(survey.engines), "engine")
    sums = ", ".join(_sums(survey))
    unknown = sum(one.report.diagnosis.cause == "unknown" for one in survey.engines)
    if not harmed and unknown:
        return Verdict("info", "UNKNOWN", f"no verdict on {unknown} of {engines}", sums)
    if not harmed:
        return Verdict("none", "OK", f"{engines}, none harmed", sums)
    critical = any(one.report.diagnosis.severity == "critical" for one in harmed)
    severity: Severity = "critical" if critical else "warning"
    verb = "needs" if len(harmed) == 1 else "need"
    headline = f"{len(harmed)} of {engines} {verb} attention"
    return Verdict(severity, "ACT" if critical else "LOOK", headline, sums)


def _sums(survey: Survey) -> list[str]:
    """Verdicts, GPUs, cost."""
    causes = Counter(
        "no answer" if one.report.unreachable else one.report.diagnosis.cause
        for one in survey.engines
    )
    said = [f"{count} {name}" for name, count in causes.most_common()]
    if gpus := sum(one.gpus for one in survey.engines):
        said.append(many(gpus, "GPU"))
    if (cost := survey.cost_per_hour) is not None:
        unpriced = sum(1 for one in survey.engines if one.cost_per_hour is None and one.gpus)
        said.append(
            f"${cost:,.2f}/h" + (f" without {many(unpriced, 'engine')}" if unpriced else "")
        )
    return said


def first_steps(survey: Survey) -> list[str]:
    """Return the first steps, one sentence each: harmed engines, rollouts that would fail, errors
    in flags; workloads of which the same holds share a sentence.
    """
    table = rows(survey.engines)
    harmed = [
        f"{row.worst.report.name}: {row.worst.report.diagnosis.summary}"
        for row in table
        if row.worst.report.unreachable or row.worst.is_harmed
    ]
    shared: dict[str, dict[str, None]] = {}
    for row in table:
        for sentence in _said(row.worst):
            shared.setdefault(sentence, {})[row.workload_name or row.name] = None
    alike = [f"{_named([*owners])}: {sentence}" for sentence, owners in shared.items()]
    return (harmed + alike)[:MOST_NAMED]


def _said(one: SurveyedEngine) -> Iterator[str]:
    if one.rollout.outcome == "outage":
        yield f"the next rollout is an outage: {one.rollout.because}"
    if one.rollout.outcome == "stuck":
        yield f"the next rollout does not finish: {one.rollout.because}"
    for finding in one.unsafe:
        if finding.severity == "error":
            yield f"{finding.message} ({finding.rule})"


def _named(owners: Sequence[str]) -> str:
    more = len(owners) - MOST_OWNERS
    return ", ".join(owners[:MOST_OWNERS]) + (f" and {more} more" if more > 0 else "")
