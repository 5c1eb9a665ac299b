"""Drawings over time for a page that needs nothing else: lines, limits, and marks at instants, as inline SVG.

Shapes: a point is (seconds, value); points ascend in time. Colours and fonts are the classes of STYLE.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

PointAt = tuple[float, float]

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 560, 150, 52, 10, 12, 22
_MARK_ROOM = 16
_NAME_STEP = 7
_MOST_POINTS = 700
_DAY_S = 86400.0
_UNITS_S = (("d", _DAY_S), ("h", 3600.0), ("min", 60.0))
_CLOCK_STEPS_S = (10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10800.0, 21600.0, 43200.0, _DAY_S)

STYLE = """
:root{color-scheme:light;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;--main:#0b57d0;--pale:#a8c7fa;--second:#b45309;--bad:#b3261e}
body{font:15px/1.5 system-ui,"Segoe UI",Helvetica,Arial,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);
background:#fff}
h1{font-size:1.35rem;line-height:1.3;margin:0 0 .4rem}h2{font-size:1rem;margin:1.6rem 0 .3rem}
table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.2rem .9rem .2rem 0;text-align:right;font-variant-numeric:tabular-nums}
td:first-child,th:first-child{text-align:left}th{color:var(--soft);font-weight:600;border-bottom:1px solid var(--rule)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:.9rem 1.6rem;margin:.8rem 0}
figure{margin:0;break-inside:avoid}figcaption{font-weight:600;font-size:.9rem}figcaption span{font-weight:400;color:var(--soft)}
svg{display:block;width:100%;height:auto}
svg text{font:12px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--soft)}
.line{fill:none;stroke:var(--main);stroke-width:1.7;stroke-linejoin:round}.pale{stroke:var(--pale)}.second{stroke:var(--second)}
.faint{opacity:.55}.dashed{stroke-dasharray:6 4;stroke-width:1.3}.band{opacity:.45}
.axis{fill:none;stroke:var(--rule)}.grid{stroke:var(--rule);stroke-dasharray:2 3}
.limit{stroke:var(--bad);stroke-dasharray:5 3;stroke-width:1.2}svg text.limit-name{fill:var(--bad)}
.mark{stroke:var(--soft);stroke-width:1}svg text.mark-name{fill:var(--ink);font-weight:600}
.dot{fill:var(--main)}.dot.second{fill:var(--second);stroke:none}.dot.pale{stroke:none;fill:var(--pale)}
.key{display:inline-block;width:1.1em;height:.22em;vertical-align:middle;background:var(--main);margin:0 .25em 0 .7em}
.key.pale{background:var(--pale)}.key.second{background:var(--second)}
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One series. `kind`: "" is the strong one, "pale" stands behind it, "second" is another quantity of the same unit.

    "faint" and "dashed" may be added to any. `tip`: what it says when it is pointed at.
    """

    points: Sequence[PointAt]
    name: str = ""
    kind: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """One drawing. `top`: the highest value of the axis, else what the lines reach. `limits`: values with their names, drawn across."""

    title: str
    lines: tuple[Line, ...]
    words: Callable[[float], str]
    top: float | None = None
    limits: tuple[tuple[float, str], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of time that is shaded behind the lines. `colour`: as CSS writes it."""

    from_s: float
    until_s: float
    name: str
    colour: str


@dataclass(frozen=True, slots=True)
class Span:
    """The stretch of time that is drawn, in seconds, with instants that have a name. `zero`: which instant counts as 0 on the axis."""

    from_s: float
    until_s: float
    marks: tuple[tuple[float, str], ...] = ()
    zero_s: float = 0.0
    bands: tuple[Band, ...] = ()


def percent(value: float) -> str:
    """A ratio as a person reads it."""
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"


def plain(value: float) -> str:
    """A count or a rate as a person reads it."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def duration(value: float) -> str:
    """Seconds as a person reads them."""
    if value == 0:
        return "0"
    if value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 600 else f"{value / 60:.3g} min"


def page(title: str, body: str, extra_style: str = "") -> str:
    """A whole HTML page, well-formed as XML too. `body` is HTML already; the title is not."""
    head = f'<meta charset="utf-8"/><meta name="viewport" content="width=device-width"/><title>{escape(title)}</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}{extra_style}</style></head>\n<body>{body}</body></html>\n'


def charts(drawn: Sequence[Chart], span: Span) -> str:
    """The drawings side by side; one without any point is left out."""
    figures = "".join(figure(one, span) for one in drawn)
    return f'<div class="charts">{figures}</div>' if figures else ""


def figure(chart: Chart, span: Span) -> str:
    """One drawing as an HTML figure; empty where it has no point."""
    if not any(line.points for line in chart.lines):
        return ""
    keys = "".join(
        f'<i class="key {escape(line.kind)}"></i>{escape(line.name)}' for line in chart.lines if line.name and len(chart.lines) > 1
    )
    told = " ".join(part for part in (escape(chart.note), keys) if part)
    caption = f"<figcaption>{escape(chart.title)}<span> {told}</span></figcaption>"
    return f"<figure>{caption}{_svg(chart, span)}</figure>"


def _svg(chart: Chart, span: Span) -> str:
    place = _Place.of(chart, span)
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    middle = place.top / 2
    parts = [
        *(_band(band, place, span) for band in span.bands),
        f'<path class="axis" d="M{_LEFT} {place.ceiling}V{floor}H{right}"/>',
        f'<path class="grid" d="M{_LEFT} {place.y(middle):.1f}H{right}"/>',
        *(
            f'<text x="{_LEFT - 6}" y="{place.y(value) + 4:.1f}" text-anchor="end">{escape(chart.words(value))}</text>'
            for value in (0.0, middle, place.top)
        ),
        *(f'<text x="{place.x(at):.1f}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{name}</text>' for at, anchor, name in _ticks(span)),
    ]
    for value, name in chart.limits:
        if 0 <= value <= place.top:
            parts.append(f'<path class="limit" d="M{_LEFT} {place.y(value):.1f}H{right}"/>')
            parts.append(f'<text class="limit-name" x="{right}" y="{place.y(value) - 4:.1f}" text-anchor="end">{escape(name)}</text>')
    parts += _marks(place, span, floor)
    parts += [_line(line, place, span) for line in sorted(chart.lines, key=lambda line: line.kind != "pale")]
    return f'<svg role="img" aria-label="{escape(chart.title)}" viewBox="0 0 {_WIDTH} {_HEIGHT}">{"".join(parts)}</svg>'


def _marks(place: _Place, span: Span, floor: int) -> list[str]:
    """A line and a name at every instant that is drawn; names stand right of their line, or left of it where the next one is too near."""
    marks = sorted((place.x(at), name) for at, name in span.marks if span.from_s <= at <= span.until_s)
    parts = []
    told_until = 0.0
    for (x, name), following in zip(marks, [*(x for x, _ in marks[1:]), _WIDTH], strict=False):
        room = 8 + _NAME_STEP * len(name)
        leftwards = x + room > following and x - room >= told_until
        told_until = x if leftwards else x + room
        shift, anchor = (-4, "end") if leftwards else (4, "start")
        parts.append(f'<path class="mark" d="M{x:.1f} 4V{floor}"/>')
        parts.append(f'<text class="mark-name" x="{x + shift:.1f}" y="12" text-anchor="{anchor}">{escape(name)}</text>')
    return parts


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value at an instant is drawn."""

    top: float
    ceiling: float
    from_s: float
    scale_x: float

    @classmethod
    def of(cls, chart: Chart, span: Span) -> _Place:
        highest = max((value for line in chart.lines for _, value in line.points), default=0.0)
        near = [value for value, _ in chart.limits if value <= 1.6 * max(highest, 1e-12)]
        top = chart.top if chart.top is not None else _round_up(max(highest, *near, 1e-9) if near else max(highest, 1e-9))
        width = _WIDTH - _LEFT - _RIGHT
        ceiling = _TOP + (_MARK_ROOM if span.marks else 0) + (6 if chart.limits else 0)
        return cls(top, ceiling, span.from_s, width / max(1e-9, span.until_s - span.from_s))

    def x(self, at: float) -> float:
        return _LEFT + (at - self.from_s) * self.scale_x

    def y(self, value: float) -> float:
        share = min(1.0, max(0.0, value / self.top))
        return self.ceiling + (1 - share) * (_HEIGHT - _BOTTOM - self.ceiling)


def _band(band: Band, place: _Place, span: Span) -> str:
    x = place.x(max(span.from_s, band.from_s))
    width = place.x(min(span.until_s, band.until_s)) - x
    if width <= 0:
        return ""
    shape = f'x="{x:.1f}" y="{place.ceiling}" width="{width:.1f}" height="{_HEIGHT - _BOTTOM - place.ceiling}"'
    return f'<rect class="band" {shape} fill="{escape(band.colour)}">{_tip(band.name)}</rect>'


def _tip(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def _line(line: Line, place: _Place, span: Span) -> str:
    shown = [(at, value) for at, value in line.points if span.from_s <= at <= span.until_s and math.isfinite(value)]
    if len(shown) == 1:
        at, value = shown[0]
        return f'<circle class="dot {escape(line.kind)}" cx="{place.x(at):.1f}" cy="{place.y(value):.1f}" r="3">{_tip(line.tip)}</circle>'
    every = max(1, math.ceil(len(shown) / _MOST_POINTS))
    points = " ".join(f"{place.x(at):.1f},{place.y(value):.1f}" for at, value in shown[::every])
    return f'<polyline class="line {escape(line.kind)}" points="{points}">{_tip(line.tip)}</polyline>' if points else ""


def _ticks(span: Span) -> list[tuple[float, str, str]]:
    """Round instants, with the anchor and the text of their labels."""
    length = span.until_s - span.from_s
    step = _time_step(length / 5) if length > 0 else 1.0
    unit, unit_s = next(((name, unit_s) for name, unit_s in _UNITS_S if step % unit_s == 0), ("", 0.0))
    first = span.zero_s + math.ceil((span.from_s - span.zero_s) / step) * step
    found = []
    for place in range(int((span.until_s - first) / step) + 1):
        at = first + step * place
        anchor = "end" if at > span.until_s - length * 0.06 else "middle" if at > span.from_s + length * 0.03 else "start"
        past_s = at - span.zero_s
        told = f"{abs(past_s) / unit_s:.0f} {unit}" if unit else duration(abs(past_s))
        found.append((at, anchor, f"{'-' if past_s < 0 else ''}{told}" if abs(past_s) > step * 1e-6 else "0"))
    return found


def _time_step(value_s: float) -> float:
    """The next step that a clock has; below ten seconds, and above a day, a round number."""
    if value_s <= _CLOCK_STEPS_S[0]:
        return _round_up(value_s)
    return next((step for step in _CLOCK_STEPS_S if value_s <= step), _DAY_S * _round_up(value_s / _DAY_S))


def _round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in (1.0, 2.0, 2.5, 5.0) if value <= step * power * (1 + 1e-9)), 10 * power)
