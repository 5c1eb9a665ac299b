"""The diagnosis for a tired person: what it is, why, what it is not, what to do."""

from __future__ import annotations

import math
import re

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from barostat.core.diagnosis import Diagnosis, NextStep, ReplicaReport, SymptomFinding
from barostat.core.shown import ShownReport
from barostat.core.units import figure
from barostat.core.verdict import Absent, Evidence, Present
from barostat.shells.reports.diagnosis.forecasts import forecast_lines, trials_words
from barostat.shells.reports.diagnosis.not_measured import not_measured

STYLES = {"none": "bold green", "info": "bold cyan", "warning": "bold yellow", "critical": "bold white on red"}
WORDS = {"none": "OK", "info": "INFO", "warning": "WARNING", "critical": "CRITICAL"}
SHORT_RULED_OUT = 4
SHORT_EVIDENCE = 5
SHORT_NEXT = 4
SHORT_REFUSED = 3
SHORT_MISSING = 4
_LABELS = re.compile(r"\{[^{}]*\}")


def print_report(report: ShownReport, console: Console, *, wide: bool = False) -> None:
    """Print the report. One replica: all of it. Several: a line each, then the worst in full (`wide`: every one that is not healthy)."""
    for problem in report.problems:
        console.print(Text(f"note: {problem}", style="yellow"))
    if len(report.replicas) != 1:
        console.print(_fleet_table(report))
        console.print(_headline(report.fleet))
        shown = [r for r in report.replicas if r.diagnosis.severity != "none"] if wide else _worst(report)
    else:
        shown = list(report.replicas)
    for number, replica in enumerate(shown):
        if number or len(report.replicas) != 1 or report.problems:
            console.print()
        console.print(_replica(replica, wide=wide))
    hidden = sum(1 for r in report.replicas if r.diagnosis.severity != "none") - len(shown)
    if hidden > 0:
        console.print(Text(f"{hidden} more replicas are not healthy: -o wide shows each.", style="dim"))


def _worst(report: ShownReport) -> list[ReplicaReport]:
    sick = [r for r in report.replicas if r.diagnosis.cause == report.fleet.cause and r.diagnosis.severity == report.fleet.severity]
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
    engine = f"vLLM {replica.engine_version}" if replica.engine_version else "vLLM, version not known"
    parts: list[RenderableType] = [Text(f"{replica.name} · {engine}", style="dim"), _headline(replica.diagnosis)]
    if replica.diagnosis.trigger and replica.diagnosis.trigger.detail not in replica.diagnosis.summary:
        parts.append(_line("Trigger", Text(f"{replica.diagnosis.trigger.kind}: {replica.diagnosis.trigger.detail}")))
    if replica.forecast.exhaustion_in_s is not None:
        parts.append(
            _line("Forecast", Text(f"KV pool full in about {replica.forecast.exhaustion_in_s:.0f} s: {replica.forecast.because}", "yellow"))
        )
    present = [finding for finding in replica.symptoms if isinstance(finding.verdict, Present)]
    carrying = present if wide else [finding for finding in present if finding.name in replica.rests_on][:SHORT_EVIDENCE]
    parts += _section("Why", _findings(carrying, wide=wide))
    if replica.contributing:
        parts += _section("Also", [Text(text) for text in replica.contributing])
    cut = replica.ruled_out if wide else replica.ruled_out[:SHORT_RULED_OUT]
    parts += _section("Not", [Text.assemble((item.cause, "bold"), f": {item.because}") for item in cut])
    parts += _section("Perhaps", [Text.assemble((item.cause, "bold"), f": {item.because}") for item in replica.not_ruled_out])
    steps = replica.next if wide else replica.next[:SHORT_NEXT]
    parts += _section(
        "Next",
        [
            Text.assemble(
                f"{number}. {step.lever}: ",
                (step.change, "bold"),
                (_cost(step), "dim"),
                f"\n   {step.because}",
                *((f"\n   {line}", "cyan" if line.startswith("forecast") else "dim") for line in forecast_lines(step)),
            )
            for number, step in enumerate(steps, 1)
        ],
    )
    parts += _section("Tried", [Text(line) for line in trials_words(replica)])
    refused = replica.not_advised if wide else replica.not_advised[:SHORT_REFUSED]
    parts += _section("Leave", [Text.assemble((step.lever, "bold"), f": {step.because}") for step in refused])
    if replica.diagnosis.cause == "unknown" or wide:
        parts += _section("To tell, give", [Text(text) for text in (replica.missing if wide else replica.missing[:SHORT_MISSING])])
    if wide:
        parts += _section("Unknown", [Text(text) for text in not_measured(replica.symptoms)])
        parts += _section("Absent", [Text(f"{f.name}: {f.verdict.because}") for f in replica.symptoms if isinstance(f.verdict, Absent)])
    parts += _section("Notes", [Text(problem, style="yellow") for problem in replica.problems])
    if not wide:
        parts.append(_line("", Text(f"\nAll of it: -o wide. What a name means: barostat explain {replica.diagnosis.cause}", style="dim")))
    return Group(*parts)


def _cost(step: NextStep) -> str:
    if step.restarts:
        return "  restarts the engine"
    return "  live, at your gateway" if step.lever.startswith("edge-") else "  live"


def _line(label: str, value: RenderableType) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=9, no_wrap=False, style="dim")
    grid.add_column(ratio=1)
    grid.add_row(label, value)
    return grid


def _section(label: str, rows: list[Text]) -> list[RenderableType]:
    lines: list[RenderableType] = [_line(label if number == 0 else "", row) for number, row in enumerate(rows)]
    return [Text(), *lines] if lines else []


def _findings(found: list[SymptomFinding], *, wide: bool) -> list[Text]:
    """A finding each; `wide`: with the readings it rests on, each where it is first needed."""
    told: set[str] = set()
    return [_finding(finding, told, wide=wide) for finding in found]


def _finding(finding: SymptomFinding, told: set[str], *, wide: bool) -> Text:
    verdict = finding.verdict
    assert isinstance(verdict, Present)
    text = Text.assemble((finding.name, "bold"), f": {verdict.because}")
    if wide:
        for item in verdict.evidence:
            if item.signal not in told:
                told.add(item.signal)
                text.append(f"\n  {_brief_evidence(item)}", style="dim")
    return text


def evidence_words(item: Evidence) -> str:
    """One piece of evidence in words: value, unit, where it comes from, how old it is."""
    return f"{item.signal} {_value_words(item)}, from {item.source}, {item.age_s:.0f} s old"


def _value_words(item: Evidence) -> str:
    if not math.isfinite(item.value):
        return f"{item.value}, which is no quantity"
    if item.unit == "ratio":
        return f"{item.value:.1%}"
    if item.unit == "bytes":
        return f"{item.value / 2**30:.2f} GiB"
    value = f"{item.value:,.0f}" if item.value == int(item.value) else figure(item.value)
    return value if item.unit in ("count", "bool") else f"{value} {item.unit}"


def _brief_evidence(item: Evidence) -> str:
    """A reading by its value, the name that its source gives it, and its age where it is not of now; the JSON has the file too."""
    named = _LABELS.sub("", item.source.partition(" (")[0])
    return f"{item.signal} {_value_words(item)}, {named}" + (f", {item.age_s:.0f} s old" if item.age_s >= 1 else "")
