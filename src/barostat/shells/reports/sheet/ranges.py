"""One number of several candidates below each other: what is expected as a dot, what it may be as a
bar, the limit as a line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from barostat.shells.reports.sheet.drawing import (
    Anchor,
    Dot,
    Drawing,
    Figure,
    Group,
    Label,
    Path,
    Shape,
)
from barostat.shells.reports.sheet.scale import duration, top_of

_WIDTH, _ROW, _TOP, _BOTTOM, _RIGHT = 340, 34, 8, 20, 56
_NAME_CHARACTERS, _BOLD_CHARACTERS = 54, 46
"""Of a name there is room for so many; that of the chosen row is bold."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row. `low` and `high`: what the number may be; `chosen`: the one that the page is
    about.
    """

    name: str
    mean: float
    low: float
    high: float
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Ranges:
    """One number for all candidates. `limit`: a value with its name that it must not pass; `note`:
    which way is better.
    """

    title: str
    rows: Sequence[Candidate]
    words: Callable[[float], str]
    limit: tuple[float, str] | None = None
    note: str = ""
    counts: bool = False


def figures(drawn: Sequence[Ranges]) -> tuple[Figure, ...]:
    """Return the drawings; one without a row is left out."""
    return tuple(_figure(one) for one in drawn if one.rows)


def _beside_bars(x: float, rows: int) -> str:
    """Return an upright line through the bars of the rows, not through their names."""
    return "".join(
        f"M{x:.1f} {_TOP + _ROW * row + 15}V{_TOP + _ROW * (row + 1)}" for row in range(rows)
    )


def _figure(drawn: Ranges) -> Figure:
    highest = max(row.high for row in drawn.rows)
    limit = (
        drawn.limit
        if drawn.limit is not None and drawn.limit[0] <= 4 * max(highest, 1e-12)
        else None
    )
    top = top_of(
        max(highest, limit[0] if limit else 0.0), whole=drawn.counts, clock=drawn.words is duration
    )
    floor = _TOP + _ROW * len(drawn.rows)

    def x(value: float) -> float:
        return 4 + min(1.0, max(0.0, value / top)) * (_WIDTH - _RIGHT - 4)

    shapes: list[Shape] = [Path(f"M4 {floor}H{_WIDTH - _RIGHT}", "axis")]
    ends: tuple[tuple[float, Anchor], ...] = ((0.0, "start"), (top / 2, "middle"), (top, "middle"))
    for value, anchor in ends:
        shapes.append(Path(_beside_bars(x(value), len(drawn.rows)), "grid"))
        shapes.append(Label(x(value), floor + 14, drawn.words(value), anchor=anchor))
    if limit is not None:
        shapes.append(Path(_beside_bars(x(limit[0]), len(drawn.rows)), "limit", limit[1]))
    for place, row in enumerate(drawn.rows):
        y = _TOP + _ROW * place
        most = _BOLD_CHARACTERS if row.chosen else _NAME_CHARACTERS
        name = row.name if len(row.name) <= most else f"{row.name[: most - 1]}…"
        spread = (
            "" if row.low == row.high else f": {drawn.words(row.low)} to {drawn.words(row.high)}"
        )
        parts = (
            Label(4, y + 11, name, "row-name"),
            Path(f"M{x(row.low):.1f} {y + 22}H{x(row.high):.1f}", "whisker"),
            Dot(x(row.mean), y + 22, 4),
            Label(_WIDTH, y + 26, drawn.words(row.mean), "row-name", "end"),
        )
        shapes.append(Group(parts, "chosen" if row.chosen else "", f"{row.name}{spread}"))
    note = " ".join(part for part in (drawn.note, f"limit {limit[1]}" if limit else "") if part)
    return Figure(Drawing(drawn.title, _WIDTH, floor + _BOTTOM, shapes), drawn.title, note)
