"""Series of one target made pages of metrics again, one for each instant at which it was scraped.

Prometheus keeps the instant of each scrape on every sample of it, so that what a server said at
once is together again. A page that is made so goes the way of a live one: the same reader, the same
signals, the same judgement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from barostat.engines.vllm.metrics.exposition_writer import labels_of, number
from barostat.judge.evidence.recording import Scrape
from barostat.judge.history.series import Series

SAME_SCRAPE_S = 0.05
"""Samples of one scrape have one instant; a store that rounds may move some by milliseconds."""
FEWEST_SHARE = 0.5
"""A page with less than this share of what the fullest one has is half of a scrape: the query's
edge cut it, or the store lost a part.
"""


def pages(
    series: Sequence[Series],
    target_labels: Iterable[str],
    source: str,
    after: float = -math.inf,
) -> tuple[list[Scrape], list[str]]:
    """Return the scrapes, ascending in time, and their problems, a sentence each.

    `target_labels`: labels added by the scrape, which are removed. `source`: where the user can
    look it up. `after`: earlier pages are not written.
    """
    own = set(target_labels)
    by_instant: dict[float, list[tuple[str, tuple[tuple[str, str], ...], float]]] = {}
    last = -math.inf
    instants = sorted({point.at for one in series for point in one.points})
    scrape_at: dict[float, float] = {}
    for at in instants:
        last = last if at - last <= SAME_SCRAPE_S else at
        scrape_at[at] = last
    for one in series:
        labels = labels_of(
            (_written(name), text)
            for name, text in one.labels.items()
            if _is_engines(name, one.labels, own)
        )
        for point in one.points:
            by_instant.setdefault(scrape_at[point.at], []).append((one.name, labels, point.value))
    fullest = max(map(len, by_instant.values()), default=0)
    whole = {
        at: found
        for at, found in sorted(by_instant.items())
        if len(found) >= FEWEST_SHARE * fullest
    }
    problems = []
    if len(whole) < len(by_instant):
        problems.append(
            f"{source}: {len(by_instant) - len(whole)} of {len(by_instant)} scrapes are "
            "there in part only and are left out"
        )
    return [
        Scrape(round(at, 3), _page(found), source)
        for at, found in whole.items()
        if round(at, 3) > after
    ], problems


def _is_engines(label: str, labels: Mapping[str, str], own: set[str]) -> bool:
    """True for a label that the engine wrote; not for one of the target by which the engine's had
    to be renamed.
    """
    return label != "__name__" and label not in own and f"exported_{label}" not in labels


def _written(label: str) -> str:
    """The label as the engine wrote it: Prometheus renames one that the target has as well."""
    return label.removeprefix("exported_")


def _page(samples: Sequence[tuple[str, tuple[tuple[str, str], ...], float]]) -> str:
    """The text; buckets first, so that none stands at the end, where a reader takes it for the sign
    of half an answer.
    """
    ordered = sorted(
        samples,
        key=lambda sample: (
            not sample[0].endswith("_bucket"),
            sample[0],
            _without_bound(sample[1]),
            _bound(sample[1]),
        ),
    )
    return "".join(f"{name}{_labels(labels)} {_number(value)}\n" for name, labels, value in ordered)


def _without_bound(labels: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in labels if pair[0] != "le")


def _bound(labels: tuple[tuple[str, str], ...]) -> float:
    try:
        return float(dict(labels).get("le", "0"))
    except ValueError:
        return math.inf


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    escaped = {"\\": r"\\", "\n": r"\n", '"': r"\""}
    written = (
        f'{name}="{"".join(escaped.get(char, char) for char in text)}"' for name, text in labels
    )
    return f"{{{','.join(written)}}}" if labels else ""


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
            lines.append(f"{one.name}{_labels(labels)} {_number(points[-1].value)}\n")
    return "".join(lines)


def pairs(labels: Mapping[str, str]) -> str:
    """The labels as a selector of PromQL writes them."""
    return _labels(labels_of(labels)).removeprefix("{").removesuffix("}")
