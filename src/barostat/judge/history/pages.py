"""Series of one target made pages of metrics again, one for each instant at which it was scraped.

Prometheus keeps the instant of each scrape on every sample of it, so that what a server said at
once is together again. A page that is made so goes the way of a live one: the same reader, the same
signals, the same judgement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from barostat.engines.vllm.metrics.exposition_writer import (
    Labels,
    labels_of,
    labels_text,
    number,
)
from barostat.judge.evidence.recording import Scrape
from barostat.judge.history.series import Series

SAME_SCRAPE_S = 0.05
"""Samples of one scrape have one instant; a store that rounds may move some by milliseconds."""
_EXPORTED = "exported_"
FEWEST_SHARE = 0.5
"""A page with less than this share of what the fullest one has is half of a scrape: the query's
edge cut it, or the store lost a part.
"""


def pages(
    series: Sequence[Series],
    target_labels: Iterable[str],
    source: str,
    after: float = -math.inf,
    whole: int = 0,
) -> tuple[list[Scrape], list[str]]:
    """Return the scrapes, ascending in time, and their problems, a sentence each.

    `target_labels`: labels added by the scrape, which are removed. `source`: where the user can
    look it up. `after`: earlier pages are not written. `whole`: samples of a page that is known to
    be whole.
    """
    scrape_at = _scrape_at(series)
    by_instant: dict[float, list[tuple[_Line, float]]] = {}
    own = frozenset({"__name__", *target_labels})
    names: set[str] = set().union(*(one.labels for one in series))
    renamed = any(name.startswith(_EXPORTED) for name in names)
    for one in series:
        line = _line(one.name, _engines_labels(one.labels, own, renamed=renamed))
        for point in one.points:
            by_instant.setdefault(scrape_at[point.at], []).append((line, point.value))
    fullest = max(whole, *map(len, by_instant.values()), 0)
    kept = {
        at: found
        for at, found in sorted(by_instant.items())
        if len(found) >= FEWEST_SHARE * fullest
    }
    problems = []
    if len(kept) < len(by_instant):
        problems.append(
            f"{source}: {len(by_instant) - len(kept)} of {len(by_instant)} scrapes are "
            "there in part only and are left out"
        )
    return [
        Scrape(round(at, 3), _page(found), source)
        for at, found in kept.items()
        if round(at, 3) > after
    ], problems


def _scrape_at(series: Sequence[Series]) -> dict[float, float]:
    """The instant of the scrape that each point is of."""
    found: dict[float, float] = {}
    last = -math.inf
    for at in sorted({point.at for one in series for point in one.points}):
        last = last if at - last <= SAME_SCRAPE_S else at
        found[at] = last
    return found


def _engines_labels(labels: Mapping[str, str], own: frozenset[str], *, renamed: bool) -> Labels:
    """The labels that the engine wrote, as it wrote them: Prometheus renames one that the target
    has as well.
    """
    if not renamed:
        return labels_of(pair for pair in labels.items() if pair[0] not in own)
    return labels_of(
        (name.removeprefix(_EXPORTED), text)
        for name, text in labels.items()
        if name not in own and f"{_EXPORTED}{name}" not in labels
    )


class _Line(NamedTuple):
    """A line of a page without its value. `order`: buckets first, so that none stands at the end,
    where a reader takes it for the sign of half an answer.
    """

    order: tuple[bool, str, Labels, float]
    text: str


@lru_cache(maxsize=16_384)  # engines of one model have the same lines
def _line(name: str, labels: Labels) -> _Line:
    without_bound = tuple(pair for pair in labels if pair[0] != "le")
    order = (not name.endswith("_bucket"), name, without_bound, _bound(labels))
    return _Line(order, f"{name}{labels_text(labels)}")


def _page(samples: Sequence[tuple[_Line, float]]) -> str:
    ordered = sorted(samples, key=lambda sample: sample[0].order)
    return "".join(f"{line.text} {_number(value)}\n" for line, value in ordered)


def _bound(labels: Labels) -> float:
    try:
        return float(dict(labels).get("le", "0"))
    except ValueError:
        return math.inf


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else "-Inf" if value == -math.inf else number(value)


def text_of(series: Sequence[Series], at: float, within_s: float) -> str:
    """The last value of every series up to `at`, none older than `within_s`, as one page with all
    its labels.
    """
    lines = []
    for one in series:
        points = [point for point in one.points if at - within_s <= point.at <= at]
        if points:
            labels = labels_of(
                (name, text) for name, text in one.labels.items() if name != "__name__"
            )
            lines.append(f"{one.name}{labels_text(labels)} {_number(points[-1].value)}\n")
    return "".join(lines)


def pairs(labels: Mapping[str, str]) -> str:
    """The labels as a selector of PromQL writes them."""
    return labels_text(labels_of(labels)).removeprefix("{").removesuffix("}")
