"""The survey for a terminal and for a ticket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from barostat.core.units import many
from barostat.judge.survey.survey import Survey, SurveyedEngine
from barostat.shells.reports.aligned import aligned
from barostat.shells.reports.survey.rows import NUMBERS, cells, rows
from barostat.shells.reports.wrapped import paragraph, terminal_width

MOST_ROWS = 40
MOST_NAMED = 5
MOST_OWNERS = 3
_FIRST_TO_GO = (7, 8, 4, 6, 3)
"""Columns that a narrow terminal leaves out, in this order. -o json and html have them all."""


def sums(survey: Survey) -> list[str]:
    """The cluster in one line: engines, verdicts, GPUs, cost."""
    causes = Counter(
        "no answer" if one.report.unreachable else one.report.diagnosis.cause
        for one in survey.engines
    )
    said = [
        many(len(survey.engines), "engine"),
        *(f"{n} {name}" for name, n in causes.most_common()),
    ]
    if gpus := sum(one.gpus for one in survey.engines):
        said.append(many(gpus, "GPU"))
    if (cost := survey.cost_per_hour) is not None:
        unpriced = sum(1 for one in survey.engines if one.cost_per_hour is None and one.gpus)
        said.append(
            f"${cost:,.2f}/h" + (f" without {many(unpriced, 'engine')}" if unpriced else "")
        )
    return said


def first_steps(survey: Survey) -> list[str]:
    """What to look at first, one sentence each: harmed engines, rollouts that would fail, errors in
    flags; workloads of which the same holds share a sentence.
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


def text(survey: Survey, *, wide: bool = False) -> str:
    """For a terminal. `wide`: every row and column."""
    width = terminal_width()
    lines = paragraph(f"{survey.target}: {', '.join(sums(survey))}", "", width)
    whole = cells(survey.engines, priced=survey.cost_per_hour is not None)
    shown = whole if wide else whole[: MOST_ROWS + 1]
    lines += ["", *(_lines(shown) if wide else _narrowed(shown, width))]
    if hidden := len(whole) - len(shown):
        lines.append(f"{many(hidden, 'more row')}: -o wide")
    if steps := first_steps(survey):
        lines += ["", "Look first:"]
        for step in steps:
            lines += paragraph(step, "  - ", width)
    if survey.not_read:
        lines += ["", "Not read or not checked:"]
        for told in survey.not_read:
            lines += paragraph(told, "  - ", width)
    return "\n".join(lines)


def _narrowed(table: Sequence[tuple[str, ...]], width: int) -> list[str]:
    gone: set[int] = set()
    for column in (None, *_FIRST_TO_GO):
        if column is not None:
            gone.add(column)
        lines = _lines(table, gone)
        if max(map(len, lines)) <= width:
            break
    return lines


def _lines(
    table: Sequence[tuple[str, ...]], gone: set[int] | frozenset[int] = frozenset()
) -> list[str]:
    kept = [place for place in range(len(table[0])) if place not in gone]
    right = [place for place, column in enumerate(kept) if column in NUMBERS]
    head, *body = [[row[place] for place in kept] for row in table]
    return aligned([[cell.upper() for cell in head], *body], right=right)


def markdown(survey: Survey) -> str:
    """For a ticket."""
    table = cells(survey.engines, priced=survey.cost_per_hour is not None)
    lines = [
        f"## {survey.target}",
        "",
        f"{', '.join(sums(survey))}.",
        "",
        *(f"| {' | '.join(row)} |" for row in (table[0], ("---",) * len(table[0]), *table[1:])),
    ]
    if steps := first_steps(survey):
        lines += ["", "**Look first**", "", *(f"* {step}" for step in steps)]
    if survey.not_read:
        lines += ["", "**Not read or not checked**", "", *(f"* {told}" for told in survey.not_read)]
    return "\n".join(lines)
