"""A simulated run as one HTML page that needs nothing else: the numbers, and KV usage, running and waiting over time."""

from __future__ import annotations

from html import escape

from barostat.core.units import many
from barostat.shells.charts import Chart, Line, Span, charts, page, percent, plain
from barostat.shells.simulation_report import came_in, seconds
from barostat.twin.outcome import Outcome
from barostat.twin.settings import Settings
from barostat.twin.summary import Bin, Summary

_STYLE = ".stuck{color:var(--bad);font-weight:600}"


def simulation_html(title: str, settings: Settings, outcome: Outcome, summary: Summary) -> str:
    """The page."""
    rows = []
    for name, spread in (("TTFT", summary.ttft), ("ITL", summary.itl), ("end to end", summary.e2e), ("queue", summary.queue)):
        values = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.highest)
        rows.append(f"<tr><td>{name}</td>" + "".join(f"<td>{seconds(value)}</td>" for value in values) + "</tr>")
    facts = [
        f"{came_in(summary)}: {summary.finished:,} finished, {summary.rejected:,} rejected",
        f"{summary.good_per_s:.4g} good requests/s of {summary.requests_per_s:.4g}, {summary.output_tokens_per_s:,.5g} output tokens/s",
        (
            f"{many(outcome.preemptions, 'preemption')}, {many(outcome.recomputed_tokens, 'token')} computed again; "
            f"{summary.hit_ratio:.1%} of the prompt tokens were in the prefix cache"
        ),
    ]
    stuck = f'<p class="stuck">Stuck: {escape(outcome.stuck)}</p>' if outcome.stuck else ""
    body = (
        f"<h1>{escape(title)}</h1>{stuck}<p>{'<br/>'.join(map(escape, facts))}</p>"
        "<table><tr><th></th><th>mean</th><th>p50</th><th>p90</th><th>p95</th><th>p99</th><th>max</th></tr>"
        f"{''.join(rows)}</table>{_charts(settings, summary.bins)}"
    )
    return page(title, body, _STYLE)


def _charts(settings: Settings, bins: tuple[Bin, ...]) -> str:
    if not bins:
        return ""
    usage = (
        Line([(one.at_s, one.usage_max_ratio) for one in bins], "highest", "pale"),
        Line([(one.at_s, one.usage_mean_ratio) for one in bins], "mean"),
    )
    drawn = (
        Chart("KV usage", usage, percent, top=1.0, note=f"of {many(settings.usable_blocks, 'block')}"),
        Chart("Running", (Line([(one.at_s, one.running) for one in bins]),), plain, limits=((settings.running_limit, "limit"),)),
        Chart("Waiting", (Line([(one.at_s, one.waiting) for one in bins]),), plain),
    )
    return charts(drawn, Span(bins[0].at_s, max(bins[-1].at_s, bins[0].at_s + 1e-9)))
