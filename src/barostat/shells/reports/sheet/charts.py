"""Drawings over time: lines, limits, marks at instants, and the values under the pointer.

Shapes: a point is (seconds, value); points ascend in time.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from barostat.shells.reports.sheet.drawing import (
    Anchor,
    Box,
    Dot,
    Drawing,
    Entry,
    Figure,
    Group,
    Label,
    Path,
    Polyline,
    Reading,
    Shape,
)
from barostat.shells.reports.sheet.scale import duration, instant, ticks, top_of

PointAt = tuple[float, float]

WIDTH, HEIGHT, LEFT, RIGHT = 340, 140, 46, 8
_TOP, _BOTTOM = 12, 22
_MARK_ROOM = 16
_MARK_GAP = 8
_NAME_STEP = 6.2
_LINE_STEP = 13
_MOST_POINTS = 700
_MOST_READINGS = 48
_MOST_READ_LINES = 7


@dataclass(frozen=True, slots=True)
class Line:
    """One series. `kind`: "" is the strong one, "pale" stands behind it, "second" and "third" are
    other quantities of the same unit.

    "faint" and "dashed" may be added to any. `tip`: what it is called where it is pointed at, if
    not by its name.
    """

    points: Sequence[PointAt]
    name: str = ""
    kind: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """One drawing. `top`: the highest value of the axis, else what the lines reach. `limits`:
    values with their names, drawn across.

    `counts`: the values are of things that come whole, so the axis has no halves.
    """

    title: str
    lines: tuple[Line, ...]
    words: Callable[[float], str]
    top: float | None = None
    limits: tuple[tuple[float, str], ...] = ()
    note: str = ""
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of time that is shaded behind the lines. `kind`: a class of the style, such as
    `is-change`.
    """

    from_s: float
    until_s: float
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Span:
    """The stretch of time that is drawn, in seconds, with instants that have a name. `zero`: which
    instant counts as 0 on the axis.
    """

    from_s: float
    until_s: float
    marks: tuple[tuple[float, str], ...] = ()
    zero_s: float = 0.0
    bands: tuple[Band, ...] = ()


def figures(drawn: Sequence[Chart], span: Span) -> tuple[Figure, ...]:
    """Return the drawings; one without any point is left out."""
    return tuple(found for one in drawn if (found := figure(one, span)) is not None)


def figure(chart: Chart, span: Span) -> Figure | None:
    """Return the drawing with its caption; None if it has no point."""
    if not any(line.points for line in chart.lines):
        return None
    keys = [Entry(line.name, line.kind) for line in chart.lines if line.name]
    shown = keys if len(chart.lines) > 1 else []
    return Figure(_drawing(chart, span), chart.title, chart.note, shown)


def _drawing(chart: Chart, span: Span) -> Drawing:
    place = _Place.of(chart, span)
    floor, right = HEIGHT - _BOTTOM, WIDTH - RIGHT
    middle = place.top / 2
    shapes: list[Shape] = [
        *(box for band in span.bands if (box := _band(band, place, span)) is not None),
        Path(f"M{LEFT} {place.ceiling}V{floor}H{right}", "axis"),
        Path(f"M{LEFT} {place.y(middle):.1f}H{right}", "grid"),
        *(
            Label(LEFT - 6, place.y(value) + 4, chart.words(value), anchor="end")
            for value in (0.0, middle, place.top)
        ),
        *(
            Label(place.x(at), HEIGHT - 6, name, anchor=anchor)
            for at, anchor, name in ticks(span.from_s, span.until_s, span.zero_s)
        ),
        *_drawn_marks(place.marks, floor),
        *(
            shape
            for line in sorted(chart.lines, key=_depth)
            if (shape := _line(line, place, span)) is not None
        ),
        *_limits(chart, place, span),
        *_readings(chart, place, span, floor),
    ]
    return Drawing(chart.title, WIDTH, HEIGHT, shapes)


def _limits(chart: Chart, place: _Place, span: Span) -> list[Shape]:
    """Lines across, each with its name above or below, at the right or the left: where no other
    name stands, and where it hides least.
    """
    right = WIDTH - RIGHT
    drawn = [
        (place.x(at), place.y(value)) for line in chart.lines for at, value in _shown(line, span)
    ]
    taken: dict[Anchor, list[float]] = {"end": [], "start": []}
    shapes: list[Shape] = []
    for value, name in sorted(chart.limits, key=lambda limit: -limit[0]):
        if not 0 <= value <= place.top:
            continue
        y = place.y(value)
        shapes.append(Path(f"M{LEFT} {y:.1f}H{right}", "limit"))
        spots = [(side, at) for at in (y - 4, y + 12) for side in taken]
        free = [
            (side, at)
            for side, at in spots
            if all(abs(at - other) >= _LINE_STEP for other in taken[side])
        ]
        side, at = min(
            free or spots, key=lambda spot: _hidden(drawn, spot[0], spot[1], len(name) * _NAME_STEP)
        )
        taken[side].append(at)
        x = right if side == "end" else LEFT + 6
        shapes.append(Label(x, at, name, "limit-name", side))
    return shapes


def _hidden(drawn: Sequence[PointAt], side: str, base: float, width: float) -> int:
    """How many of the points a name of that width would stand on."""
    start = WIDTH - RIGHT - width if side == "end" else LEFT + 6
    return sum(1 for x, y in drawn if start <= x <= start + width and base - 11 <= y <= base + 3)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A named instant, and where its name stands: in the highest row where it touches no other."""

    x: float
    text_x: float
    anchor: Anchor
    name: str
    row: int


def _marks(span: Span, x: Callable[[float], float]) -> list[_Mark]:
    """Every instant that is drawn; names stand right of their line, or left of it where the next
    one is too near.
    """
    marks = sorted((x(at), name) for at, name in span.marks if span.from_s <= at <= span.until_s)
    found: list[_Mark] = []
    ends: list[float] = []
    told_until = 0.0
    for (place, name), following in zip(
        marks, [*(place for place, _ in marks[1:]), WIDTH], strict=False
    ):
        room = 4 + _NAME_STEP * len(name)
        leftwards = place + room > following and place - room >= told_until
        told_until = place if leftwards else place + room
        if place + room > WIDTH:
            leftwards = True
        start, end = (place - room, place) if leftwards else (place, place + room)
        row = next((row for row, until in enumerate(ends) if until + _MARK_GAP <= start), len(ends))
        ends[row : row + 1] = [end]
        anchor: Anchor = "end" if leftwards else "start"
        found.append(_Mark(place, place + (-4 if leftwards else 4), anchor, name, row))
    return found


def _drawn_marks(marks: Sequence[_Mark], floor: int) -> list[Shape]:
    """Return the lines, then the names, which stand above every line."""
    lines: list[Shape] = []
    names: list[Shape] = []
    for mark in marks:
        y = 12 + _MARK_ROOM * mark.row
        lines.append(Path(f"M{mark.x:.1f} {y - 8}V{floor}", "mark"))
        names.append(Label(mark.text_x, y, mark.name, "mark-name", mark.anchor))
    return [*lines, *names]


def _readings(chart: Chart, place: _Place, span: Span, floor: int) -> list[Group]:
    """At each instant a strip that shows, while it is pointed at, what every line says there. Needs
    no script.
    """
    lines = [(line, _shown(line, span)) for line in chart.lines]
    instants = sorted({at for _, points in lines for at, _ in points})
    if len(instants) < 2:
        return []
    every = math.ceil(len(instants) / _MOST_READINGS)
    instants = instants[every // 2 :: every]
    edges = [span.from_s, *((one + other) / 2 for one, other in pairwise(instants)), span.until_s]
    groups = []
    for at, start, end in zip(instants, edges, edges[1:], strict=False):
        x = place.x(at)
        values = [
            (line.tip or line.name, value)
            for line, points in lines
            if (value := _value_at(points, at)) is not None
        ]
        words = [
            instant(at - span.zero_s),
            *(f"{name} {chart.words(value)}".strip() for name, value in values[:_MOST_READ_LINES]),
        ]
        left, right = place.x(start), place.x(end)
        strip = f"M{left:.1f} {place.ceiling}H{right:.1f}V{floor}H{left:.1f}Z"
        guide = f"M{x:.1f} {place.ceiling}V{floor}"
        leftwards = x >= (LEFT + WIDTH) / 2
        reading = Reading(
            x + (-6 if leftwards else 6),
            place.ceiling + 10,
            _LINE_STEP,
            words,
            "end" if leftwards else "start",
        )
        groups.append(Group((Path(strip, "hit"), Path(guide, "guide"), reading), "at"))
    return groups


def _value_at(points: Sequence[PointAt], at: float) -> float | None:
    """The last value up to then; None before the first point and after the last."""
    if not points or not points[0][0] <= at <= points[-1][0]:
        return None
    return points[bisect_right(points, at, key=lambda point: point[0]) - 1][1]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value at an instant is drawn."""

    top: float
    ceiling: float
    from_s: float
    scale_x: float
    marks: tuple[_Mark, ...]

    @classmethod
    def of(cls, chart: Chart, span: Span) -> _Place:
        highest = max(
            (value for line in chart.lines for _, value in line.points if math.isfinite(value)),
            default=0.0,
        )
        near = [value for value, _ in chart.limits if value <= 1.6 * highest]
        top = (
            chart.top
            if chart.top is not None
            else top_of(max(highest, *near, 0.0), whole=chart.counts, clock=chart.words is duration)
        )
        scale_x = (WIDTH - LEFT - RIGHT) / max(1e-9, span.until_s - span.from_s)
        marks = _marks(span, lambda at: LEFT + (at - span.from_s) * scale_x)
        rows = max((mark.row + 1 for mark in marks), default=0)
        return cls(
            top,
            _TOP + _MARK_ROOM * rows + (6 if chart.limits else 0),
            span.from_s,
            scale_x,
            tuple(marks),
        )

    def x(self, at: float) -> float:
        return LEFT + (at - self.from_s) * self.scale_x

    def y(self, value: float) -> float:
        share = min(1.0, max(0.0, value / self.top))
        return self.ceiling + (1 - share) * (HEIGHT - _BOTTOM - self.ceiling)


def _band(band: Band, place: _Place, span: Span) -> Box | None:
    x = place.x(max(span.from_s, band.from_s))
    width = place.x(min(span.until_s, band.until_s)) - x
    if width <= 0:
        return None
    height = HEIGHT - _BOTTOM - place.ceiling
    return Box(x, place.ceiling, width, height, f"band {band.kind}", band.name)


def _shown(line: Line, span: Span) -> list[PointAt]:
    return [
        (at, value)
        for at, value in line.points
        if span.from_s <= at <= span.until_s and math.isfinite(value)
    ]


def _depth(line: Line) -> int:
    """Pale lines lie below, dashed ones above: what is the same as another shows through them."""
    return -1 if line.kind.startswith("pale") else int(line.kind == "dashed")


def _line(line: Line, place: _Place, span: Span) -> Shape | None:
    shown = _shown(line, span)
    if len(shown) == 1:
        at, value = shown[0]
        return Dot(place.x(at), place.y(value), 3, f"dot {line.kind}".strip(), line.tip)
    every = max(1, math.ceil(len(shown) / _MOST_POINTS))
    points = " ".join(f"{place.x(at):.1f},{place.y(value):.1f}" for at, value in shown[::every])
    return Polyline(points, f"line {line.kind}".strip(), line.tip) if points else None
