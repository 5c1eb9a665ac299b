"""A dashboard: rows of panels, each with its queries; nothing of Grafana's builder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["percentunit", "short", "s", "reqps", "cps", "none"]
Kind = Literal["lines", "number"]


@dataclass(frozen=True, slots=True)
class Query:
    """One query; `legend` names its series by their labels."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. `why`: what a person reads from it. `threshold`: a line above which it is bad;
    `top`: the scale's end.
    """

    title: str
    unit: Unit
    queries: tuple[Query, ...]
    why: str
    kind: Kind = "lines"
    threshold: float | None = None
    top: float | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top: the values of a label of a series."""

    name: str
    label: str
    series: str


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard. `uid` is its address and never changes."""

    uid: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]
    links: tuple[tuple[str, str], ...] = field(default=())

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All of them, in order."""
        return tuple(panel for _, row in self.rows for panel in row)
