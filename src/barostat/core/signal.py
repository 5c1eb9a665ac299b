"""Signals: measured quantities over time, with their source; and the outcomes of reading one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from barostat.core.verdict import Evidence


class Point(NamedTuple):
    """One measurement. `at`: unix seconds."""

    at: float
    value: float


@dataclass(frozen=True, slots=True)
class Signal:
    """One named quantity over time.

    Made by `barostat.catalog.signals.signal`, which knows the unit and the age limit of every name.

    Shapes: points ascending in time, at least one.
    Units: `unit` is one of ratio, tokens, blocks, bytes, s, 1/s, tokens/s, count, cores, C, W,
    bool.
    """

    name: str
    unit: str
    points: tuple[Point, ...]
    source: str
    stale_after_s: float
    detail: str = ""
    """Text that belongs to the last point: a log line, a reason, a list of names."""

    @property
    def at(self) -> float:
        """Instant of the last point."""
        return self.points[-1].at

    @property
    def last(self) -> float:
        """Latest value."""
        return self.points[-1].value

    @property
    def first(self) -> float:
        """Earliest value."""
        return self.points[0].value

    @property
    def span_s(self) -> float:
        """Time from the first point to the last; 0 for a single point."""
        return self.points[-1].at - self.points[0].at

    @property
    def values(self) -> tuple[float, ...]:
        """All values in time order."""
        return tuple(point.value for point in self.points)

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return sum(self.values) / len(self.points)

    @property
    def high(self) -> float:
        """Largest value."""
        return max(self.values)

    @property
    def low(self) -> float:
        """Smallest value."""
        return min(self.values)

    def since(self, at: float) -> Signal | None:
        """The same signal from `at` on, or None if no point is left."""
        points = tuple(point for point in self.points if point.at >= at)
        return (
            Signal(self.name, self.unit, points, self.source, self.stale_after_s, self.detail)
            if points
            else None
        )

    def held_for_s(self, holds: Callable[[float], bool]) -> float | None:
        """Return how long `holds` has been true without interruption up to the last point; None if
        it is false there.

        A single point that holds gives 0: true now, duration unknown.
        """
        if not holds(self.last):
            return None
        start = self.at
        for point in reversed(self.points):
            if not holds(point.value):
                break
            start = point.at
        return self.at - start

    def share(self, holds: Callable[[float], bool]) -> float:
        """Share (0..1) of the points for which `holds` is true."""
        return sum(1 for value in self.values if holds(value)) / len(self.points)

    def slope_per_s(self) -> float | None:
        """Change per second by least squares, or None for fewer than two instants."""
        n = len(self.points)
        if n < 2 or self.span_s <= 0:
            return None
        mean_at = sum(point.at for point in self.points) / n
        mean_value = self.mean
        variance = sum((point.at - mean_at) ** 2 for point in self.points)
        return (
            sum((point.at - mean_at) * (point.value - mean_value) for point in self.points)
            / variance
        )

    def evidence(self, now: float, value: float | None = None, note: str = "") -> Evidence:
        """This signal as evidence at `now`: its last value unless another one (a mean, a peak) is
        given.
        """
        return Evidence(
            signal=self.name,
            value=self.last if value is None else value,
            unit=self.unit,
            age_s=max(0.0, now - self.at),
            source=self.source,
            note=note or self.detail,
        )


@dataclass(frozen=True, slots=True)
class Fresh:
    """The signal exists and is recent enough to judge by."""

    signal: Signal
    age_s: float


@dataclass(frozen=True, slots=True)
class Stale:
    """The signal exists, but its last point is older than the age limit or lies in the future."""

    signal: Signal
    age_s: float

    @property
    def why(self) -> str:
        """One clause for a person."""
        if self.age_s < 0:
            return (
                f"{self.signal.name} is dated {-self.age_s:.0f} s in the future (a clock went "
                "backwards?)"
            )
        return (
            f"{self.signal.name} is {self.age_s:.0f} s old (limit "
            f"{self.signal.stale_after_s:.0f} s)"
        )


@dataclass(frozen=True, slots=True)
class Missing:
    """No signal of that name was measured."""

    name: str

    @property
    def why(self) -> str:
        """One clause for a person."""
        return f"{self.name} was not measured"


Reading = Fresh | Stale | Missing
