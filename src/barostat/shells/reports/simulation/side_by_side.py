"""Candidates side by side: as rows of a table, and as data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from barostat.judge.experiments.outlook import Range
from barostat.judge.experiments.service_level import stated
from barostat.judge.experiments.side_by_side import (
    NUMBERS,
    Compared,
    Difference,
    changes,
    title_of,
)
from barostat.judge.observed.traffic import ObservedTraffic
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.simulation.data import format_seconds, short
from barostat.shells.reports.simulation.slo_verdict import compared_outlooks, verdict_json
from barostat.twin.linear_pace import LinearPace
from barostat.twin.modelled import ModelledPace
from barostat.twin.summary import Slo

Buckets = Mapping[str, tuple[float, float]]
_KEYS = {
    "good_per_s": "goodRequestsPerSecond", "output_tokens_per_s": "outputTokensPerSecond",
    "ttft_mean_s": "ttftMeanSeconds", "itl_mean_s": "itlMeanSeconds", "ttft_p50_s": "ttftP50Seconds",
    "ttft_p99_s": "ttftP99Seconds", "itl_p50_s": "itlP50Seconds", "itl_p99_s": "itlP99Seconds", "kv_usage_ratio": "kvUsageRatio",
    "running": "running", "waiting": "waiting", "preempted_per_s": "preemptionsPerSecond", "recomputed_per_s": "recomputedTokensPerSecond",
    "refused_ratio": "refusedRatio", "requests_per_s": "requestsPerSecond",
}  # fmt: skip


def rows_of(
    shown: Sequence[Compared],
    slo: Slo,
    measured: Mapping[str, float],
    within: Buckets | None = None,
) -> list[tuple[str, ...]]:
    """The table as rows of cells, the heading first: a column for each candidate, before them what
    was measured, if anything was.

    `within`: the bucket that a measured quantile lies in, shown in place of the line that is drawn
    through it. Without a service level no request is called good: those that finished are counted,
    measured ones too.
    """
    columns = [
        [one.name, *(_range_cell(number.field, one.range(number.field)) for number in NUMBERS)]
        for one in shown
    ]
    if measured:
        seen = {**measured, "good_per_s": None if stated(slo) else measured.get("requests_per_s")}
        columns.insert(
            0,
            [
                "measured",
                *(
                    _seen_cell(number.field, seen.get(number.field), within or {})
                    for number in NUMBERS
                ),
            ],
        )
    columns.insert(0, ["", *(title_of(number.field, stated(slo)) for number in NUMBERS)])
    return list(zip(*columns, strict=True))


def what_if_json(
    shown: Sequence[Compared], slo: Slo, source: str, traffic: ObservedTraffic | None, pace: object, measured: Mapping[str, float],
    notes: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """`kind: WhatIf` of a running engine as plain data."""
    from barostat.shells.reports.simulation.data import settings_json

    outlooks = compared_outlooks(shown, slo)
    return {
        "apiVersion": API_VERSION,
        "kind": "WhatIf",
        "from": source,
        "traffic": None if traffic is None else traffic_json(traffic),
        "pace": pace_json(pace),
        "slo": {"ttftSeconds": slo.ttft_s, "itlSeconds": slo.itl_s},
        "verdict": verdict_json(outlooks),
        "measured": {_KEYS[name]: short(value) for name, value in measured.items()},
        "candidates": [
            {
                "name": one.name,
                "sloOutlook": outlooks.get(one.name),
                "settings": settings_json(one.settings),
                **{_KEYS[number.field]: range_json(one.range(number.field)) for number in NUMBERS},
                "changes": [_change_json(change) for change in changes(shown[0], one)]
                if one is not shown[0]
                else None,
                "stuck": one.stuck or None,
            }
            for one in shown
        ],
        "notes": list(notes),
    }


def traffic_json(traffic: ObservedTraffic) -> dict[str, Any]:
    """The seen traffic as plain data."""
    return {
        "seconds": short(traffic.span_s),
        "requestsPerSecond": short(traffic.rate_per_s),
        "inputTokensMean": short(traffic.prompts.mean_tokens),
        "outputTokensMean": short(traffic.outputs.mean_tokens),
        "prefixCacheHitRatio": short(traffic.hit_ratio),
        "clients": traffic.clients,
    }


def pace_json(pace: object) -> dict[str, Any] | None:
    """A calibrated pace as plain data; None for one that was given in another way."""
    if isinstance(pace, ModelledPace):
        return {"errorRatio": short(pace.error_ratio), "source": pace.source}
    if not isinstance(pace, LinearPace):
        return None
    return {
        "baseSeconds": short(pace.base_s), "prefillTokenSeconds": short(pace.prefill_token_s), "decodeSeconds": short(pace.decode_s),
        "kvTokenSeconds": short(pace.kv_token_s), "errorRatio": short(pace.error_ratio), "source": pace.source,
    }  # fmt: skip


def range_json(found: Range | None) -> dict[str, Any] | None:
    """A number with what it may be."""
    return (
        None
        if found is None
        else {"mean": short(found.mean), "low": short(found.low), "high": short(found.high)}
    )


def _change_json(change: Difference) -> dict[str, Any]:
    return {
        "number": _KEYS[change.field], "difference": short(change.difference),
        "standardError": short(change.error) if math.isfinite(change.error) else None,
        "ratio": None if change.ratio is None else short(change.ratio), "moreThanChance": change.significant, "better": change.better,
    }  # fmt: skip


def _range_cell(field: str, found: Range | None) -> str:
    """`1.51 (1.36 to 1.59)`; the number alone where nothing else is possible."""
    if found is None:
        return "-"
    low, mean, high = (_cell(field, value) for value in (found.low, found.mean, found.high))
    return mean if low == mean == high else f"{mean} ({low} to {high})"


def _seen_cell(field: str, value: float | None, within: Buckets) -> str:
    if value is None or field not in within:
        return _cell(field, value)
    low, high = within[field]
    return (
        f"up to {_cell(field, high)}"
        if low == 0
        else f"{_cell(field, low)} to {_cell(field, high)}"
    )


def _cell(field: str, value: float | None) -> str:
    if value is None:
        return "-"
    if field.endswith("_ratio"):
        return f"{value:.1%}" if 0 < value < 0.1 else f"{value:.0%}"
    return (
        format_seconds(value)
        if field.endswith("_s") and not field.endswith("per_s")
        else f"{value:,.3g}"
        if value < 1000
        else f"{value:,.0f}"
    )
