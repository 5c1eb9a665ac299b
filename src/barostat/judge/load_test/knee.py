"""Where the knee is: the highest load that keeps the service level, by bisection, with the interval
that it lies in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from barostat.judge.load_test.figures import Figures
from barostat.twin.summary import Slo

_FAILED_RATIO = 0.01
_GROWTH, _GROWTH_FROM = 1.5, 4.0
_OUTWARDS = 1.6
_LONGER = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """A load to try, for so many times as long as a trial usually takes."""

    per_s: float
    times: int = 1


@dataclass(frozen=True, slots=True)
class Tried:
    """A tested load. `lost`: why the SLO was missed, empty if it was met; `unsure`: why this is
    unknown, empty if it is known.
    """

    per_s: float
    lost: str
    found: Figures
    unsure: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True)
class Knee:
    """The interval in requests per second. None: no load that held (or none that did not) was
    found. `tried`: by their rate.
    """

    held_per_s: float | None
    lost_per_s: float | None
    tried: tuple[Tried, ...] = ()

    @property
    def unsure(self) -> Tried | None:
        """Return the lowest load without a verdict."""
        return next((one for one in self.tried if one.unsure), None)


class Bisection:
    """Chooses the next load to test. Mutable. Ends when the interval is narrower than
    `within_ratio`, or after a number of trials.

    An engine slightly above its capacity passes a short trial, because the queue has no time to
    grow. So the highest passing load is tested again for longer before it is accepted; if it fails,
    the search continues below it with equally long trials.
    """

    def __init__(self, start_per_s: float, *, within_ratio: float = 0.04, trials: int = 10) -> None:
        """Nothing was tried yet."""
        self._start, self._within, self._left = start_per_s, within_ratio, trials
        self._tried: list[Tried] = []

    @property
    def knee(self) -> Knee:
        """Return the result so far. A pass above a failed load does not count."""
        lost = min((one.per_s for one in self._tried if one.lost), default=None)
        holding = (one.per_s for one in self._tried if not one.lost and not one.unsure)
        held = max((per_s for per_s in holding if lost is None or per_s < lost), default=None)
        return Knee(held, lost, tuple(sorted(self._tried, key=lambda one: one.per_s)))

    def tell(self, tried: Tried) -> None:
        """Record a load that was tried."""
        self._tried.append(tried)
        self._left -= 1

    def following(self) -> Trial | None:
        """The load to try, None if enough is known, or where the sender does not keep up above
        what held.
        """
        knee = self.knee
        held, lost = knee.held_per_s, knee.lost_per_s
        if self._left <= 0:
            return None
        if (unsure := knee.unsure) is not None:
            return (
                None
                if held is not None
                else self._trial(min(unsure.per_s, lost or math.inf) / _OUTWARDS)
            )
        if lost is None:
            return self._trial(self._start if held is None else held * _OUTWARDS)
        if held is None:
            return self._trial(lost / _OUTWARDS)
        narrow = lost / held <= 1 + self._within
        if (narrow or self._left == 1) and not self._for_longer(held):
            return Trial(held, _LONGER)
        return None if narrow else self._trial(math.sqrt(held * lost))

    def _trial(self, per_s: float) -> Trial:
        refuted = any(one.lost and one.times > 1 for one in self._tried)
        return Trial(per_s, _LONGER if refuted else 1)

    def _for_longer(self, per_s: float) -> bool:
        return any(one.per_s == per_s and one.times > 1 for one in self._tried)


def judged(trial: Trial, found: Figures, slo: Slo) -> Tried:
    """The load as it was found. What the sender itself was late is in its times, and they may not
    be the engine's; a refusal always is.
    """
    failed, slow = _failed(found), _slow(found, slo)
    if slow and not failed and found.keeping.trouble:
        unsure = f"{slow}, but the sender did not keep up: {found.keeping.trouble}"
        return Tried(trial.per_s, "", found, unsure, trial.times)
    return Tried(trial.per_s, failed or slow, found, times=trial.times)


def lost(found: Figures, slo: Slo) -> str:
    """Why this load does not hold, empty if it does."""
    return _failed(found) or _slow(found, slo)


def _failed(found: Figures) -> str:
    failed = found.refused + found.errors + found.cut
    return (
        f"{failed:,} of {found.sent:,} requests refused, failed or not ended"
        if failed > _FAILED_RATIO * max(1, found.sent)
        else ""
    )


def _slow(found: Figures, slo: Slo) -> str:
    if slo.ttft_s is not None and found.ttft.p99 is not None and found.ttft.p99 > slo.ttft_s:
        return f"TTFT p99 {found.ttft.p99:.3g} s, {slo.ttft_s:g} s allowed"
    if slo.itl_s is not None and found.itl.p99 is not None and found.itl.p99 > slo.itl_s:
        return f"ITL p99 {found.itl.p99:.3g} s, {slo.itl_s:g} s allowed"
    return "it falls behind: ever more requests are under way" if falls_behind(found) else ""


def falls_behind(found: Figures) -> bool:
    """More are under way in the last quarter of the arrivals than chance explains: the second
    quarter is what is steady.
    """
    last_at = max((one.at_s for one in found.stretches if one.sent_per_s), default=0.0)
    while_sent = [one.under_way for one in found.stretches if one.at_s <= last_at]
    quarter = len(while_sent) // 4
    if quarter < 2:
        return False
    early, late = (
        sum(while_sent[quarter : 2 * quarter]) / quarter,
        sum(while_sent[-quarter:]) / quarter,
    )
    return late > _GROWTH * early + _GROWTH_FROM + math.sqrt(early)
