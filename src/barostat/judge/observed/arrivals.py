"""Do clients wait for their answers before they ask again, or do requests come regardless? Decided
by evidence, which is reported.

Requests that came and ended between two scrapes. The difference is what the engine holds more than
before:

    clients that wait     one comes when one ends: what is held stays, whatever ends
    arrivals at random    as many come as come: what is held wanders by about the root of what came

A load that stays is not enough to tell clients by: arrivals at an even distance make one, too,
while the engine keeps up. What then tells is a queue (an engine that cannot keep up serves as fast
as it can, and no rate that does not know of it is the same by chance), or that arrivals are fewer
and more just as ends are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_FEWEST_STRETCHES = 3
_FEWEST_HELD = 4
# One in twenty windows of arrivals at random looks steadier than this (in normal deviations).
_ONE_IN_TWENTY = 1.645
# Arrivals follow the ends where they differ from these by less than this share of how much they
# vary themselves.
_FOLLOWS_RATIO = 0.25


@dataclass(frozen=True, slots=True)
class Stretch:
    """Arrivals between two scrapes, and running and waiting requests at their ends. Units:
    requests.
    """

    came: float
    held_before: float
    held_after: float
    waiting: float

    @property
    def grown(self) -> float:
        """Return the growth of requests in the engine: arrivals minus completions."""
        return self.held_after - self.held_before


@dataclass(frozen=True, slots=True)
class Arrivals:
    """`clients`: how many wait for their answers; None for arrivals regardless of them. `told`:
    what a person has to know, or empty.
    """

    clients: int | None = None
    told: str = ""


def arrivals_of(stretches: Sequence[Stretch]) -> Arrivals:
    """Clients where the evidence says so; arrivals where it says so or cannot, and then that is
    told.
    """
    count = len(stretches)
    came = sum(one.came for one in stretches)
    held = [one.held_after for one in stretches] + [one.held_before for one in stretches[:1]]
    mean = sum(held) / len(held) if held else 0.0
    if count < _FEWEST_STRETCHES or mean < _FEWEST_HELD or came < mean / 2:
        return Arrivals()
    wandered = sum(one.grown**2 for one in stretches)
    if wandered >= came / count * _least_at_random(count):
        return Arrivals()
    varied = sum((one.came - came / count) ** 2 for one in stretches)
    queued = all(one.waiting > 0 for one in stretches)
    if queued or wandered <= _FOLLOWS_RATIO * varied:
        clients = round(max(held))
        return Arrivals(
            clients,
            f"running plus waiting stays at {clients} while {came:.0f} requests come and "
            f"go: taken as {clients} clients that each wait "
            "for their answer (--arrivals open if they do not)",
        )
    return Arrivals(
        None,
        f"running plus waiting stays near {mean:.0f} while {came:.0f} requests come and "
        "go, without a queue: clients that wait for their "
        "answers, or arrivals at an even distance; taken as arrivals (--clients "
        f"{round(max(held))} if clients wait)",
    )


def _least_at_random(count: int) -> float:
    """What the sum of `count` squares is at least in 19 of 20 windows, in units of what comes in a
    stretch: a quantile of chi squared.

    Source: Wilson and Hilferty 1931.
    """
    spread = 2 / (9 * count)
    return float(count * max(0.0, 1 - spread - _ONE_IN_TWENTY * spread**0.5) ** 3)
