"""One series as Prometheus answers it: its labels and its points in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barostat.core.signal import Point


class Series(NamedTuple):
    """Labels (`__name__` among them where the query keeps it) and points, ascending in time. Units: points at unix seconds."""

    labels: Mapping[str, str]
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        """The metric's name; empty where the query dropped it."""
        return self.labels.get("__name__", "")


def named(series: Iterable[Series], name: str) -> list[Series]:
    """Those of that metric."""
    return [one for one in series if one.name == name]
