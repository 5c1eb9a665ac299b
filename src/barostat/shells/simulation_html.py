"""A simulated run as one HTML page that needs nothing else: the numbers, and KV usage, running and waiting over time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from barostat.shells.simulation_report import seconds
from barostat.twin.outcome import Outcome
from barostat.twin.settings import Settings
from barostat.twin.summary import Bin, Summary

_WIDTH, _HEIGHT, _LEFT = 720, 150, 56
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.2rem .9rem .2rem 0;text-align:right}
td:first-child,th:first-child{text-align:left}
h2{font-size:1rem;margin:1.6rem 0 .2rem}svg{display:block}
text{font:12px system-ui,sans-serif;fill:#57606a}.stuck{color:#b3261e;font-weight:600}
"""


def simulation_html(title: str, settings: Settings, outcome: Outcome, summary: Summary) -> str:
    """The page."""
    rows = []
    for name, spread in (("TTFT", summary.ttft), ("ITL", summary.itl), ("end to end", summary.e2e), ("queue", summary.queue)):
        values = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.highest)
        rows.append(f"<tr><td>{name}</td>" + "".join(f"<td>{seconds(value)}</td>" for value in values) + "</tr>")
    facts = [
        f"{summary.requests:,} requests in {seconds(summary.duration_s)}: {summary.finished:,} finished, {summary.rejected:,} rejected",
        f"{summary.good_per_s:.4g} good requests/s of {summary.requests_per_s:.4g}, {summary.output_tokens_per_s:,.5g} output tokens/s",
        (
            f"{outcome.preemptions:,} preemptions, {outcome.recomputed_tokens:,} tokens computed again; "
            f"{summary.hit_ratio:.1%} of the prompt tokens were in the prefix cache"
        ),
    ]
    stuck = f'<p class="stuck">Stuck: {escape(outcome.stuck)}</p>' if outcome.stuck else ""
    charts = (
        _chart(f"KV usage of {settings.usable_blocks:,} blocks (mean and highest)", summary.bins, _usage(summary.bins), 1.0, percent=True)
        + _chart("running", summary.bins, [[one.running for one in summary.bins]], None)
        + _chart("waiting", summary.bins, [[one.waiting for one in summary.bins]], None)
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1>{stuck}<p>{'<br>'.join(map(escape, facts))}</p>"
        "<table><tr><th></th><th>mean</th><th>p50</th><th>p90</th><th>p95</th><th>p99</th><th>max</th></tr>"
        f"{''.join(rows)}</table>{charts}</body></html>\n"
    )


def _usage(bins: Sequence[Bin]) -> list[list[float]]:
    return [[one.usage_max_ratio for one in bins], [one.usage_mean_ratio for one in bins]]


def _chart(title: str, bins: Sequence[Bin], lines: list[list[float]], top: float | None, *, percent: bool = False) -> str:
    """One drawing over time; the last line is the strong one."""
    if not bins:
        return ""
    highest = top or max(1.0, *(value for line in lines for value in line))
    first, last = bins[0].at_s, max(bins[-1].at_s, bins[0].at_s + 1e-9)

    def place(one: Bin, value: float) -> str:
        x = _LEFT + (one.at_s - first) / (last - first) * (_WIDTH - _LEFT - 8)
        return f"{x:.1f},{8 + (1 - value / highest) * (_HEIGHT - 32):.1f}"

    drawn = "".join(
        f'<polyline fill="none" stroke="{"#0b57d0" if index == len(lines) - 1 else "#a8c7fa"}" stroke-width="1.6" '
        f'points="{" ".join(place(one, value) for one, value in zip(bins, line, strict=True))}"/>'
        for index, line in enumerate(lines)
    )
    label = f"{highest:.0%}" if percent else f"{highest:,.3g}"
    floor = _HEIGHT - 24
    return (
        f'<h2>{escape(title)}</h2><svg role="img" aria-label="{escape(title)}" width="{_WIDTH}" height="{_HEIGHT}">'
        f'<path d="M{_LEFT} 8V{floor}H{_WIDTH - 8}" fill="none" stroke="#d0d7de"/>'
        f'<text x="{_LEFT - 6}" y="14" text-anchor="end">{label}</text>'
        f'<text x="{_LEFT - 6}" y="{floor}" text-anchor="end">0</text><text x="{_LEFT}" y="{_HEIGHT - 6}">{seconds(first)}</text>'
        f'<text x="{_WIDTH - 8}" y="{_HEIGHT - 6}" text-anchor="end">{seconds(last)}</text>{drawn}</svg>'
    )
