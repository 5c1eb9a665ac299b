"""Where the knee is: the highest load that keeps the service level, by bisection, with the interval that it lies in."""

from __future__ import annotations

import math
from dataclasses import dataclass

from barostat.judge.load_test.figures import Figures
from barostat.twin.summary import Slo

_FAILED_RATIO = 0.01
_GROWTH, _GROWTH_FROM = 1.5, 4.0
_OUTWARDS = 1.6


@dataclass(frozen=True, slots=True)
class Tried:
    """One load that was tried. `lost`: why it does not hold, empty where it does."""

    per_s: float
    lost: str
    found: Figures


@dataclass(frozen=True, slots=True)
class Knee:
    """The interval in requests per second. None: no load that held (or none that did not) was found."""

    held_per_s: float | None
    lost_per_s: float | None
    tried: tuple[Tried, ...] = ()


class Bisection:
    """Which load is tried next. Mutable. Ends when the interval is narrower than `within_ratio`, or after so many trials."""

    def __init__(self, start_per_s: float, *, within_ratio: float = 0.04, trials: int = 10) -> None:
        """Nothing was tried yet."""
        self._start, self._within, self._left = start_per_s, within_ratio, trials
        self._tried: list[Tried] = []

    @property
    def knee(self) -> Knee:
        """What is known by now. A load above one that was lost does not count as held: luck is no capacity."""
        lost = min((one.per_s for one in self._tried if one.lost), default=None)
        held = max((one.per_s for one in self._tried if not one.lost and (lost is None or one.per_s < lost)), default=None)
        return Knee(held, lost, tuple(sorted(self._tried, key=lambda one: one.per_s)))

    def tell(self, tried: Tried) -> None:
        """This load was tried."""
        self._tried.append(tried)
        self._left -= 1

    def following(self) -> float | None:
        """The load to try, None where enough is known."""
        held, lost = self.knee.held_per_s, self.knee.lost_per_s
        if self._left <= 0:
            return None
        if held is None and lost is None:
            return self._start
        if lost is None:
            return (held or self._start) * _OUTWARDS
        if held is None:
            return lost / _OUTWARDS
        return None if lost / held <= 1 + self._within else math.sqrt(held * lost)


def lost(found: Figures, slo: Slo) -> str:
    """Why this load does not hold, empty where it does."""
    failed = found.refused + found.errors + found.cut
    if failed > _FAILED_RATIO * max(1, found.sent):
        return f"{failed:,} of {found.sent:,} requests refused, failed or not ended"
    if slo.ttft_s is not None and found.ttft.p99 is not None and found.ttft.p99 > slo.ttft_s:
        return f"TTFT p99 {found.ttft.p99:.3g} s, {slo.ttft_s:g} s allowed"
    if slo.itl_s is not None and found.itl.p99 is not None and found.itl.p99 > slo.itl_s:
        return f"ITL p99 {found.itl.p99:.3g} s, {slo.itl_s:g} s allowed"
    if falls_behind(found):
        return "it falls behind: ever more requests are under way"
    return ""


def falls_behind(found: Figures) -> bool:
    """More are under way in the last quarter of the arrivals than chance explains: the second quarter is what is steady."""
    last_at = max((one.at_s for one in found.stretches if one.sent_per_s), default=0.0)
    while_sent = [one.under_way for one in found.stretches if one.at_s <= last_at]
    quarter = len(while_sent) // 4
    if quarter < 2:
        return False
    early, late = sum(while_sent[quarter : 2 * quarter]) / quarter, sum(while_sent[-quarter:]) / quarter
    return late > _GROWTH * early + _GROWTH_FROM + math.sqrt(early)
