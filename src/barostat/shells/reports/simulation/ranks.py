"""Report section on the data-parallel ranks of a simulated run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barostat.core.units import many
from barostat.shells.reports.sheet.blocks import Paragraph, Section, Table
from barostat.shells.reports.simulation.data import format_seconds

if TYPE_CHECKING:
    from barostat.judge.experiments.ranked import Ranked


def ranks_section(found: Ranked) -> Section:
    """Return a table with a row per rank, and a sentence on the ranks that thrash."""
    rows = [("rank", "requests", "preemptions", "KV usage", "at most", "TTFT p99", "ITL p99")]
    for rank, (one, summary) in enumerate(zip(found.outcome.ranks, found.summaries, strict=True)):
        rows.append(
            (
                f"{rank}",
                f"{len(one.lives):,}",
                f"{one.preemptions:,}",
                f"{summary.usage_mean_ratio:.0%}",
                f"{summary.usage_max_ratio:.0%}",
                format_seconds(summary.ttft.p99),
                format_seconds(summary.itl.p99),
            )
        )
    return Section("Data-parallel ranks", [Table(rows), *map(Paragraph, _named(found))])


def _named(found: Ranked) -> list[str]:
    ranks, thrashing = found.outcome.ranks, found.thrashing
    if not thrashing:
        return []
    worst = ranks[thrashing[0]]
    told = (
        f"rank {thrashing[0]} THRASHES: {many(worst.preemptions, 'preemption')} of "
        f"{many(len(worst.lives), 'request')}"
    )
    if len(thrashing) == len(ranks):
        return [f"Every rank preempts; {told}."]
    others = [str(rank) for rank in range(len(ranks)) if rank not in thrashing]
    calm = f"rank{'s' if len(others) > 1 else ''} {', '.join(others)}"
    more = f", and so {'do' if len(thrashing) > 2 else 'does'} {_list(thrashing[1:])}"
    return [f"{told[0].upper()}{told[1:]}{more if thrashing[1:] else ''}; {calm} not."]


def _list(ranks: tuple[int, ...]) -> str:
    return ", ".join(str(rank) for rank in ranks)


def ranks_json(found: Ranked) -> dict[str, Any]:
    """Return the ranks as plain data."""
    return {
        "ranks": [
            {
                "rank": rank,
                "requests": len(one.lives),
                "preemptions": one.preemptions,
                "recomputedTokens": one.recomputed_tokens,
                "kvUsageMeanRatio": summary.usage_mean_ratio,
                "kvUsageMaxRatio": summary.usage_max_ratio,
                "thrashes": rank in found.thrashing,
            }
            for rank, (one, summary) in enumerate(
                zip(found.outcome.ranks, found.summaries, strict=True)
            )
        ],
        "ranksStepTogether": found.in_step,
        "dummySteps": found.outcome.dummy_steps,
    }
