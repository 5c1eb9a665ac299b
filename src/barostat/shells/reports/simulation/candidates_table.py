"""Candidates that were tried on a given load, as rows: each one's numbers, and what they may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barostat.judge.experiments.service_level import stated
from barostat.shells.reports.simulation.data import format_seconds
from barostat.twin.outcome import Outcome
from barostat.twin.summary import Slo, Summary


def candidate_rows(shown: list[tuple[str, Outcome, Summary]], slo: Slo) -> list[tuple[str, ...]]:
    """The table as cells, the heading first. Without a service level nothing is called good."""

    titles = (
        "good/s" if stated(slo) else "requests/s",
        "tokens/s",
        "TTFT p50",
        "TTFT p99",
        "ITL p50",
        "ITL p99",
        "KV mean",
        "preempted",
        "recomputed",
        "rejected",
    )
    rows: list[tuple[str, ...]] = [("", *titles)]
    for name, outcome, summary in shown:
        rows.append((
            name, f"{summary.good_per_s:.4g}", f"{summary.output_tokens_per_s:,.5g}",
            format_seconds(summary.ttft.p50), format_seconds(summary.ttft.p99),
            format_seconds(summary.itl.p50), format_seconds(summary.itl.p99), f"{summary.usage_mean_ratio:.0%}", f"{outcome.preemptions:,}",
            f"{outcome.recomputed_tokens:,}", f"{summary.rejected:,}",
        ))  # fmt: skip
    return rows


def off_rows(ends: Mapping[str, Sequence[Summary]]) -> list[tuple[str, ...]]:
    """What each comes to where steps are as short, and as long, as they may be, the heading first;
    nothing if they are exact.
    """

    def span(one: float | None, other: float | None) -> str:
        return f"{format_seconds(one)} to {format_seconds(other)}"

    rows = [
        (
            name,
            span(first.ttft.p99, last.ttft.p99),
            span(first.itl.p99, last.itl.p99),
            f"{last.output_tokens_per_s:,.5g} to {first.output_tokens_per_s:,.5g}",
        )
        for name, both in ends.items()
        if both
        for first, last in [(both[0], both[-1])]
    ]
    return (
        [("if steps are off as they may be", "TTFT p99", "ITL p99", "tokens/s"), *rows]
        if rows
        else []
    )
