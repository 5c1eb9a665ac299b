"""Whether a condition holds over readings: often enough or long enough, and how sure that makes us.

One reading proves little (a burst of arrivals makes any queue non-empty for a step), so what is
judged is the last minutes as a whole:

    readings   . . x x x x .     holds for most of them              -> holds
               . . . . x x x     false first, true ever since        -> holds (it has begun)
               x x x x . . .     true first, false ever since        -> does not hold (it is over)
               x                 all there is                        -> holds, with little confidence
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from barostat.core.signal import Point, Signal

RECENT_S = 300.0
"""Longest window that is judged: in an hour of log lines, the last minutes are relevant."""
MOST = 0.6
"""Share of the readings in which a condition must be true: pressure comes in waves, so every
reading is too much to ask.
"""
ENOUGH_READINGS = 3
"""From this many readings on a condition must hold over them; with fewer, all must agree and the
verdict says so.
"""
BEGUN_S = 10.0
"""A condition that was false before counts once it has been true for this long (and for
ENOUGH_READINGS).
"""


class Moment(NamedTuple):
    """Values of several signals at one instant. `at`: unix seconds."""

    at: float
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Holding:
    """The answer: whether the condition holds, in what share of how many readings, and for how long
    up to the last one.
    """

    holds: bool
    share: float
    readings: int
    span_s: float
    for_s: float | None

    @property
    def confidence(self) -> float:
        """How sure the readings alone make us (0..1)."""
        if self.readings <= 1:
            return 0.6
        if self.readings < ENOUGH_READINGS:
            return 0.75
        return 0.95 if self.share >= 0.9 else 0.85

    @property
    def how(self) -> str:
        """Where it held, in words that finish a sentence."""
        if self.readings <= 1:
            return "in the one reading there is"
        if self.readings < ENOUGH_READINGS:
            return "in both readings"
        if self.share >= 1.0:
            return f"for {self.span_s:.0f} s"
        if self.share < MOST and self.for_s is not None:
            return f"for the last {self.for_s:.0f} s"
        return f"in {round(self.share * self.readings)} of {self.readings} readings"


def _nearest(points: Sequence[Point], at: float) -> Point:
    place = bisect_left(points, at, key=lambda point: point.at)
    around = points[max(0, place - 1) : place + 1]
    return min(around, key=lambda point: abs(point.at - at))


def together(first: Signal, *others: Signal) -> tuple[Moment, ...]:
    """The instants of `first` with the value that each other signal had nearest to them.

    An instant is left out where some signal has nothing within its own age limit: two sources that
    never overlap give no moment.
    """
    moments: list[Moment] = []
    for point in first.points:
        near = [_nearest(other.points, point.at) for other in others]
        if all(
            abs(found.at - point.at) <= other.stale_after_s
            for found, other in zip(near, others, strict=True)
        ):
            moments.append(Moment(point.at, (point.value, *(found.value for found in near))))
    return tuple(moments)


def holding(moments: Sequence[Moment], condition: Callable[..., bool]) -> Holding:
    """Whether the condition (one argument per signal) holds over the recent moments."""
    judged = [moment for moment in moments if moment.at >= moments[-1].at - RECENT_S]
    truths = [condition(*moment.values) for moment in judged]
    if not truths:
        return Holding(False, 0.0, 0, 0.0, None)
    share = sum(truths) / len(truths)
    trailing = 0
    for truth in reversed(truths):
        if not truth:
            break
        trailing += 1
    for_s = judged[-1].at - judged[-trailing].at if trailing else None
    span_s = judged[-1].at - judged[0].at
    if len(truths) < ENOUGH_READINGS:
        return Holding(all(truths), share, len(truths), span_s, for_s)
    over = not any(truths[-ENOUGH_READINGS:])
    begun = trailing >= ENOUGH_READINGS and for_s is not None and for_s >= BEGUN_S
    return Holding((share >= MOST and not over) or begun, share, len(truths), span_s, for_s)


def recent(signal: Signal) -> Signal:
    """The part of the signal within the judged time: its last point at least."""
    return signal.since(signal.at - RECENT_S) or signal


def recent_mean(signal: Signal) -> float:
    """Mean of the values within the judged time."""
    return recent(signal).mean
