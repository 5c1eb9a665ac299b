"""Parses as much PromQL as is needed to find the metrics that an expression reads and its
comparisons. No evaluation.

Source: Prometheus 3 query language (metric names, matchers, grouping, durations).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from barostat.catalog.metric_names import NAME_ERAS, STEP_TOKENS, Era
from barostat.catalog.vllm_exposed import EXPOSED
from barostat.core.version import EngineVersion

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`')
_MATCHERS = re.compile(r"\{[^{}]*\}")
_RANGE = re.compile(r"\[[^\]]*\]")
_GROUPING = re.compile(
    r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)", re.IGNORECASE
)
_NAME = re.compile(r"(?<![\w:.])([A-Za-z_:][\w:]*)(?![\w:]*\s*\()")
_NAMED = re.compile(r"__name__\s*=~?\s*[\"']([\w:]+)[\"']")
_WORDS = frozenset(
    (
        "and",
        "or",
        "unless",
        "by",
        "without",
        "on",
        "ignoring",
        "group_left",
        "group_right",
        "bool",
        "offset",
        "inf",
        "nan",
        "start",
        "end",
        "atan2",
    )
)
_ENDINGS = ("_total", "_bucket", "_sum", "_count", "_created")
_COMPARED = re.compile(
    r"(>=|<=|==|!=|>|<)\s*(?:bool\s+)?(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Compared:
    """`left operator number`, where an expression ends in one."""

    left: str
    operator: str
    number: float


def bare(expression: str) -> str:
    """The expression without comments, strings' contents, matchers, ranges and groupings."""
    text = _STRING.sub('""', re.sub(r"#[^\n]*", " ", expression))
    return _GROUPING.sub(" ", _RANGE.sub("", _MATCHERS.sub("", text)))


def metrics_in(expression: str) -> list[str]:
    """The names of the metrics that the expression reads, in order."""
    names = [
        name
        for name in _NAME.findall(bare(expression))
        if name.lower() not in _WORDS and not re.fullmatch(r"e\d*|\d+\w*", name)
    ]
    return list(dict.fromkeys([*names, *_NAMED.findall(expression)]))


def compared(expression: str) -> Compared | None:
    """What the whole expression is compared with, None if that is no number."""
    text = re.sub(r"#[^\n]*", " ", expression).strip()
    match = _COMPARED.search(text)
    return (
        Compared(text[: match.start()].strip(), match[1], float(match[2]))
        if match is not None
        else None
    )


def base_name(metric: str) -> str:
    """The metric without what Prometheus appends: `_total`, `_bucket`."""
    if metric in STEP_TOKENS:
        return metric
    return next(
        (metric.removesuffix(ending) for ending in _ENDINGS if metric.endswith(ending)), metric
    )


def known_names() -> dict[str, str]:
    """Every metric that some version shows, with its kind ("" where only its name is on record)."""
    return {**{era.what: "" for era in NAME_ERAS}, **{shown.name: shown.kind for shown in EXPOSED}}


def era_of(metric: str) -> Era | None:
    """From when to when the metric exists, None if it has no end on record."""
    return next((era for era in NAME_ERAS if era.what == base_name(metric)), None)


def absent_in(metric: str, version: EngineVersion) -> str:
    """Why that version does not show the metric, empty if it does or nothing is known."""
    era = era_of(metric)
    if era is None:
        return ""
    if era.before and version.at_least(era.before):
        return f"is gone since vLLM {era.before}"
    return f"exists since vLLM {era.since}" if era.since and version.before(era.since) else ""
