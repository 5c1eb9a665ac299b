"""Candidates side by side: a table for a terminal, and the same as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from barostat.judge.outlook import Range
from barostat.judge.seen_traffic import SeenTraffic
from barostat.judge.side_by_side import NUMBERS, Change, Compared, changes
from barostat.shells.api_version import API_VERSION
from barostat.shells.simulation_report import seconds
from barostat.twin.latency import LinearPace
from barostat.twin.summary import Slo

_TITLES = {number.field: number.title for number in NUMBERS}
_KEYS = {
    "good_per_s": "goodRequestsPerSecond", "output_tokens_per_s": "outputTokensPerSecond", "ttft_p50_s": "ttftP50Seconds",
    "ttft_p99_s": "ttftP99Seconds", "itl_p50_s": "itlP50Seconds", "itl_p99_s": "itlP99Seconds", "kv_usage_ratio": "kvUsageRatio",
    "running": "running", "waiting": "waiting", "preempted_per_s": "preemptionsPerSecond", "recomputed_per_s": "recomputedTokensPerSecond",
    "refused_ratio": "refusedRatio", "requests_per_s": "requestsPerSecond",
}  # fmt: skip


def side_by_side(shown: Sequence[Compared], measured: Mapping[str, float]) -> str:
    """A column for each, a row for each number, expected and what it may be; then what is told of each difference from today."""
    columns = [[one.name, *(_range_cell(number.field, one.range(number.field)) for number in NUMBERS)] for one in shown]
    if measured:
        seen = {**measured, "good_per_s": None}
        columns.insert(0, ["measured", *(_cell(number.field, seen.get(number.field)) for number in NUMBERS)])
    columns.insert(0, ["", *(number.title for number in NUMBERS)])
    widths = [max(map(len, column)) for column in columns]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in zip(*columns, strict=True)]
    lines += [f"{one.name} is STUCK: {one.stuck}" for one in shown if one.stuck]
    lines += ["", *(f"{one.name}: {told(changes(shown[0], one))}" for one in shown[1:])]
    return "\n".join(lines).rstrip() + "\n"


def told(found: Sequence[Change]) -> str:
    """The differences in one sentence: what gets better, what gets worse, what cannot be told."""
    parts = []
    for word, wanted in (("better", True), ("worse", False)):
        those = [_change(one) for one in found if one.told and one.better is wanted]
        if those:
            parts.append(f"{word}: {', '.join(those)}")
    if not parts:
        return "no difference from today that is more than chance"
    open_ = [_TITLES[one.field] for one in found if not one.told]
    return "; ".join(parts) + (f"; within noise: {', '.join(open_)}" if open_ else "")


def what_if_json(
    shown: Sequence[Compared], slo: Slo, source: str, traffic: SeenTraffic | None, pace: object, measured: Mapping[str, float],
    notes: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """`kind: WhatIf` of a running engine as plain data."""
    from barostat.shells.simulation_report import settings_json

    return {
        "apiVersion": API_VERSION,
        "kind": "WhatIf",
        "from": source,
        "traffic": None if traffic is None else traffic_json(traffic),
        "pace": pace_json(pace),
        "slo": {"ttftSeconds": slo.ttft_s, "itlSeconds": slo.itl_s},
        "measured": {_KEYS[name]: _short(value) for name, value in measured.items()},
        "candidates": [
            {
                "name": one.name,
                "settings": settings_json(one.settings),
                **{_KEYS[number.field]: range_json(one.range(number.field)) for number in NUMBERS},
                "changes": [_change_json(change) for change in changes(shown[0], one)] if one is not shown[0] else None,
                "stuck": one.stuck or None,
            }
            for one in shown
        ],
        "notes": list(notes),
    }


def traffic_json(traffic: SeenTraffic) -> dict[str, Any]:
    """The seen traffic as plain data."""
    return {
        "seconds": _short(traffic.span_s),
        "requestsPerSecond": _short(traffic.rate_per_s),
        "inputTokensMean": _short(traffic.prompts.mean_tokens),
        "outputTokensMean": _short(traffic.outputs.mean_tokens),
        "prefixCacheHitRatio": _short(traffic.hit_ratio),
        "clients": traffic.clients,
    }


def pace_json(pace: object) -> dict[str, Any] | None:
    """A calibrated pace as plain data; None for one that was given in another way."""
    if not isinstance(pace, LinearPace):
        return None
    return {
        "baseSeconds": _short(pace.base_s), "prefillTokenSeconds": _short(pace.prefill_token_s), "decodeSeconds": _short(pace.decode_s),
        "kvTokenSeconds": _short(pace.kv_token_s), "errorRatio": _short(pace.error_ratio), "source": pace.source,
    }  # fmt: skip


def range_json(found: Range | None) -> dict[str, Any] | None:
    """A number with what it may be."""
    return None if found is None else {"mean": _short(found.mean), "low": _short(found.low), "high": _short(found.high)}


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "number": _KEYS[change.field], "difference": _short(change.difference), "standardError": _short(change.error),
        "ratio": None if change.ratio is None else _short(change.ratio), "moreThanChance": change.told, "better": change.better,
    }  # fmt: skip


def _change(change: Change) -> str:
    title = _TITLES[change.field]
    if change.ratio is None or abs(change.ratio) > 9.99:
        return f"{title} by {_cell(change.field, change.difference)}"
    return f"{title} {change.ratio:+.0%}"


def _range_cell(field: str, found: Range | None) -> str:
    """`1.51 (1.36 to 1.59)`; the number alone where nothing else is possible."""
    if found is None:
        return "-"
    low, mean, high = (_cell(field, value) for value in (found.low, found.mean, found.high))
    return mean if low == mean == high else f"{mean} ({low} to {high})"


def _cell(field: str, value: float | None) -> str:
    if value is None:
        return "-"
    if field.endswith("_ratio"):
        return f"{value:.1%}" if 0 < value < 0.1 else f"{value:.0%}"
    return seconds(value) if field.endswith("_s") and not field.endswith("per_s") else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _short(value: float) -> float:
    return float(f"{value:.9g}")
