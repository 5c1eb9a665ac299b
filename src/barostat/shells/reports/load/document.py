"""A load as a document."""

from __future__ import annotations

from barostat.core.units import figure, many
from barostat.judge.load_test.figures import Figures
from barostat.shells.reports.load.data import sender, spreads
from barostat.shells.reports.sheet.blocks import (
    Charts,
    Document,
    Footer,
    Heading,
    Paragraph,
    Section,
    Table,
    Tiles,
    Verdict,
)
from barostat.shells.reports.sheet.charts import Chart, Line, Span
from barostat.shells.reports.sheet.scale import duration, percent, plain
from barostat.shells.reports.simulation.data import format_seconds
from barostat.twin.summary import Slo


def load_document(target: str, traffic: str, found: Figures, slo: Slo) -> Document:
    """Return the report of one run."""
    stopped = ", interrupted" if found.interrupted else ""
    blocks = (
        Heading("load", target, f"{traffic}; {format_seconds(found.duration_s)}{stopped}"),
        _verdict(found),
        Tiles(tiles(found, slo)),
        Paragraph(f"Sender: {sender(found.keeping)}", "soft"),
        over_time(found, slo),
        Section("Latencies", [latencies(found)]),
        Section("Not answered", _reasons(found)),
        Footer("the same as data: barostat load -o json"),
    )
    return Document(f"Barostat: load on {target}", blocks)


def tiles(found: Figures, slo: Slo) -> list[tuple[str, str, str]]:
    """The numbers that matter."""
    good = (
        ""
        if slo.ttft_s is None and slo.itl_s is None
        else f"{figure(found.good_per_s, 4)}/s within the SLO ({_share(found):.0%})"
    )
    rows = [
        ("Requests", f"{figure(found.ok_per_s, 4)}/s", good),
        (
            "Output tokens",
            f"{found.output_tokens_per_s:,.5g}/s",
            f"{found.input_tokens_per_s:,.5g} input tokens/s",
        ),
        (
            "TTFT p99",
            format_seconds(found.ttft.p99),
            "" if slo.ttft_s is None else f"{format_seconds(slo.ttft_s)} allowed",
        ),
        (
            "ITL p99",
            format_seconds(found.itl.p99),
            "" if slo.itl_s is None else f"{format_seconds(slo.itl_s)} allowed",
        ),
    ]
    if found.engine is not None:
        seen = found.engine
        rows += [
            (
                "KV usage",
                percent(seen.usage_mean_ratio),
                f"{percent(seen.usage_max_ratio)} at most",
            ),
            (
                "Preemptions",
                f"{seen.preemptions:,}",
                f"{seen.running_max:,} running, {seen.waiting_max:,} waiting at most",
            ),
        ]
    return rows


def _share(found: Figures) -> float:
    return found.good_per_s / found.ok_per_s if found.ok_per_s else 0.0


def latencies(found: Figures) -> Table:
    """The table of latencies."""
    rows: list[tuple[str, ...]] = [("", "mean", "p50", "p90", "p95", "p99", "max")]
    for name, spread in spreads(found):
        values = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.highest)
        rows.append((name, *(format_seconds(value) for value in values)))
    return Table(rows)


def over_time(found: Figures, slo: Slo) -> Charts:
    """Return charts of what clients saw over time."""
    if len(found.stretches) < 2:
        return Charts((), Span(0.0, 1.0))
    at = [one.at_s for one in found.stretches]
    waits = [(one.at_s, one.ttft_p99_s) for one in found.stretches if one.ttft_p99_s is not None]
    sent = Line([(one.at_s, one.sent_per_s) for one in found.stretches], "sent", "pale")
    done = Line([(one.at_s, one.done_per_s) for one in found.stretches], "answered")
    limits = () if slo.ttft_s is None else ((slo.ttft_s, f"allowed {format_seconds(slo.ttft_s)}"),)
    usage = Line([(one.at_s, one.usage_ratio) for one in found.readings])
    waiting = Line([(one.at_s, float(one.waiting)) for one in found.readings])
    drawn = (
        Chart("Requests per second", (sent, done), plain),
        Chart(
            "In flight",
            (Line([(one.at_s, float(one.under_way)) for one in found.stretches]),),
            plain,
            counts=True,
        ),
        Chart("TTFT p99", (Line(waits),), duration, limits=limits),
        Chart("KV usage", (usage,), percent, top=1.0),
        Chart("Waiting in the engine", (waiting,), plain, counts=True),
    )
    return Charts(drawn, Span(0.0, max(at[-1], 1e-9)))


def _verdict(found: Figures) -> Verdict:
    counted = (
        f"{found.ok:,} of {many(found.sent, 'request')} answered, {found.refused:,} refused, "
        f"{many(found.errors, 'error')}"
    )
    if not found.sent:
        return Verdict(
            "info", "NOTHING", "nothing was sent", "it was stopped before the first request was due"
        )
    if found.keeping.trouble:
        return Verdict(
            "warning", "SENDER", "the sender did not keep up", found.keeping.trouble, counted
        )
    if found.errors:
        return Verdict("critical", "ERRORS", f"{many(found.errors, 'request')} failed", counted)
    if found.refused:
        return Verdict("warning", "REFUSED", f"{many(found.refused, 'request')} refused", counted)
    if found.interrupted:
        return Verdict(
            "info",
            "STOPPED",
            f"stopped with {many(found.cut, 'request')} under way",
            counted,
        )
    if found.cut:
        return Verdict(
            "warning",
            "NOT ENDED",
            f"{many(found.cut, 'request')} did not end in time",
            counted,
        )
    return Verdict("none", "OK", "every request was answered", counted)


def _reasons(found: Figures) -> list[Table]:
    if not found.reasons:
        return []
    rows = [(reason, f"{count:,}") for reason, count in found.reasons.items()]
    return [Table([("Refused or failed with", "requests"), *rows])]
