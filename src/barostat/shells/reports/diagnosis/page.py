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
from barostat.shells.reports.sheet.blocks import (
    BREAK,
    Badge,
    Beside,
    Block,
    Charts,
    Document,
    Folded,
    Footer,
    Heading,
    Inline,
    Item,
    Items,
    Listing,
    Paragraph,
    Section,
    Table,
    Text,
    Tiles,
    Verdict,
    bold,
    code,
    named,
    soft,
    tag,
)
from barostat.shells.reports.sheet.charts import Chart, Line, Span
from barostat.shells.reports.sheet.forms import as_html
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
    notes: list[Block] = [
        Paragraph((bold("Remedy under way"), f": {remedy_words(remedy)}"))
        for remedy in report.remedies
    ]
    notes += [Paragraph(f"Note: {problem}", "soft") for problem in report.problems]
    blocks: list[Block]
    if len(report.replicas) == 1:
        (replica,) = report.replicas
        blocks = [
            Heading("diagnose", report.target, " · ".join([_about(replica), *at])),
            *replica_blocks(replica, windows.get(replica.name), heading=False),
            *notes,
        ]
    else:
        about = " · ".join([f"{len(report.replicas)} replicas", *at])
        blocks = [
            Heading("diagnose", report.target, about),
            verdict(report.fleet),
            *notes,
            _fleet_table(report),
            *(
                Section(
                    _about(replica),
                    replica_blocks(replica, windows.get(replica.name), heading=False),
                    apart=True,
                )
                for replica in report.replicas
            ),
        ]
    blocks.append(Footer("the same as data: barostat diagnose -o json"))
    return as_html(Document(f"Barostat: {report.target}", blocks))


def replica_blocks(
    replica: ReplicaReport,
    window: Window | None,
    marks: tuple[tuple[float, str], ...] = (),
    *,
    heading: bool = True,
) -> list[Block]:
    """What the report says about one replica. `marks`: instants (unix seconds) to show; `heading`:
    with its name and version.
    """
    blocks: list[Block] = [Paragraph(_about(replica), "soft")] if heading else []
    blocks.append(verdict(replica.diagnosis))
    if (trigger := replica.diagnosis.trigger) is not None:
        blocks.append(Paragraph(("Trigger: ", bold(trigger.kind), f", {trigger.detail}")))
    if replica.forecast.exhaustion_in_s is not None:
        when = duration(replica.forecast.exhaustion_in_s)
        forecast = f": {replica.forecast.because}"
        blocks.append(Paragraph(("Forecast: the KV pool is full in about ", bold(when), forecast)))
    if window is not None:
        blocks += [_tiles(window), _drawings(window, replica.diagnosis, marks)]
    present = [finding for finding in replica.symptoms if isinstance(finding.verdict, Present)]
    carrying = [finding for finding in present if finding.name in replica.rests_on]
    also = [finding for finding in present if finding not in carrying]
    told = (
        Listing("Why", [_finding(finding) for finding in carrying]),
        Listing(
            "Next steps", [_step(step, replica.trials) for step in replica.next], numbered=True
        ),
        Listing("Don't", [named(step.lever, str(step.because)) for step in replica.not_advised]),
    )
    beyond = (
        Listing("Ruled out", [named(item.cause, item.because) for item in replica.ruled_out]),
        Listing(
            "Not ruled out", [named(item.cause, item.because) for item in replica.not_ruled_out]
        ),
        Listing("Contributing", replica.contributing),
        Listing("Also seen", [_finding(finding) for finding in also]),
        Listing("Missing data", replica.missing),
        Listing("Notes", replica.problems),
    )
    blocks += [*_forecasts(replica, window), Beside(told, beyond)]
    unknown = [
        f"{found.name}: {found.verdict.why}"
        for found in replica.symptoms
        if isinstance(found.verdict, Unknown)
    ]
    if unknown:
        summary = f"{many(len(unknown), 'symptom')} could not be judged"
        blocks.append(Folded(summary, [Items(unknown)]))
    return blocks


def verdict(diagnosis: Diagnosis) -> Verdict:
    """The cause, how bad, how sure, and the sentence."""
    return Verdict(
        diagnosis.severity,
        WORDS[diagnosis.severity],
        cause_words(diagnosis),
        diagnosis.summary,
        f"{diagnosis.confidence:.0%} sure" if diagnosis.cause != "unknown" else "",
    )


def _about(replica: ReplicaReport) -> str:
    return (
        f"{replica.name} · "
        f"{f'vLLM {replica.engine_version}' if replica.engine_version else 'vLLM, version not known'}"
    )


def _fleet_table(report: ShownReport) -> Table:
    rows = [_fleet_row(replica) for replica in report.replicas]
    return Table([("replica", "", "cause", "sure"), *rows], (0, 2))


def _fleet_row(replica: ReplicaReport) -> tuple[Text, ...]:
    found = replica.diagnosis
    badge = (Badge(WORDS[found.severity], found.severity),)
    sure = f"{found.confidence:.0%}" if found.cause != "unknown" else "-"
    return (replica.name, badge, cause_words(found), sure)


def _finding(finding: SymptomFinding) -> Item:
    found = finding.verdict
    assert isinstance(found, Present)
    evidence = [evidence_words(item) for item in found.evidence]
    below = [Folded("evidence", [Items(evidence)])] if evidence else []
    return Item(named(finding.name, found.because), below)


def _step(step: NextStep, trials: Trials | None) -> Text:
    cost = (
        "restarts the engine"
        if step.restarts
        else "live, at your gateway"
        if step.lever.startswith("edge-")
        else "live"
    )
    effect = effect_words(step, trials)
    below: tuple[Inline, ...] = (BREAK, soft(effect)) if effect else ()
    written = str(as_written(step.change))
    return (code(written), " ", tag(cost), BREAK, str(step.because), *below)


_MEASURED = {
    "output_tokens_per_s": "generation_tokens_per_s",
    "ttft_mean_s": "ttft_mean_s",
    "ttft_p99_s": "ttft_p99_s",
    "itl_mean_s": "itl_mean_s",
    "itl_p99_s": "itl_p99_s",
    "preempted_per_s": "preemptions_per_s",
}
"""Fields of a forecast -> the signals that show the same of the engine."""


def _forecasts(replica: ReplicaReport, window: Window | None) -> list[Block]:
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
        return [Paragraph(line, "soft") for line in told]
    below = [Paragraph(line, "soft") for line in told[1:]]
    return [Section("Forecast of the next steps", [Table(found, (0, 1)), *below], small=True)]


_FIGURES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("KV usage", "kv_usage_ratio", percent),
    ("Running", "running_requests", plain),
    ("Waiting", "waiting_requests", plain),
    ("Preemptions/s", "preemptions_per_s", rate_words),
    ("TTFT p99", "ttft_p99_s", format_seconds),
    ("ITL p99", "itl_p99_s", format_seconds),
)


def _tiles(window: Window) -> Tiles:
    """What a person asks for first, over the whole window; empty where the engine showed none."""
    found = [
        (name, words(_over_window(one)), _window_words(one, words))
        for name, signal, words in _FIGURES
        if (one := window.signals.get(signal)) is not None
    ]
    return Tiles(found)


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


def _drawings(window: Window, diagnosis: Diagnosis, marks: tuple[tuple[float, str], ...]) -> Charts:
    """The signals that carry a diagnosis of load, with their limits, over the time that was looked
    at.
    """
    drawn = [
        chart
        for chart in _charts(window, diagnosis)
        if any(len(line.points) > 1 for line in chart.lines)
    ]
    instants = [at for chart in drawn for line in chart.lines for at, _ in line.points]
    first, last = min(instants, default=0.0), max(instants, default=0.0)
    return Charts(drawn, Span(first, last, marks, zero_s=first))


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
