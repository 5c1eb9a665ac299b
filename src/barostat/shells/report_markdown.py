"""The diagnosis as Markdown: for a ticket or a chat."""

from __future__ import annotations

from barostat.core.diagnosis import ReplicaReport, Report
from barostat.core.verdict import Present
from barostat.shells.report_text import WORDS, cause_words, evidence_words


def report_markdown(report: Report) -> str:
    """The whole report as Markdown text."""
    lines = [f"# Barostat: {report.target}", ""]
    lines += [f"> {problem}\n" for problem in report.problems]
    if len(report.replicas) > 1:
        lines += [f"**{WORDS[report.fleet.severity]}: {report.fleet.summary}**", ""]
        lines += ["| replica | cause | severity | confidence |", "|---|---|---|---|"]
        lines += [
            f"| {r.name} | {cause_words(r.diagnosis)} | {r.diagnosis.severity} | {r.diagnosis.confidence:.2f} |" for r in report.replicas
        ]
        lines.append("")
    for replica in report.replicas:
        lines += _replica(replica)
    return "\n".join(lines).rstrip() + "\n"


def _replica(replica: ReplicaReport) -> list[str]:
    diagnosis = replica.diagnosis
    lines = [
        f"## {replica.name}",
        "",
        f"**{WORDS[diagnosis.severity]}: {cause_words(diagnosis)}**, confidence {diagnosis.confidence:.2f}. {diagnosis.summary}",
        "",
    ]
    if diagnosis.trigger:
        lines += [f"Trigger: {diagnosis.trigger.kind}: {diagnosis.trigger.detail}", ""]
    if replica.forecast.exhaustion_in_s is not None:
        lines += [f"Forecast: KV pool full in about {replica.forecast.exhaustion_in_s:.0f} s: {replica.forecast.because}", ""]
    present = [(finding.name, finding.verdict) for finding in replica.symptoms if isinstance(finding.verdict, Present)]
    lines += _list("Evidence", [f"**{n}**: {v.because}" + "".join(f"\n  - {evidence_words(e)}" for e in v.evidence) for n, v in present])
    lines += _list("Contributing", list(replica.contributing))
    lines += _list("Ruled out", [f"**{item.cause}**: {item.because}" for item in replica.ruled_out])
    lines += _list("Not ruled out", [f"**{item.cause}**: {item.because}" for item in replica.not_ruled_out])
    lines += _list("Next", [f"`{s.change}` ({'restart' if s.restarts else 'live'}): {s.because}" for s in replica.next], numbered=True)
    lines += _list("Leave alone", [f"**{step.lever}**: {step.because}" for step in replica.not_advised])
    lines += _list("Would have helped", list(replica.missing))
    return lines + _list("Notes", list(replica.problems))


def _list(title: str, rows: list[str], *, numbered: bool = False) -> list[str]:
    if not rows:
        return []
    return [f"### {title}", "", *(f"{f'{number}.' if numbered else '-'} {row}" for number, row in enumerate(rows, 1)), ""]
