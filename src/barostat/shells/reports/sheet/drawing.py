"""A drawing as shapes on a plane: x grows to the right, y downwards, in units of its view box.

`kind` of a shape is a class of the style (`html/style.py`), which knows colours and strokes; `tip`
shows while the shape is pointed at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Anchor = Literal["", "start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Path:
    """Moves and lines (`M4 10H50V20`)."""

    moves: str
    kind: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Polyline:
    """Points (`1,2 3,4`) joined."""

    points: str
    kind: str
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle. `round`: radius of its corners."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    tip: str = ""
    round: int = 0


@dataclass(frozen=True, slots=True)
class Dot:
    """A filled circle."""

    x: float
    y: float
    radius: int
    kind: str = "dot"
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """Text that stands at a place."""

    x: float
    y: float
    text: str
    kind: str = ""
    anchor: Anchor = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """Lines of text below each other, the first at `y`."""

    x: float
    y: float
    step: int
    lines: Sequence[str]
    anchor: Anchor


@dataclass(frozen=True, slots=True)
class Group:
    """Shapes that are one thing."""

    shapes: Sequence[Shape]
    kind: str = ""
    tip: str = ""


Shape = Path | Polyline | Box | Dot | Label | Reading | Group


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes in a view box. `label`: what it shows, for who cannot see it; `stretched`: as wide as
    there is room, at its own height.
    """

    label: str
    width: int
    height: int
    shapes: Sequence[Shape]
    stretched: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a legend: how the thing looks (`kind`) and its name."""

    name: str
    kind: str
    square: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its caption. `note` and `keys` stand beside the caption, `legend` below; `wide`:
    as wide as the page.
    """

    drawing: Drawing
    caption: str = ""
    note: str = ""
    keys: Sequence[Entry] = ()
    legend: Sequence[Entry] = ()
    wide: bool = False
