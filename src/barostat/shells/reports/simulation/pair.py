"""The halves of a simulated prefill/decode pair, side by side, and the link between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barostat.core.units import figure, many
from barostat.shells.reports.sheet.blocks import Paragraph, Section, Table
from barostat.shells.reports.simulation.data import format_seconds, settings_json, short

if TYPE_CHECKING:
    from barostat.judge.experiments.paired import Paired


def pair_section(found: Paired) -> Section:
    """A row for each half, and a line on the link."""
    halves = (
        ("prefill", found.outcome.prefill, found.prefill),
        ("decode", found.outcome.decode, found.decode),
    )
    rows = [("engine", "requests", "preemptions", "KV usage", "at most", "queue p99")]
    rows += [
        (
            name,
            f"{len(outcome.lives):,}",
            f"{outcome.preemptions:,}",
            f"{summary.usage_mean_ratio:.0%}",
            f"{summary.usage_max_ratio:.0%}",
            format_seconds(summary.queue.p99),
        )
        for name, outcome, summary in halves
    ]
    took = found.transfers
    moved = figure(found.outcome.wire.sent_bytes / 1e9)
    link = (
        f"Link: {many(took.count, 'transfer')}, {moved} GB, p50 {format_seconds(took.p50)}, "
        f"p99 {format_seconds(took.p99)}; KV moves {found.link_busy_ratio:.0%} of the time."
    )
    narrow = "The LINK IS TOO NARROW: requests wait for their KV."
    said = [link, *([narrow] if found.link_is_narrow else [])]
    return Section("Prefill and decode", [Table(rows), *map(Paragraph, said)])


def pair_json(found: Paired) -> dict[str, Any]:
    """The pair as plain data."""
    took = found.transfers
    halves = (
        ("prefill", found.outcome.prefill, found.prefill),
        ("decode", found.outcome.decode, found.decode),
    )
    return {
        "pair": {
            "decodeSettings": settings_json(found.decode_settings),
            **{
                name: {
                    "requests": len(outcome.lives),
                    "preemptions": outcome.preemptions,
                    "recomputedTokens": outcome.recomputed_tokens,
                    "kvUsageMeanRatio": summary.usage_mean_ratio,
                    "kvUsageMaxRatio": summary.usage_max_ratio,
                    "queueP99Seconds": short(summary.queue.p99),
                }
                for name, outcome, summary in halves
            },
            "link": {
                "transfers": took.count,
                "bytes": round(found.outcome.wire.sent_bytes),
                "p50Seconds": short(took.p50),
                "p99Seconds": short(took.p99),
                "busyRatio": short(found.link_busy_ratio),
            },
        }
    }
