"""The load at which an engine misses its SLO, as a multiple of the given load, found by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from barostat.judge.experiments.service_level import carries
from barostat.twin.forms import simulate
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo, summarise

MOST_LOAD, LEAST_LOAD = 64.0, 1 / 64
WITHIN_RATIO = 0.03
"""The gap between the load that holds and the one that does not is narrowed to this."""
MOST_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Gap:
    """`holds_at`: the largest passing load (None: none passes); `breaks_at`: the smallest failing
    load (None: all pass).
    """

    holds_at: float | None
    breaks_at: float | None


@dataclass(frozen=True, slots=True)
class BreakingPoint:
    """The breaking point, and those with the shortest and longest possible step times (empty if
    step times are exact).
    """

    name: str
    expected: Gap
    ends: tuple[Gap, ...]
    rate_per_s: float

    @property
    def lowest(self) -> float | None:
        """Return the load that passes even with the longest step times; None if none does."""
        found = [gap.holds_at for gap in (self.expected, *self.ends)]
        return None if None in found else min(load for load in found if load is not None)

    @property
    def highest(self) -> float | None:
        """Return the load that fails even with the shortest step times; None if none was found."""
        found = [gap.breaks_at for gap in (self.expected, *self.ends)]
        return None if None in found else max(load for load in found if load is not None)


def narrowed(
    holds: Callable[[float], bool], most: float = MOST_LOAD, least: float = LEAST_LOAD
) -> Gap:
    """Double or halve the load from 1 until a passing and a failing one are known, then bisect
    between them.
    """
    low, high = (1.0, None) if holds(1.0) else (None, 1.0)
    while high is None and low is not None and low < most:
        following = min(most, low * 2)
        low, high = (following, None) if holds(following) else (low, following)
    while low is None and high is not None and high > least:
        following = max(least, high / 2)
        low, high = (following, high) if holds(following) else (None, following)
    while low is not None and high is not None and high / low > 1 + WITHIN_RATIO:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return Gap(low, high)


def breaking_point(
    name: str, settings: Settings, rows: Sequence[Row], paces: Sequence[Pace], slo: Slo
) -> BreakingPoint:
    """Find this engine's breaking point. `paces`: the expected one, then the other possible ones."""
    most = min(MOST_LOAD, MOST_ROWS / max(1, len(rows)))

    def gap(pace: Pace) -> Gap:
        front_s = float(getattr(pace, "front_s", 0.0))

        def holds(load: float) -> bool:
            outcome = simulate(settings, lasting(rows, load), pace)
            return carries(outcome, summarise(outcome, settings.usable_blocks, slo, front_s), slo)

        return narrowed(holds, max(1.0, most))

    return BreakingPoint(name, gap(paces[0]), tuple(gap(pace) for pace in paces[1:]), rate_of(rows))


def rate_of(rows: Sequence[Row]) -> float:
    """Requests per second at load 1."""
    span_s = _span_s(rows)
    return (len(rows) - 1) / span_s if span_s > 0 else 0.0


def lasting(rows: Sequence[Row], load: float) -> list[Row]:
    """Repeat the requests at a multiple of their rate until they last as long as before, because a
    short burst would prove nothing.

    Shared prefixes are shared within one copy only; a copy that hits the cache of the previous one
    would be no load.
    """
    copies = max(1, math.ceil(load))
    space = _first_ids(rows)
    start, turn_s = (
        min(row.arrival_s for row in rows),
        _span_s(rows) * (len(rows) / max(1, len(rows) - 1)),
    )
    return [
        _again(row, copy, copy * space)._replace(
            arrival_s=(row.arrival_s - start + copy * turn_s) / load
        )
        for copy in range(copies)
        for row in rows
        if (row.arrival_s - start + copy * turn_s) / load <= turn_s or copies == 1
    ]


def _first_ids(rows: Sequence[Row]) -> int:
    """Return an offset of ids so large that no prompt of one copy shares a prefix with another
    copy.
    """
    first = [ids[0] for row in rows if (ids := row.prompt_token_ids or row.hash_ids)]
    return 1 + max(first) - min(first) if first else 0


def _again(row: Row, copy: int, moved: int) -> Row:
    """Return a renamed copy of the row. A prompt whose first id differs shares no prefix."""
    if not copy:
        return row
    tokens, hashes = (
        ids and (ids[0] + moved, *ids[1:]) for ids in (row.prompt_token_ids, row.hash_ids)
    )
    session = None if row.session_id is None else f"{row.session_id}~{copy}"
    return row._replace(
        request_id=f"{row.request_id}~{copy}",
        prompt_token_ids=tokens,
        hash_ids=hashes,
        session_id=session,
    )


def _span_s(rows: Sequence[Row]) -> float:
    return max(row.arrival_s for row in rows) - min(row.arrival_s for row in rows)
