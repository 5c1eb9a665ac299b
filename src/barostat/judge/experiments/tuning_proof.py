"""The winner against today's settings on a part of the load that the search has not seen; which
limit binds; what each change brings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from barostat.core.units import figure
from barostat.judge.experiments.outlook import Outlook, difference
from barostat.judge.experiments.trials import Trial
from barostat.judge.experiments.tuning import Evaluate, mostly_holds, proof_version
from barostat.judge.experiments.tuning_space import Point, Space, Value
from barostat.twin.pace import Pace
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo

VERSIONS = 6
MOST_BESIDE = 10
"""Settings that are shown beside the winner."""
_TOLD = 2.0


@dataclass(frozen=True, slots=True)
class Proof:
    """Runs of today's settings and of the winner on the same held-out versions, first with the
    expected pace, then with every other one.

    `gain_per_s`: additional good requests per second; `error_per_s` its standard error. `significant`:
    significant; `agreed`: in the same direction with every pace. `parts`: for each change, the
    goodput lost if it alone is undone. `spent`: number of runs. `beside`: other settings on the
    same versions, including today's and the winner.
    """

    today: tuple[Outlook, ...]
    best: tuple[Outlook, ...]
    gain_per_s: float
    error_per_s: float
    significant: bool
    agreed: bool
    holds_today: bool
    holds: bool
    binds_today: str
    binds: str
    parts: dict[str, float]
    spent: int
    beside: dict[Point, tuple[Outlook, ...]] = field(default_factory=dict)


def most_runs(space: Space, paces: Sequence[Pace]) -> int:
    """Runs that a proof takes where every lever is changed; fewer where some are not."""
    levers = len(space.levers)
    shown = 2 + (levers if levers > 1 else 0) + MOST_BESIDE
    return VERSIONS * shown + 2 * (len(paces) - 1)


def prove(
    space: Space,
    best: Point,
    slo: Slo,
    paces: Sequence[Pace],
    evaluate: Evaluate,
    versions: int = VERSIONS,
    beside: Sequence[Point] = (),
) -> Proof | None:
    """Validate on the held-out versions; None if interrupted. `versions`: their number; `beside`:
    other settings to run on the same versions, for comparison.
    """
    changed = space.changed(best)
    undone = {name: _undone(space, best, name) for name in changed} if len(changed) > 1 else {}
    trials: list[Trial | None] = []
    shown = [point for point in beside[:MOST_BESIDE] if point not in (space.today, best)]
    points = (space.today, best, *undone.values(), *shown)
    for point in points:
        trials += [space.trial(point, proof_version(place), paces[0]) for place in range(versions)]
    for point in (space.today, best):
        trials += [space.trial(point, proof_version(0), pace) for pace in paces[1:]]
    asked = [trial for trial in trials if trial is not None]
    answers = iter(evaluate(asked))
    found = [None if trial is None else next(answers) for trial in trials]
    runs = [
        [run for run in found[start : start + versions] if run is not None]
        for start in range(0, versions * len(points), versions)
    ]
    today, winner = runs[0], runs[1]
    rest = found[versions * len(points) :]
    others = [run for run in rest if run is not None]
    if len(today) < versions or len(winner) < versions or len(others) < len(rest):
        return None
    gain, error = difference([run.good_per_s for run in today], [run.good_per_s for run in winner])
    half = len(others) // 2
    agreed = all(
        (after.good_per_s - before.good_per_s) * gain > 0
        for before, after in zip(others[:half], others[half:], strict=True)
    )
    good = _mean([run.good_per_s for run in winner])
    return Proof(
        tuple(today), tuple(winner), gain, error, abs(gain) > _TOLD * error and gain != 0, agreed,
        mostly_holds(today, slo), mostly_holds(winner, slo),
        binds(today, space.settings), binds(winner, space.settings_at(best) or space.settings),
        {
            name: good - _mean([run.good_per_s for run in those])
            for name, those in zip(undone, runs[2 : 2 + len(undone)], strict=True)
            if len(those) == versions
        },
        len(asked),
        {
            point: tuple(those)
            for point, those in zip(points, runs, strict=True)
            if point in (space.today, best, *shown) and len(those) == versions
        },
    )  # fmt: skip


def binds(runs: Sequence[Outlook], settings: Settings) -> str:
    """Which limit requests wait for, in a clause with its numbers; and how many are refused
    instead.
    """
    refused = _mean([run.refused_ratio for run in runs])
    return _binding(runs, settings) + (
        f"; {refused:.0%} of the requests are refused" if refused >= 0.005 else ""
    )


def _binding(runs: Sequence[Outlook], settings: Settings) -> str:
    usage, running, waiting = (
        _mean([getattr(run, name) for run in runs])
        for name in ("kv_usage_ratio", "running", "waiting")
    )
    preempted, tokens = (
        _mean([run.preempted_ratio for run in runs]),
        _mean([run.tokens_per_step for run in runs]),
    )
    run, wait = figure(running), figure(waiting)
    if waiting < 0.5 and preempted < 0.02:
        return (
            f"nothing holds requests back: {waiting:.2g} wait on average and {usage:.0%} of "
            "the KV pool is in use"
        )
    if usage > 0.85 or preempted >= 0.02:
        churn = f", with {preempted:.2g} preemptions per request" if preempted >= 0.02 else ""
        return (
            f"the KV pool binds: {usage:.0%} of it in use at {run} running, {wait} waiting{churn}"
        )
    if running > 0.9 * settings.running_limit:
        return (
            f"the slots bind: {run} of {settings.running_limit} run, {wait} wait, {usage:.0%} "
            "of the KV pool in use"
        )
    if tokens > 0.7 * settings.max_num_batched_tokens:
        return (
            f"the token budget binds: {tokens:,.0f} of {settings.max_num_batched_tokens:,} "
            f"tokens in a step on average, {wait} wait"
        )
    return f"bursts queue for a while: {wait} wait on average, {usage:.0%} of the KV pool in use"


def _undone(space: Space, best: Point, name: str) -> Point:
    return tuple(
        now if lever.name == name else value
        for lever, value, now in zip(space.levers, best, space.today, strict=True)
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def summary_of(changed: dict[str, Value]) -> str:
    """The changes in a few words."""
    return (
        ", ".join(
            f"{name} {'off' if value is None else f'{value:g}'}" for name, value in changed.items()
        )
        or "today's settings"
    )
