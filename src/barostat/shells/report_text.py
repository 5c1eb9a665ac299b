"""The diagnosis for a tired person: what it is, why, what it is not, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from barostat.core.diagnosis import Diagnosis, NextStep, ReplicaReport, Report, SymptomFinding
from barostat.core.verdict import Absent, Evidence, Present, Unknown

STYLES = {"none": "bold green", "info": "bold cyan", "warning": "bold yellow", "critical": "bold white on red"}
WORDS = {"none": "OK", "info": "INFO", "warning": "WARNING", "critical": "CRITICAL"}
SHORT_RULED_OUT = 4
SHORT_EVIDENCE = 5
SHORT_NEXT = 4
SHORT_REFUSED = 3
SHORT_MISSING = 4


def print_report(report: Report, console: Console, *, wide: bool = False) -> None:
    """Print the report. One replica: all of it. Several: a line each, then the worst in full (`wide`: every one that is not healthy)."""
    for problem in report.problems:
        console.print(Text(f"note: {problem}", style="yellow"))
    if len(report.replicas) != 1:
        console.print(_fleet_table(report))
        console.print(_headline(report.fleet))
        shown = [r for r in report.replicas if r.diagnosis.severity != "none"] if wide else _worst(report)
    else:
        shown = list(report.replicas)
    for replica in shown:
        console.print(_replica(replica, wide=wide))
    hidden = sum(1 for r in report.replicas if r.diagnosis.severity != "none") - len(shown)
    if hidden > 0:
        console.print(Text(f"{hidden} more replicas are not healthy: -o wide shows each.", style="dim"))


@dataclass(slots=True)
class Watched:
    """Prints a report after another for a person who watches: in full when what it says changes, else one line a replica."""

    console: Console
    wide: bool = False
    _said: object = None

    def show(self, report: Report) -> None:
        """The report is printed, in full or in short."""
        saying = [(r.name, cause_words(r.diagnosis), r.diagnosis.severity, r.forecast.exhaustion_in_s is not None) for r in report.replicas]
        if saying != self._said:
            self._said = saying
            print_report(report, self.console, wide=self.wide)
            return
        at = datetime.fromtimestamp(report.at).astimezone().strftime("%H:%M:%S")
        for replica in report.replicas:
            diagnosis = replica.diagnosis
            line = Text.assemble((f"{at}  ", "dim"))
            line.append(f"{replica.name}  " if len(report.replicas) > 1 else "", style="dim")
            line.append(WORDS[diagnosis.severity], style=STYLES[diagnosis.severity])
            line.append(f"  {cause_words(diagnosis)}  ", style="bold")
            line.append(diagnosis.summary)
            self.console.print(line, no_wrap=True, overflow="ellipsis")


def _worst(report: Report) -> list[ReplicaReport]:
    sick = [r for r in report.replicas if r.diagnosis.cause == report.fleet.cause and r.diagnosis.severity == report.fleet.severity]
    return [] if report.fleet.severity == "none" else sick[:1]


def _fleet_table(report: Report) -> Table:
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
    parts += _section("Why", [_finding(finding, wide=wide) for finding in carrying])
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
            )
            for number, step in enumerate(steps, 1)
        ],
    )
    refused = replica.not_advised if wide else replica.not_advised[:SHORT_REFUSED]
    parts += _section("Leave", [Text.assemble((step.lever, "bold"), f": {step.because}") for step in refused])
    if replica.diagnosis.cause == "unknown" or wide:
        parts += _section("To tell, give", [Text(text) for text in (replica.missing if wide else replica.missing[:SHORT_MISSING])])
    if wide:
        parts += _section("Unknown", [Text(f"{f.name}: {f.verdict.why}") for f in replica.symptoms if isinstance(f.verdict, Unknown)])
        parts += _section("Absent", [Text(f"{f.name}: {f.verdict.because}") for f in replica.symptoms if isinstance(f.verdict, Absent)])
    parts += _section("Notes", [Text(problem, style="yellow") for problem in replica.problems])
    if not wide:
        parts.append(_line("", Text(f"\nAll of it: -o wide. What a name means: barostat explain {replica.diagnosis.cause}", style="dim")))
    return Padding(Group(*parts), (1, 0, 0, 0))


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


def _finding(finding: SymptomFinding, *, wide: bool) -> Text:
    verdict = finding.verdict
    assert isinstance(verdict, Present)
    text = Text.assemble((finding.name, "bold"), f": {verdict.because}")
    if verdict.evidence and wide:
        for item in verdict.evidence:
            text.append(f"\n{evidence_words(item)}", style="dim")
    return text


def evidence_words(item: Evidence) -> str:
    """One piece of evidence in words: value, unit, where it comes from, how old it is."""
    if item.unit == "ratio":
        value = f"{item.value:.1%}"
    elif item.unit == "bytes":
        value = f"{item.value / 2**30:.2f} GiB"
    else:
        value = f"{item.value:,.0f}" if item.value == int(item.value) else f"{item.value:,.3g}"
        value += "" if item.unit in ("count", "bool") else f" {item.unit}"
    return f"{item.signal} {value}, from {item.source}, {item.age_s:.0f} s old"
