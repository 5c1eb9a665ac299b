"""The diagnosis as Markdown: for a ticket or a chat."""

from __future__ import annotations

from barostat.core.diagnosis import ReplicaReport
from barostat.core.shown import ShownReport
from barostat.core.verdict import Present
from barostat.judge.advice.change_text import as_written
from barostat.judge.advice.remedy_text import remedy_words
from barostat.shells.reports.diagnosis.forecasts import PLAIN, rows, trials_words
from barostat.shells.reports.diagnosis.text import WORDS, cause_words, evidence_words
from barostat.shells.reports.sheet.safe_text import code, in_markdown


def report_markdown(report: ShownReport) -> str:
    """The whole report as Markdown text."""
    lines = [f"# Barostat: {in_markdown(report.target)}", ""]
    lines += [
        f"> **Remedy under way**: {in_markdown(remedy_words(remedy))}\n"
        for remedy in report.remedies
    ]
    lines += [f"> {in_markdown(problem)}\n" for problem in report.problems]
    if len(report.replicas) > 1:
        lines += [f"**{WORDS[report.fleet.severity]}: {in_markdown(report.fleet.summary)}**", ""]
        lines += ["| replica | cause | severity | confidence |", "|---|---|---|---|"]
        lines += [
            (
                f"| {in_markdown(r.name)} | {cause_words(r.diagnosis)} | "
                f"{r.diagnosis.severity} | {r.diagnosis.confidence:.2f} |"
            )
            for r in report.replicas
        ]
        lines.append("")
    for replica in report.replicas:
        lines += _replica(replica)
    return "\n".join(lines).rstrip() + "\n"


def _replica(replica: ReplicaReport) -> list[str]:
    diagnosis = replica.diagnosis
    named = cause_words(diagnosis)
    lines = [
        f"## {in_markdown(replica.name)}",
        "",
        (
            f"**{WORDS[diagnosis.severity]}: {named}**, confidence {diagnosis.confidence:.2f}. "
            f"{in_markdown(diagnosis.summary)}"
        ),
        "",
    ]
    if diagnosis.trigger:
        lines += [f"Trigger: {diagnosis.trigger.kind}: {in_markdown(diagnosis.trigger.detail)}", ""]
    if replica.forecast.exhaustion_in_s is not None:
        lines += [
            (
                f"Forecast: KV pool full in about {replica.forecast.exhaustion_in_s:.0f} s: "
                f"{in_markdown(replica.forecast.because)}"
            ),
            "",
        ]
    present = [
        (finding.name, finding.verdict)
        for finding in replica.symptoms
        if isinstance(finding.verdict, Present)
    ]
    lines += _list("Evidence", [_evidence(name, verdict) for name, verdict in present])
    lines += _list("Contributing", [in_markdown(told) for told in replica.contributing])
    lines += _list(
        "Ruled out",
        [f"**{item.cause}**: {in_markdown(item.because)}" for item in replica.ruled_out],
    )
    lines += _list(
        "Not ruled out",
        [f"**{item.cause}**: {in_markdown(item.because)}" for item in replica.not_ruled_out],
    )
    lines += _list(
        "Next steps",
        [
            f"{code(str(as_written(s.change)))} ({'restart' if s.restarts else 'live'}): {in_markdown(str(s.because))}"
            for s in replica.next
        ],
        numbered=True,
    )
    lines += _forecasts(replica)
    lines += _list(
        "Don't",
        [
            f"**{in_markdown(step.lever)}**: {in_markdown(str(step.because))}"
            for step in replica.not_advised
        ],
    )
    lines += _list("Missing data", [in_markdown(told) for told in replica.missing])
    return lines + _list("Notes", [in_markdown(told) for told in replica.problems])


def _evidence(name: str, verdict: Present) -> str:
    readings = "".join(
        f"\n  - {in_markdown(evidence_words(reading))}" for reading in verdict.evidence
    )
    return f"**{in_markdown(name)}**: {in_markdown(verdict.because)}{readings}"


def _forecasts(replica: ReplicaReport) -> list[str]:
    told, table = trials_words(replica), rows(replica)
    if not table:
        return [*(in_markdown(line) for line in told), ""]
    lines = [
        f"| {' | '.join((first if first in PLAIN else code(first), *map(in_markdown, cells)))} |"
        for first, *cells in table
    ]
    untried = [
        f"- {code(str(as_written(step.change)))} was not tried: {in_markdown(str(step.untried))}"
        for step in replica.next
        if step.untried
    ]
    rule = "|---|" + "---:|" * (len(table[0]) - 2) + "---|"
    return [
        "### Forecast",
        "",
        lines[0],
        rule,
        *lines[1:],
        "",
        *(f"- {in_markdown(line)}" for line in told[1:]),
        *untried,
        "",
    ]


def _list(title: str, rows: list[str], *, numbered: bool = False) -> list[str]:
    if not rows:
        return []
    return [
        f"### {title}",
        "",
        *(f"{f'{number}.' if numbered else '-'} {row}" for number, row in enumerate(rows, 1)),
        "",
    ]
