"""The diagnosis as one HTML page that needs nothing else, to attach to a ticket: the report, and
the signals behind it over time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from barostat.core.diagnosis import Diagnosis, NextStep, ReplicaReport, SymptomFinding, Trials
from barostat.core.shown import ShownReport
from barostat.core.signal import Signal
from barostat.core.units import many
from barostat.core.verdict import Present, Unknown
from barostat.core.window import Window
from barostat.judge.advice.change_text import as_written
from barostat.judge.advice.remedy_text import remedy_words
from barostat.shells.reports.diagnosis.forecasts import effect_words, rate_words, rows, trials_words
from barostat.shells.reports.diagnosis.text import WORDS, cause_words, evidence_words
from barostat.shells.reports.sheet.charts import Chart, Line, Span, charts
from barostat.shells.reports.sheet.page import (
    beside,
    figures,
    folded,
    footer,
    heading,
    items,
    listing,
    page,
    table,
)
from barostat.shells.reports.sheet.page import verdict as verdict_card
from barostat.shells.reports.sheet.safe_text import escape
from barostat.shells.reports.sheet.scale import duration, percent, plain
from barostat.shells.reports.simulation.text import format_seconds


def report_html(report: ShownReport, windows: Mapping[str, Window]) -> str:
    """The page. `windows`: what each replica's report rests on, by the replica's name; one without
    gets no drawings.
    """
    at = (
        [datetime.fromtimestamp(report.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")]
        if report.at
        else []
    )
    under_way = "".join(
        f"<p><b>Remedy under way</b>: {escape(remedy_words(remedy))}</p>"
        for remedy in report.remedies
    )
    notes = under_way + "".join(
        f"<p class='soft'>Note: {escape(problem)}</p>" for problem in report.problems
    )
    foot = footer("the same as data: barostat diagnose -o json")
    if len(report.replicas) == 1:
        (replica,) = report.replicas
        head = heading("diagnose", report.target, " · ".join([_about(replica), *at]))
        return page(
            f"Barostat: {report.target}",
            f"{head}{replica_html(replica, windows.get(replica.name), named=False)}{notes}{foot}",
        )
    sections = "".join(
        f"<section><h2>{escape(_about(replica))}</h2>{replica_html(replica, windows.get(replica.name), named=False)}</section>"
        for replica in report.replicas
    )
    head = heading("diagnose", report.target, " · ".join([f"{len(report.replicas)} replicas", *at]))
    return page(
        f"Barostat: {report.target}",
        f"{head}{verdict(report.fleet)}{notes}{_fleet_table(report)}{sections}{foot}",
    )


def replica_html(
    replica: ReplicaReport,
    window: Window | None,
    marks: tuple[tuple[float, str], ...] = (),
    *,
    named: bool = True,
) -> str:
    """What the report says about one replica, as HTML. `marks`: instants (unix seconds) to show;
    `named`: with its name and version.
    """
    lines = [f"<p class='soft'>{escape(_about(replica))}</p>"] if named else []
    lines.append(verdict(replica.diagnosis))
    if (trigger := replica.diagnosis.trigger) is not None:
        lines.append(f"<p>Trigger: <b>{escape(trigger.kind)}</b>, {escape(trigger.detail)}</p>")
    if replica.forecast.exhaustion_in_s is not None:
        when = duration(replica.forecast.exhaustion_in_s)
        lines.append(
            f"<p>Forecast: the KV pool is full in about <b>{when}</b>: "
            f"{escape(replica.forecast.because)}</p>"
        )
    if window is not None:
        lines += [_figures(window), _drawings(window, replica.diagnosis, marks)]
    present = [finding for finding in replica.symptoms if isinstance(finding.verdict, Present)]
    carrying = [finding for finding in present if finding.name in replica.rests_on]
    told = (
        listing("Why", [_finding(finding) for finding in carrying]),
        listing("Next steps", [_step(step, replica.trials) for step in replica.next], "ol"),
        listing(
            "Don't",
            [
                f"<b>{escape(step.lever)}</b>: {escape(str(step.because))}"
                for step in replica.not_advised
            ],
        ),
    )
    beyond = (
        listing(
            "Ruled out",
            [f"<b>{escape(item.cause)}</b>: {escape(item.because)}" for item in replica.ruled_out],
        ),
        listing(
            "Not ruled out",
            [
                f"<b>{escape(item.cause)}</b>: {escape(item.because)}"
                for item in replica.not_ruled_out
            ],
        ),
        listing("Contributing", [escape(text) for text in replica.contributing]),
        listing("Also seen", [_finding(finding) for finding in present if finding not in carrying]),
        listing("Missing data", [escape(text) for text in replica.missing]),
        listing("Notes", [escape(text) for text in replica.problems]),
    )
    lines += [_forecasts(replica, window), beside("".join(told), "".join(beyond))]
    unknown = [
        f"{escape(f.name)}: {escape(f.verdict.why)}"
        for f in replica.symptoms
        if isinstance(f.verdict, Unknown)
    ]
    if unknown:
        lines.append(folded(f"{many(len(unknown), 'symptom')} could not be judged", items(unknown)))
    return "".join(lines)


def verdict(diagnosis: Diagnosis) -> str:
    """The cause, how bad, how sure, and the sentence, as HTML."""
    sure = f"{diagnosis.confidence:.0%} sure" if diagnosis.cause != "unknown" else ""
    return verdict_card(
        diagnosis.severity,
        WORDS[diagnosis.severity],
        cause_words(diagnosis),
        diagnosis.summary,
        sure,
    )


def _about(replica: ReplicaReport) -> str:
    return (
        f"{replica.name} · "
        f"{f'vLLM {replica.engine_version}' if replica.engine_version else 'vLLM, version not known'}"
    )


def _fleet_table(report: ShownReport) -> str:
    rows = "".join(f"<tr>{''.join(_fleet_cells(replica))}</tr>" for replica in report.replicas)
    head = "<th class='words'>replica</th><th></th><th class='words'>cause</th><th>sure</th>"
    return f"<div class='scroll'><table><tr>{head}</tr>{rows}</table></div>"


def _fleet_cells(replica: ReplicaReport) -> tuple[str, ...]:
    found = replica.diagnosis
    badge = f"<span class='badge {found.severity}'>{WORDS[found.severity]}</span>"
    sure = f"{found.confidence:.0%}" if found.cause != "unknown" else "-"
    return (
        f"<td class='words'>{escape(replica.name)}</td><td>{badge}</td>",
        f"<td class='words'>{escape(cause_words(found))}</td><td>{sure}</td>",
    )


def _finding(finding: SymptomFinding) -> str:
    found = finding.verdict
    assert isinstance(found, Present)
    evidence = [escape(evidence_words(item)) for item in found.evidence]
    behind = folded("evidence", items(evidence)) if evidence else ""
    return f"<b>{escape(finding.name)}</b>: {escape(found.because)}{behind}"


def _step(step: NextStep, trials: Trials | None) -> str:
    cost = (
        "restarts the engine"
        if step.restarts
        else "live, at your gateway"
        if step.lever.startswith("edge-")
        else "live"
    )
    below = (
        f"<br/><span class='soft'>{escape(told)}</span>"
        if (told := effect_words(step, trials))
        else ""
    )
    return (
        f"<code>{escape(str(as_written(step.change)))}</code> <span "
        f"class='tag'>{cost}</span><br/>{escape(str(step.because))}{below}"
    )


_MEASURED = {
    "output_tokens_per_s": "generation_tokens_per_s",
    "ttft_mean_s": "ttft_mean_s",
    "ttft_p99_s": "ttft_p99_s",
    "itl_mean_s": "itl_mean_s",
    "itl_p99_s": "itl_p99_s",
    "preempted_per_s": "preemptions_per_s",
}
"""Fields of a forecast -> the signals that show the same of the engine."""


def _forecasts(replica: ReplicaReport, window: Window | None) -> str:
    """The next steps beside what was measured and today on the twin; or why there were no
    trials.
    """
    told = trials_words(replica)
    measured = {
        name: _over_window(window.signals[signal])
        for name, signal in _MEASURED.items()
        if window is not None and signal in window.signals
    }
    found = [
        (name, beside_today, *figures) for name, *figures, beside_today in rows(replica, measured)
    ]
    if not found:
        return "".join(f"<p class='soft'>{escape(line)}</p>" for line in told)
    below = "".join(f"<p class='soft'>{escape(line)}</p>" for line in told[1:])
    return f"<h3>Forecast of the next steps</h3>{table(found, (0, 1))}{below}"


_FIGURES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("KV usage", "kv_usage_ratio", percent),
    ("Running", "running_requests", plain),
    ("Waiting", "waiting_requests", plain),
    ("Preemptions/s", "preemptions_per_s", rate_words),
    ("TTFT p99", "ttft_p99_s", format_seconds),
    ("ITL p99", "itl_p99_s", format_seconds),
)


def _figures(window: Window) -> str:
    """What a person asks for first, over the whole window; empty where the engine showed none."""
    found = [
        (name, words(_over_window(one)), _window_words(one, words))
        for name, signal, words in _FIGURES
        if (one := window.signals.get(signal)) is not None
    ]
    return figures(found)


def _over_window(signal: Signal) -> float:
    """The one value of a signal on a page: of a quantile, which is of the whole window, the last;
    else the mean.
    """
    return signal.last if "_p99_" in signal.name else signal.mean


def _window_words(signal: Signal, words: Callable[[float], str]) -> str:
    """Over which time the value is, and how far single looks went."""
    if "_p99_" in signal.name:
        return "all requests of the window, within a histogram bucket"
    if signal.span_s <= 0:
        return "one look"
    span = f"mean of {duration(signal.span_s)}"
    return (
        f"{span}, {words(signal.high)} at most"
        if words(signal.high) != words(signal.mean)
        else span
    )


def _drawings(window: Window, diagnosis: Diagnosis, marks: tuple[tuple[float, str], ...]) -> str:
    """The signals that carry a diagnosis of load, with their limits, over the time that was looked
    at.
    """
    drawn = [
        chart
        for chart in _charts(window, diagnosis)
        if any(len(line.points) > 1 for line in chart.lines)
    ]
    instants = [at for chart in drawn for line in chart.lines for at, _ in line.points]
    if not instants:
        return ""
    return charts(drawn, Span(min(instants), max(instants), marks, zero_s=min(instants)))


def _charts(window: Window, diagnosis: Diagnosis) -> list[Chart]:
    pool, slots = window.signals.get("kv_pool_tokens"), window.signals.get("max_running_requests")
    full = ((1.0, "full" if pool is None else f"{plain(pool.last)} tokens"),)
    found = [
        Chart("KV usage", _lines(window, kv_usage_ratio=""), percent, 1.0, full),
        Chart(
            "Requests",
            _lines(window, running_requests="running", waiting_requests="waiting"),
            plain,
            limits=_limit(slots, "slot" if slots is not None and slots.last == 1 else "slots"),
            counts=True,
        ),
        Chart("Preemptions per second", _lines(window, preemptions_per_s=""), plain),
        Chart("Output tokens per second", _lines(window, generation_tokens_per_s=""), plain),
        Chart(
            "Time to first token",
            _lines(window, ttft_mean_s=""),
            duration,
            note="mean",
        ),
        Chart(
            "Time between tokens",
            _lines(window, itl_mean_s=""),
            duration,
            note="mean",
        ),
    ]
    if diagnosis.cause == "host-bound":
        limit = _limit(window.signals.get("cpu_limit_cores"), "cores there are")
        found.append(
            Chart(
                "CPU cores",
                _lines(window, cpu_usage_cores="all", api_server_cpu_cores="API server"),
                plain,
                limits=limit,
            )
        )
    return found


def _lines(window: Window, **names: str) -> tuple[Line, ...]:
    """Signals by name, with what their line is called; those of one source only, so that the axis
    is one.
    """
    found = [
        (window.signals[name], words) for name, words in names.items() if name in window.signals
    ]
    return tuple(
        Line(signal.points, words, "second" if place else "")
        for place, (signal, words) in enumerate(found)
    )


def _limit(signal: Signal | None, name: str) -> tuple[tuple[float, str], ...]:
    return () if signal is None else ((signal.last, f"{plain(signal.last)} {name}"),)
