"""How a value is written on an axis, and where an axis ends: round numbers, whole numbers for
counts, a clock's steps for time.
"""

from __future__ import annotations

import math

from barostat.shells.reports.sheet.drawing import Anchor

_DAY_S = 86400.0
_UNITS_S = (("d", _DAY_S), ("h", 3600.0), ("min", 60.0))
_CLOCK_STEPS_S = (
    10.0,
    20.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1800.0,
    3600.0,
    7200.0,
    10800.0,
    21600.0,
    43200.0,
    _DAY_S,
)
_ROUND = (1.0, 2.0, 2.5, 5.0)
_EVEN = (2.0, 4.0, 6.0, 8.0, 10.0, 20.0)
_LONG_COUNT = 100_000
_LEAST = 1e-12
"""Less than this is 0 on any axis."""


def percent(value: float) -> str:
    """A ratio as a person reads it."""
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"


def plain(value: float) -> str:
    """A count or a rate as a person reads it; thousands and millions by their letter where they
    would not fit beside an axis.
    """
    if abs(value) >= 10 * _LONG_COUNT:
        return f"{value / 1e6:.4g}M"
    if abs(value) >= _LONG_COUNT:
        return f"{value / 1e3:.4g}k"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def duration(value: float) -> str:
    """Seconds as a person reads them."""
    if value == 0:
        return "0"
    if value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 600 else f"{value / 60:.3g} min"


def top_of(highest: float, *, whole: bool = False, clock: bool = False) -> float:
    """Where an axis from 0 ends that has to reach this value. A line that is 0 everywhere is drawn
    against 1, a count against 2.

    `whole`: values are counts, so that the half is one too; `clock`: values are seconds, which
    beyond a minute go by a clock's steps.
    """
    if whole:
        if highest <= _EVEN[0]:
            return _EVEN[0]
        power = 10.0 ** math.floor(math.log10(highest))
        return next(
            step * power
            for step in (1.0, *_EVEN)
            if step * power % 2 == 0 and highest <= step * power * (1 + 1e-9)
        )
    if highest < _LEAST:
        return 1.0
    if clock and highest > 60.0:
        return _time_step(highest)
    return _round_up(highest)


def ticks(from_s: float, until_s: float, zero_s: float) -> list[tuple[float, Anchor, str]]:
    """Round instants, with the anchor and the text of their labels."""
    length = until_s - from_s
    step = _time_step(length / 5) if length > 0 else 1.0
    unit, unit_s = next(
        ((name, unit_s) for name, unit_s in _UNITS_S if step % unit_s == 0), ("", 0.0)
    )
    first = zero_s + math.ceil((from_s - zero_s) / step) * step
    found: list[tuple[float, Anchor, str]] = []
    for place in range(int((until_s - first) / step) + 1):
        at = first + step * place
        anchor: Anchor = (
            "end"
            if at > until_s - length * 0.06
            else "middle"
            if at > from_s + length * 0.03
            else "start"
        )
        past_s = at - zero_s
        told = f"{abs(past_s) / unit_s:.0f} {unit}" if unit else duration(abs(past_s))
        found.append(
            (at, anchor, f"{'-' if past_s < 0 else ''}{told}" if abs(past_s) > step * 1e-6 else "0")
        )
    return found


def instant(past_s: float) -> str:
    """A moment on the axis of time as a person reads it when pointing at it."""
    sign, past_s = ("-" if past_s < 0 else ""), abs(past_s)
    if past_s < 120:
        return f"{sign}{past_s:.3g} s"
    minutes, seconds = divmod(round(past_s), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [
        f"{value} {unit}"
        for value, unit in ((days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s"))
        if value
    ]
    return sign + " ".join(parts[:2])


def _time_step(value_s: float) -> float:
    """The next step that a clock has; below ten seconds, and above a day, a round number."""
    if value_s <= _CLOCK_STEPS_S[0]:
        return _round_up(value_s)
    return next(
        (step for step in _CLOCK_STEPS_S if value_s <= step), _DAY_S * _round_up(value_s / _DAY_S)
    )


def _round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in _ROUND if value <= step * power * (1 + 1e-9)), 10 * power)
