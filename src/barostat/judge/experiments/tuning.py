"""The search for the settings with the best goodput: broad and cheap at first, then fewer and
surer, then step by step around the best.

    rung 0   today, every single change, random pairs    1 version of the load each
    rung 1   the best third                              3 versions
    rung 2   the best third of those                     6 versions
    around   each one step away from the best, 6 versions, until none is better
    undone   each change of the best taken back, in a part of the budget that is held back for it

The budget is never exceeded; the proof is counted by itself, with a limit of its own that is known
beforehand. Each batch is decided by the results of the ones before it alone, and results are taken
in the order asked: how many run at once, and how fast, changes nothing. Even versions of the load
are for the search; odd ones are held out for the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barostat.judge.experiments.outlook import Outlook
from barostat.judge.experiments.trials import Trial
from barostat.judge.experiments.tuning_space import Point, Space
from barostat.twin.pace import Pace
from barostat.twin.summary import Slo
from barostat.twin.workload.random_streams import Dice

RUNGS = (1, 3, 6)
_KEPT = 3
# What a change has to bring to be worth its restart: without it, a setting stays as it is.
_WORTH_RATIO = 0.005

Evaluate = Callable[[Sequence[Trial]], "list[Outlook | None]"]
"""Runs trials and gives their outlooks in the same order; None for trials skipped after an
interrupt.
"""


class Score(NamedTuple):
    """How good a point is: the larger, the better, the first that differs decides."""

    holds: bool
    within_refused: float
    goodput: float

    @property
    def order(self) -> tuple[bool, float, float]:
        """The same turned round: the smaller, the better."""
        return not self.holds, 0.0 - self.within_refused, 0.0 - self.goodput


@dataclass(slots=True)
class Results:
    """The runs so far: for each point its outlooks, one per version, in order. Mutable during the
    search.
    """

    space: Space
    slo: Slo
    pace: Pace
    evaluate: Evaluate
    on_batch: Callable[[Results], None] = lambda _: None
    budget: int = 300
    spent: int = 0
    held_back: int = 0
    stopped: bool = False
    runs: dict[Point, list[Outlook]] = field(default_factory=dict)

    def bring_to(self, points: Sequence[Point], versions: int) -> None:
        """Each point that the engine takes has that many versions run, as far as the budget goes
        and nobody stops.
        """
        wanted: list[tuple[Point, Trial]] = []
        for point in points:
            have = len(self.runs.get(point, ()))
            for place in range(have, versions):
                trial = self.space.trial(point, search_version(place), self.pace)
                if trial is not None and self.spent + len(wanted) < self.budget - self.held_back:
                    wanted.append((point, trial))
        if self.stopped or not wanted:
            return
        found = self.evaluate([trial for _, trial in wanted])
        self.spent += len(wanted)
        for (point, _), outlook in zip(wanted, found, strict=True):
            if outlook is None:
                self.stopped = True
            else:
                self.runs.setdefault(point, []).append(outlook)
        self.on_batch(self)

    def score(self, point: Point) -> Score:
        """Return the score of a point: whether it meets the SLO; excess refusals; goodput, reduced
        for each missed quantile and slightly for each change.
        """
        runs = self.runs[point]
        changes = len(self.space.changed(point))
        refused = sum(too_many_refused(run, self.slo) for run in runs) / len(runs)
        goodput = (
            sum(objective(run, self.slo) for run in runs) / len(runs) * (1 - _WORTH_RATIO * changes)
        )
        return Score(mostly_holds(runs, self.slo), -max(0.0, refused), goodput)

    def ranked(self, points: Sequence[Point]) -> list[Point]:
        """The points that were run, best first; ties in the order of their values."""
        known = [point for point in points if self.runs.get(point)]
        return sorted(
            known,
            key=lambda point: (
                *self.score(point).order,
                [value is None for value in point],
                [value or 0 for value in point],
            ),
        )

    def best(self) -> Point:
        """The best of those that were run most; today's where nothing was."""
        most = max((len(runs) for runs in self.runs.values()), default=0)
        ranked = self.ranked([point for point, runs in self.runs.items() if len(runs) == most])
        return ranked[0] if ranked else self.space.today

    def any_keeps(self) -> bool:
        """True if anything that was run keeps the service level in more than half of its runs."""
        return any(mostly_holds(runs, self.slo) for runs in self.runs.values() if runs)

    def keeps(self, point: Point) -> bool | None:
        """True if the point keeps the service level in more than half of its runs; None if it
        was not run.
        """
        runs = self.runs.get(point)
        return mostly_holds(runs, self.slo) if runs else None


def search(results: Results, seed: int) -> Point:
    """The best point found within the budget. `results` holds all that was run."""
    space, today = results.space, results.space.today
    # Enough for each lever to be tried once as it is today, where the budget is not small.
    results.held_back = min(results.budget // 4, RUNGS[-1] * len(space.levers))
    points = broad(space, max(8, results.budget // 4), seed)
    for versions in RUNGS:
        results.bring_to(points, versions)
        kept = results.ranked(points)[: max(4, len(points) // _KEPT)]
        points = kept if today in kept else [*kept, today]
        if results.stopped:
            return results.best()
    best = results.best()
    while not results.stopped and results.spent < results.budget - results.held_back:
        around = [point for point in space.neighbours(best) if point not in results.runs]
        # One version tells most of them apart: only those that come near are worth the other five.
        results.bring_to(around, RUNGS[0])
        near = [point for point in results.ranked(around) if _is_near(results, point, best)]
        results.bring_to(near[: 2 * _KEPT], RUNGS[-1])
        following = results.best()
        if following == best:
            break
        best = following
    return _simplest(results, best)


def broad(space: Space, count: int, seed: int) -> list[Point]:
    """Today, every single change, and random points that change two levers or more."""
    today = space.today
    found: dict[Point, None] = {today: None}
    singles = [
        (*today[:place], value, *today[place + 1 :])
        for place, lever in enumerate(space.levers)
        for value in lever.values
    ]
    dice = Dice(seed, "tune")
    for point in singles[:: max(1, -(-len(singles) // max(1, count // 2)))]:
        found[point] = None
    for _ in range(20 * count):
        if len(found) >= count or not space.levers:
            break
        found[
            tuple(lever.values[int(dice.uniform() * len(lever.values))] for lever in space.levers)
        ] = None
    return list(found)


def objective(run: Outlook, slo: Slo) -> float:
    """Good requests per second; for each 99th percentile above its limit in proportion less, down
    to half.
    """
    value = 0.0 if run.stuck else run.good_per_s
    for limit, seen in ((slo.ttft_s, run.ttft_p99_s), (slo.itl_s, run.itl_p99_s)):
        if limit is not None and seen is not None and seen > limit:
            value *= max(0.5, limit / seen)
    return value


def too_many_refused(run: Outlook, slo: Slo) -> float:
    """By how much more is refused than may be, as a share of what comes; 0 or below: no more than
    that.
    """
    return 0.0 if slo.refused_ratio is None else run.refused_ratio - slo.refused_ratio


def holds(run: Outlook, slo: Slo) -> bool:
    """True if both 99th percentiles are within their limits, and no more is refused than may be.

    Requests of one token each have no time between tokens, and none that is too long.
    """
    between_s = 0.0 if run.itl_p99_s is None and run.requests_per_s > 0 else run.itl_p99_s
    pairs = ((slo.ttft_s, run.ttft_p99_s), (slo.itl_s, between_s))
    if too_many_refused(run, slo) > 0:
        return False
    return not run.stuck and all(
        limit is None or (seen is not None and seen <= limit) for limit, seen in pairs
    )


def mostly_holds(runs: Sequence[Outlook], slo: Slo) -> bool:
    """True if the limits are kept in more than half of the runs, and by their means, which are the
    figures that are shown.
    """
    if sum(holds(run, slo) for run in runs) * 2 <= len(runs):
        return False
    pairs = ((slo.ttft_s, "ttft_p99_s"), (slo.itl_s, "itl_p99_s"))
    return all(
        limit is None or (mean := mean_or_none(runs, name)) is None or mean <= limit
        for limit, name in pairs
    )


def mean_or_none(runs: Sequence[Outlook], name: str) -> float | None:
    """The mean of that field over the runs that have it; None if none has: answers of one token
    have no time between tokens.
    """
    values = values_of(runs, name)
    return sum(values) / len(values) if values else None


def values_of(runs: Sequence[Outlook], name: str) -> list[float]:
    """Return the field's values, without runs that lack it."""
    return [value for run in runs if (value := getattr(run, name)) is not None]


def search_version(place: int) -> int:
    """Versions of the load that the search may see."""
    return 2 * place


def proof_version(place: int) -> int:
    """Versions that it may not."""
    return 2 * place + 1


def front(results: Results, best: Point) -> list[Point]:
    """The best, then the points that no other one beats in goodput, TTFT p99 and ITL p99 at once,
    all with 3 versions if any has.
    """
    least = compared_runs(results)
    known = {point: _three(runs) for point, runs in results.runs.items() if len(runs) >= least}
    kept = [
        point
        for point, mine in known.items()
        if not any(
            all(a <= b for a, b in zip(other, mine, strict=True)) and other != mine
            for other in known.values()
        )
    ]
    unique: dict[tuple[float, float, float], Point] = {}
    for point in (*([best] if best in known else []), *results.ranked(kept)):
        unique.setdefault(known[point], point)
    return list(unique.values())


def compared_runs(results: Results) -> int:
    """Return how many runs per point are compared: the same versions of the load, because versions
    may differ by more than settings do.
    """
    return min(RUNGS[1], max((len(runs) for runs in results.runs.values()), default=0))


def _three(runs: Sequence[Outlook]) -> tuple[float, float, float]:
    """Return negated goodput and both quantiles, all better when smaller."""
    first = runs[: RUNGS[1]]
    return (
        -round(sum(run.good_per_s for run in first) / len(first), 3),
        round(sum(run.ttft_p99_s or 0.0 for run in first) / len(first), 3),
        round(sum(run.itl_p99_s or 0.0 for run in first) / len(first), 4),
    )


def _is_near(results: Results, point: Point, best: Point) -> bool:
    """True if one run of it is about as good as one of the best's, and refuses no more than may be;
    or holds where the best does not.
    """
    mine, its = results.runs[point][0], results.runs[best][0]
    if holds(mine, results.slo) and not results.score(best).holds:
        return True
    refused = too_many_refused(mine, results.slo)
    return objective(mine, results.slo) >= 0.97 * objective(its, results.slo) and refused <= max(
        0.0, too_many_refused(its, results.slo)
    )


def _simplest(results: Results, best: Point) -> Point:
    """The best without each change that brings nothing: undone one by one as long as goodput
    stays.
    """
    space, versions = results.space, len(results.runs.get(best, ()))
    results.held_back = 0
    while not results.stopped:
        undone = [
            (*best[:place], now, *best[place + 1 :])
            for place, now in enumerate(space.today)
            if best[place] != now
        ]
        results.bring_to(undone, versions)
        better = [
            point
            for point in results.ranked(undone)
            if len(results.runs[point]) == versions and results.score(point) >= results.score(best)
        ]
        if not better:
            break
        best = better[0]
    return best
