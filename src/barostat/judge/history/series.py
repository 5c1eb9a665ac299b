"""One series as Prometheus answers it: its labels and its points in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from barostat.core.signal import Point

_SCRAPED_EVERY_S, _AT_LEAST_S = 60.0, 15.0


class Series(NamedTuple):
    """Labels (`__name__` among them where the query keeps it) and points, ascending in time. Units:
    points at unix seconds.
    """

    labels: Mapping[str, str]
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        """The metric's name; empty if the query dropped it."""
        return self.labels.get("__name__", "")


def named(series: Iterable[Series], name: str) -> list[Series]:
    """Return the series of a metric."""
    return [one for one in series if one.name == name]


def of_now(series: Sequence[Series]) -> list[Series]:
    """Return the series present in the newest scrape. A reason is a series of its own, which ends
    with it; a range still holds its last points.
    """
    held = [one for one in series if one.points]
    if not held:
        return []
    newest = max(one.points[-1].at for one in held)
    steps = [
        later.at - earlier.at
        for one in held
        for earlier, later in pairwise(one.points)
        if later.at > earlier.at
    ]
    patience_s = max(_AT_LEAST_S, 1.5 * (median(steps) if steps else _SCRAPED_EVERY_S))
    return [one for one in held if one.points[-1].at >= newest - patience_s]
