"""One number of several candidates below each other: what is expected as a dot, what it may be as a
bar, the limit as a line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from barostat.shells.reports.sheet.safe_text import escape
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


def side_by_side(drawn: Sequence[Ranges]) -> str:
    """The drawings beside each other; one without a row is left out."""
    found = "".join(_figure(one) for one in drawn if one.rows)
    return f'<div class="charts">{found}</div>' if found else ""


def _beside_bars(x: float, rows: int) -> str:
    """Return an upright line through the bars of the rows, not through their names."""
    return "".join(
        f"M{x:.1f} {_TOP + _ROW * row + 15}V{_TOP + _ROW * (row + 1)}" for row in range(rows)
    )


def _figure(drawn: Ranges) -> str:
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

    parts = [f'<path class="axis" d="M4 {floor}H{_WIDTH - _RIGHT}"/>']
    for value, anchor in ((0.0, "start"), (top / 2, "middle"), (top, "middle")):
        parts.append(f'<path class="grid" d="{_beside_bars(x(value), len(drawn.rows))}"/>')
        parts.append(
            f'<text x="{x(value):.1f}" y="{floor + 14}" '
            f'text-anchor="{anchor}">{escape(drawn.words(value))}</text>'
        )
    if limit is not None:
        parts.append(
            f'<path class="limit" d="{_beside_bars(x(limit[0]), len(drawn.rows))}"><title>{escape(limit[1])}</title></path>'
        )
    for place, row in enumerate(drawn.rows):
        y = _TOP + _ROW * place
        most = _BOLD_CHARACTERS if row.chosen else _NAME_CHARACTERS
        name = row.name if len(row.name) <= most else f"{row.name[: most - 1]}…"
        spread = (
            "" if row.low == row.high else f": {drawn.words(row.low)} to {drawn.words(row.high)}"
        )
        tip = f"<title>{escape(f'{row.name}{spread}')}</title>"
        parts.append(
            f"<g{' class=' + chr(34) + 'chosen' + chr(34) if row.chosen else ''}>{tip}"
            f'<text class="row-name" x="4" y="{y + 11}">{escape(name)}</text>'
            f'<path class="whisker" d="M{x(row.low):.1f} {y + 22}H{x(row.high):.1f}"/>'
            f'<circle class="dot" cx="{x(row.mean):.1f}" cy="{y + 22}" r="4"/>'
            f'<text class="row-name" x="{_WIDTH}" y="{y + 26}" '
            f'text-anchor="end">{escape(drawn.words(row.mean))}</text></g>'
        )
    told = " ".join(part for part in (drawn.note, f"limit {limit[1]}" if limit else "") if part)
    caption = f"<figcaption>{escape(drawn.title)}<span> {escape(told)}</span></figcaption>"
    svg = (
        f'<svg role="img" aria-label="{escape(drawn.title)}" viewBox="0 0 {_WIDTH} '
        f'{floor + _BOTTOM}">{"".join(parts)}</svg>'
    )
    return f"<figure>{caption}{svg}</figure>"
