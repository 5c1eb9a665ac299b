"""The diagnosis as one HTML page that needs nothing else, to attach to a ticket: the report, and the signals behind it over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from barostat import __version__
from barostat.core.diagnosis import Diagnosis, NextStep, ReplicaReport, Report, SymptomFinding
from barostat.core.signal import Signal
from barostat.core.verdict import Present, Unknown
from barostat.core.window import Window
from barostat.shells.charts import Chart, Line, Span, charts, duration, page, percent, plain
from barostat.shells.report_text import WORDS, cause_words, evidence_words

REPORT_STYLE = """
.soft{color:var(--soft)}.verdict{border-left:.35rem solid var(--rule);padding:.5rem 1rem;margin:.6rem 0;background:#f6f8fa}
.verdict p{margin:.2rem 0}.verdict b{font-size:1.1rem}
.badge{display:inline-block;font-size:.75rem;font-weight:700;letter-spacing:.04em;padding:.1rem .5rem;border-radius:.2rem;color:#fff;
background:var(--soft);margin-right:.6rem;vertical-align:.1em}
.none .badge,.badge.none{background:#1a7f37}.verdict.none{border-color:#1a7f37}
.warning .badge,.badge.warning{background:#9a6700}.verdict.warning{border-color:#9a6700}
.critical .badge,.badge.critical{background:var(--bad)}.verdict.critical{border-color:var(--bad)}
ul,ol{margin:.2rem 0;padding-left:1.3rem}li{margin:.2rem 0}code{font:.88em ui-monospace,Menlo,Consolas,monospace;background:#eff1f3;
padding:.05rem .3rem;border-radius:.2rem}
details{margin:.1rem 0 .3rem;color:var(--soft)}details li{font-size:.88rem}summary{cursor:pointer;font-size:.88rem}
.tag{font-size:.78rem;color:var(--soft);border:1px solid var(--rule);border-radius:.6rem;padding:0 .5rem;margin-left:.4rem;
white-space:nowrap}
section{margin:1.6rem 0}footer{margin-top:2rem;border-top:1px solid var(--rule);color:var(--soft);font-size:.85rem}
td.words{text-align:left}
"""


def report_html(report: Report, windows: Mapping[str, Window]) -> str:
    """The page. `windows`: what each replica's report rests on, by the replica's name; one without gets no drawings."""
    at = datetime.fromtimestamp(report.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    notes = "".join(f"<p class='soft'>Note: {escape(problem)}</p>" for problem in report.problems)
    several = len(report.replicas) != 1
    fleet = f"{verdict(report.fleet)}{_fleet_table(report)}" if several else ""
    sections = "".join(
        f"<section>{f'<h1>{escape(replica.name)}</h1>' if several else ''}{replica_html(replica, windows.get(replica.name))}</section>"
        for replica in report.replicas
    )
    title = f"Barostat: {report.target}"
    head = f"<h1>{escape(report.target)}</h1><p class='soft'>Diagnosis of {at}</p>"
    foot = f"<footer><p>barostat {escape(__version__)} · the same as data: barostat diagnose -o json</p></footer>"
    return page(title, f"{head}{notes}{fleet}{sections}{foot}", REPORT_STYLE)


def replica_html(replica: ReplicaReport, window: Window | None, marks: tuple[tuple[float, str], ...] = ()) -> str:
    """What the report says about one replica, as HTML. `marks`: instants (unix seconds) to show in the drawings."""
    engine = f"vLLM {replica.engine_version}" if replica.engine_version else "vLLM, version not known"
    lines = [f"<p class='soft'>{escape(replica.name)} · {escape(engine)}</p>", verdict(replica.diagnosis)]
    if (trigger := replica.diagnosis.trigger) is not None:
        lines.append(f"<p>Trigger: <b>{escape(trigger.kind)}</b>, {escape(trigger.detail)}</p>")
    if replica.forecast.exhaustion_in_s is not None:
        when = duration(replica.forecast.exhaustion_in_s)
        lines.append(f"<p>Forecast: the KV pool is full in about <b>{when}</b>: {escape(replica.forecast.because)}</p>")
    if window is not None:
        lines.append(_drawings(window, replica.diagnosis, marks))
    present = [finding for finding in replica.symptoms if isinstance(finding.verdict, Present)]
    carrying = [finding for finding in present if finding.name in replica.rests_on]
    lines += [
        _list("Why", [_finding(finding) for finding in carrying]),
        _list("What to do, in order", [_step(step) for step in replica.next], "ol"),
        _list("What to leave", [f"<b>{escape(step.lever)}</b>: {escape(step.because)}" for step in replica.not_advised]),
        _list("Why not the others", [f"<b>{escape(item.cause)}</b>: {escape(item.because)}" for item in replica.ruled_out]),
        _list("Not ruled out", [f"<b>{escape(item.cause)}</b>: {escape(item.because)}" for item in replica.not_ruled_out]),
        _list("Contributing", [escape(text) for text in replica.contributing]),
        _list("Also seen", [_finding(finding) for finding in present if finding not in carrying]),
        _list("What would tell more", [escape(text) for text in replica.missing]),
        _list("Notes", [escape(text) for text in replica.problems]),
    ]
    unknown = [f"{escape(f.name)}: {escape(f.verdict.why)}" for f in replica.symptoms if isinstance(f.verdict, Unknown)]
    if unknown:
        lines.append(f"<details><summary>{len(unknown)} symptoms could not be judged</summary>{_items(unknown)}</details>")
    return "".join(lines)


def verdict(diagnosis: Diagnosis) -> str:
    """The cause, how bad, how sure, and the sentence, as HTML."""
    sure = f" <span class='soft'>{diagnosis.confidence:.0%} sure</span>" if diagnosis.cause != "unknown" else ""
    return (
        f"<div class='verdict {diagnosis.severity}'><p><span class='badge'>{WORDS[diagnosis.severity]}</span>"
        f"<b>{escape(cause_words(diagnosis))}</b>{sure}</p><p>{escape(diagnosis.summary)}</p></div>"
    )


def _fleet_table(report: Report) -> str:
    rows = "".join(f"<tr>{''.join(_fleet_cells(replica))}</tr>" for replica in report.replicas)
    return f"<table><tr><th>replica</th><th></th><th></th><th>sure</th></tr>{rows}</table>"


def _fleet_cells(replica: ReplicaReport) -> tuple[str, ...]:
    found = replica.diagnosis
    badge = f"<span class='badge {found.severity}'>{WORDS[found.severity]}</span>"
    sure = f"{found.confidence:.0%}" if found.cause != "unknown" else "-"
    return (f"<td>{escape(replica.name)}</td><td>{badge}</td>", f"<td class='words'>{escape(cause_words(found))}</td><td>{sure}</td>")


def _finding(finding: SymptomFinding) -> str:
    found = finding.verdict
    assert isinstance(found, Present)
    evidence = [escape(evidence_words(item)) for item in found.evidence]
    behind = f"<details><summary>evidence</summary>{_items(evidence)}</details>" if evidence else ""
    return f"<b>{escape(finding.name)}</b>: {escape(found.because)}{behind}"


def _step(step: NextStep) -> str:
    cost = "restarts the engine" if step.restarts else "live, at your gateway" if step.lever.startswith("edge-") else "live"
    return f"<code>{escape(step.change)}</code><span class='tag'>{cost}</span><br/>{escape(step.because)}"


def _list(title: str, items: Sequence[str], kind: str = "ul") -> str:
    return f"<h2>{escape(title)}</h2>{_items(items, kind)}" if items else ""


def _items(items: Sequence[str], kind: str = "ul") -> str:
    return f"<{kind}>{''.join(f'<li>{item}</li>' for item in items)}</{kind}>"


def _drawings(window: Window, diagnosis: Diagnosis, marks: tuple[tuple[float, str], ...]) -> str:
    """The signals that carry a diagnosis of load, with their limits, over the time that was looked at."""
    drawn = [chart for chart in _charts(window, diagnosis) if any(len(line.points) > 1 for line in chart.lines)]
    instants = [at for chart in drawn for line in chart.lines for at, _ in line.points]
    if not instants:
        return ""
    return charts(drawn, Span(min(instants), max(instants), marks, zero_s=min(instants)))


def _charts(window: Window, diagnosis: Diagnosis) -> list[Chart]:
    pool, slots = window.signals.get("kv_pool_tokens"), window.signals.get("max_running_requests")
    full = ((1.0, "full" if pool is None else f"{plain(pool.last)} tokens"),)
    found = [
        Chart("KV usage", _lines(window, kv_usage_ratio=""), percent, 1.0, full),
        Chart("Requests", _lines(window, running_requests="running", waiting_requests="waiting"), plain, limits=_limit(slots, "slots")),
        Chart("Preemptions per second", _lines(window, preemptions_per_s=""), plain),
        Chart("Output tokens per second", _lines(window, generation_tokens_per_s=""), plain),
        Chart("Time to first token", _lines(window, ttft_mean_s=""), duration, note=_quantile(window, "ttft_p99_s", duration)),
        Chart("Time between tokens", _lines(window, itl_mean_s=""), duration, note=_quantile(window, "itl_p99_s", duration)),
    ]
    if diagnosis.cause == "host-bound":
        limit = _limit(window.signals.get("cpu_limit_cores"), "cores there are")
        found.append(Chart("CPU cores", _lines(window, cpu_usage_cores="all", api_server_cpu_cores="API server"), plain, limits=limit))
    return found


def _lines(window: Window, **names: str) -> tuple[Line, ...]:
    """Signals by name, with what their line is called; those of one source only, so that the axis is one."""
    found = [(window.signals[name], words) for name, words in names.items() if name in window.signals]
    return tuple(Line(signal.points, words, "second" if place else "") for place, (signal, words) in enumerate(found))


def _limit(signal: Signal | None, name: str) -> tuple[tuple[float, str], ...]:
    return () if signal is None else ((signal.last, f"{plain(signal.last)} {name}"),)


def _quantile(window: Window, name: str, words: Callable[[float], str]) -> str:
    signal = window.signals.get(name)
    return "mean" + ("" if signal is None else f"; p99 of all {words(signal.last)}")
