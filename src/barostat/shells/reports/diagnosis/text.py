"""The diagnosis for a tired person: what it is, why, what it is not, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from barostat.core.diagnosis import Diagnosis, NextStep, ReplicaReport, Trials
from barostat.core.shown import ShownReport
from barostat.core.verdict import Absent, Evidence, Present
from barostat.judge.advice.change_text import as_written
from barostat.judge.advice.remedy_text import remedy_words
from barostat.shells.reports.diagnosis.forecasts import effect_words, numbered_rows, trials_words
from barostat.shells.reports.diagnosis.in_full import by_reason, readings, reasons_once, value_words
from barostat.shells.reports.diagnosis.not_measured import not_measured
from barostat.shells.reports.sheet.terminal import STYLES

WORDS = {"none": "OK", "info": "INFO", "warning": "WARNING", "critical": "CRITICAL"}
SHORT_RULED_OUT = 4
SHORT_EVIDENCE = 5
SHORT_NEXT = 4
SHORT_REFUSED = 3
SHORT_MISSING = 4
_MOST_NAMES = 16
_LABELS = 13
"""Columns of the longest label: `Not ruled out`."""


def print_report(report: ShownReport, console: Console, *, wide: bool = False) -> None:
    """Print the report. One replica: all of it. Several: a line each, then the worst in full
    (`wide`: every one that is not healthy).
    """
    for remedy in report.remedies:
        console.print(Text(f"remedy under way: {remedy_words(remedy)}", style="bold cyan"))
    for problem in report.problems:
        console.print(Text(f"note: {problem}", style="yellow"))
    if len(report.replicas) != 1:
        console.print(_fleet_table(report))
        console.print(_headline(report.fleet))
        shown = (
            [r for r in report.replicas if r.diagnosis.severity != "none"]
            if wide
            else _worst(report)
        )
    else:
        shown = list(report.replicas)
    for number, replica in enumerate(shown):
        if number or len(report.replicas) != 1 or report.problems or report.remedies:
            console.print()
        console.print(_replica(replica, wide=wide))
    hidden = sum(1 for r in report.replicas if r.diagnosis.severity != "none") - len(shown)
    if hidden > 0:
        console.print(
            Text(
                f"{hidden} more {'replica is' if hidden == 1 else 'replicas are'} not "
                "healthy: -o wide shows each.",
                style="dim",
            )
        )


def _worst(report: ShownReport) -> list[ReplicaReport]:
    sick = [
        r
        for r in report.replicas
        if r.diagnosis.cause == report.fleet.cause and r.diagnosis.severity == report.fleet.severity
    ]
    return [] if report.fleet.severity == "none" else sick[:1]


def _fleet_table(report: ShownReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("REPLICA", "", "CAUSE", "SURE", "TRIGGER"):
        table.add_column(column, no_wrap=column in ("", "SURE"))
    for replica in report.replicas:
        diagnosis = replica.diagnosis
        table.add_row(
            replica.name,
            Text(WORDS[diagnosis.severity], style=STYLES[diagnosis.severity]),
            cause_words(diagnosis),
            f"{diagnosis.confidence:.0%}" if diagnosis.cause != "unknown" else "-",
            diagnosis.trigger.kind if diagnosis.trigger else "",
        )
    return table


def cause_words(diagnosis: Diagnosis) -> str:
    """The cause with its variant in brackets."""
    return f"{diagnosis.cause} ({diagnosis.variant})" if diagnosis.variant else diagnosis.cause


def _headline(diagnosis: Diagnosis) -> RenderableType:
    head = Text()
    head.append(f" {WORDS[diagnosis.severity]} ", style=STYLES[diagnosis.severity])
    head.append(f" {cause_words(diagnosis)}", style="bold")
    if diagnosis.cause != "unknown":
        head.append(f"   {diagnosis.confidence:.0%} sure", style="dim")
    return Group(head, Text(diagnosis.summary))


def _replica(replica: ReplicaReport, *, wide: bool) -> RenderableType:
    engine = (
        f"vLLM {replica.engine_version}" if replica.engine_version else "vLLM, version not known"
    )
    parts: list[RenderableType] = [
        Text(f"{replica.name} · {engine}", style="dim"),
        _headline(replica.diagnosis),
    ]
    if (
        replica.diagnosis.trigger
        and replica.diagnosis.trigger.detail not in replica.diagnosis.summary
    ):
        parts.append(
            _line(
                "Trigger",
                Text(f"{replica.diagnosis.trigger.kind}: {replica.diagnosis.trigger.detail}"),
            )
        )
    if replica.forecast.exhaustion_in_s is not None:
        parts.append(
            _line(
                "Forecast",
                Text(
                    f"KV pool full in about {replica.forecast.exhaustion_in_s:.0f} s: "
                    f"{replica.forecast.because}",
                    "yellow",
                ),
            )
        )
    present = [finding for finding in replica.symptoms if isinstance(finding.verdict, Present)]
    carrying = (
        present
        if wide
        else [finding for finding in present if finding.name in replica.rests_on][:SHORT_EVIDENCE]
    )
    parts += _section(
        "Why",
        [
            _named(finding.name, finding.verdict.because)
            for finding in carrying
            if isinstance(finding.verdict, Present)
        ],
    )
    if wide:
        parts += _section(
            "Measured", [Text(f"{source}: {said}") for source, said in readings(present)]
        )
    if replica.contributing:
        parts += _section("Contributing", [Text(text) for text in replica.contributing])
    said = {finding.verdict.because for finding in present if isinstance(finding.verdict, Present)}
    parts += _not_so(
        "Ruled out", [(item.cause, item.because) for item in replica.ruled_out], said, wide=wide
    )
    parts += _section(
        "Not ruled out", [_named(item.cause, item.because) for item in replica.not_ruled_out]
    )
    steps = replica.next if wide else replica.next[:SHORT_NEXT]
    parts += _section(
        "Next steps", [_step(number, step, replica.trials) for number, step in enumerate(steps, 1)]
    )
    parts += _tried(replica, len(steps))
    refused = replica.not_advised if wide else replica.not_advised[:SHORT_REFUSED]
    parts += _section("Don't", [_named(names, because) for names, because in by_reason(refused)])
    if replica.diagnosis.cause == "unknown" or wide:
        parts += _section(
            "Missing data",
            [Text(text) for text in (replica.missing if wide else replica.missing[:SHORT_MISSING])],
        )
    if wide:
        parts += _section("Not measured", [Text("; ".join(not_measured(replica.symptoms)))])
        absent = [
            (finding.name, finding.verdict.because)
            for finding in replica.symptoms
            if isinstance(finding.verdict, Absent)
        ]
        parts += _not_so("Absent", absent, said, wide=True)
    parts += _section("Notes", [Text(problem, style="yellow") for problem in replica.problems])
    if not wide:
        parts.append(
            _line(
                "",
                Text(
                    "\nAll of it: -o wide. What a name means: barostat explain "
                    f"{replica.diagnosis.cause}",
                    style="dim",
                ),
            )
        )
    return Group(*parts)


def _cost(step: NextStep) -> str:
    if step.restarts:
        return "  restarts the engine"
    return "  live, at your gateway" if step.lever.startswith("edge-") else "  live"


def _line(label: str, value: RenderableType) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=_LABELS, style="dim")
    grid.add_column(ratio=1)
    grid.add_row(label, value)
    return grid


def _section(label: str, rows: Sequence[RenderableType]) -> list[RenderableType]:
    lines: list[RenderableType] = [
        _line(label if number == 0 else "", row) for number, row in enumerate(rows)
    ]
    return [Text(), *lines] if lines else []


def _named(name: str, because: str) -> Text:
    return Text.assemble((name, "bold"), f": {because}")


def _not_so(
    label: str, rows: list[tuple[str, str]], said: set[str], *, wide: bool
) -> list[RenderableType]:
    """What is not the case and why: the first few, or (`wide`) all, those of which nothing was seen
    by their names or, where these are many, their number.
    """
    if not wide:
        return _section(label, [_named(name, because) for name, because in rows[:SHORT_RULED_OUT]])
    told, names = reasons_once(rows, said)
    if len(names) > _MOST_NAMES:
        names = [f"{len(names)} more, which -o json names"]
    rest = (
        [Text(f"{'nor a sign of ' if told else 'no sign of '}{', '.join(names)}")] if names else []
    )
    return _section(label, [*(_named(name, because) for name, because in told), *rest])


def _step(number: int, step: NextStep, trials: Trials | None) -> Table:
    """A next step behind its number: the change, why this one, what it is forecast to bring."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_row(
        f"{number}.",
        Text.assemble(
            f"{step.lever}: ",
            (str(as_written(step.change)), "bold"),
            (_cost(step), "dim"),
            f"\n{step.because}",
        ),
    )
    if told := effect_words(step, trials):
        grid.add_row(
            "",
            Text(
                told,
                style="dim"
                if step.forecast is None or step.forecast.effect == "nothing"
                else "cyan",
            ),
        )
    return grid


def _tried(replica: ReplicaReport, steps: int) -> list[RenderableType]:
    """What today's setting and each of the first so many steps come to on the twin, and what that
    rests on.
    """
    rows = numbered_rows(replica, steps)
    if not rows:
        return _section("Forecast", [Text(line) for line in trials_words(replica)])
    return _section(
        "Forecast",
        [TrialsTable(rows), *(Text(line, style="dim") for line in trials_words(replica)[1:])],
    )


class TrialsTable:
    """The rows as a table, two blanks between its columns; one where two would cut a heading."""

    def __init__(self, rows: Sequence[tuple[str, ...]]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        widths = [max(map(cell_len, column)) for column in zip(*self._rows, strict=True)]
        gap = 2 if sum(widths) + 2 * (len(widths) - 1) <= options.max_width else 1
        table = Table.grid(padding=(0, gap, 0, 0))
        for number in range(len(widths)):
            table.add_column(justify="right" if number else "left", no_wrap=True)
        for number, row in enumerate(self._rows):
            table.add_row(*row, style="dim" if number == 0 else "")
        yield table


def evidence_words(item: Evidence) -> str:
    """One piece of evidence in words: value, unit, where it comes from, how old it is."""
    return f"{item.signal} {value_words(item)}, from {item.source}, {item.age_s:.0f} s old"
