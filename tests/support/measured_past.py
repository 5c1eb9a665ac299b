"""A night and a month for the tests of reports on the past: the night from recorded bundles, the
month by formula.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.support.kept_history import usual_day

from barostat.core.signal import Point
from barostat.io.bundles import bundle
from barostat.judge.diagnosis.diagnose import Examination, examine
from barostat.judge.history.growth import DAY_S
from barostat.judge.history.review import Kept, Review, review
from barostat.judge.history.series import Series
from barostat.judge.history.steps import Step, step_of
from barostat.judge.history.story import story_of
from barostat.shells.reports.review.capacity import Fleet
from barostat.shells.reports.review.past import Past

BUNDLES = Path(__file__).parent.parent / "data" / "bundles"
NIGHT_AT = 1_795_399_200.0  # 2026-11-23 02:00 UTC
STEP_S = 300.0
NIGHT = (
    ("healthy-busy",) * 3
    + ("kv-preemption-thrash",) * 4
    + ("kv-admission-queueing",) * 2
    + ("healthy-idle",) * 2
)


def examined(name: str) -> Examination:
    """The examination of a recorded bundle."""
    return examine(bundle.read(BUNDLES / name))


def night(*names: str) -> Past:
    """A range of steps, each as the bundle of that name shows it."""
    made = {name: examined(name) for name in set(names)}
    steps: list[Step] = []
    for place, name in enumerate(names):
        found = made[name]
        step = step_of(found, found.report.at - STEP_S, found.report.at)
        steps.append(
            replace(step, start=NIGHT_AT + place * STEP_S, end=NIGHT_AT + (place + 1) * STEP_S)
        )
    return Past(
        "inference",
        NIGHT_AT,
        NIGHT_AT + len(names) * STEP_S,
        steps,
        story_of(steps),
        ("a gap of 40 s",),
    )


def month(days: int = 30, replicas: int = 3, base: float = 0.6, per_day: float = 0.0) -> Kept:
    """So many days of a fleet, hourly. `base` and `per_day`: the daily peak of one replica in
    pools, and how it moves.
    """
    start = NIGHT_AT // DAY_S * DAY_S
    instants = [start + 3600.0 * (hour + 1) for hour in range(24 * days)]
    demand = [usual_day(at) * (base + per_day * (at - start) / DAY_S) * replicas for at in instants]

    def line(values: list[float]) -> tuple[Point, ...]:
        return tuple(map(Point, instants, values))

    over = [max(0.0, one - replicas) for one in demand]
    buckets = [
        Series({"le": bound}, line([share * 400 for _ in instants]))
        for bound, share in (("500.0", 0.5), ("2000.0", 0.95), ("+Inf", 1.0))
    ]
    return Kept(
        start,
        start + days * DAY_S,
        3600.0,
        {
            "replicas": line([float(replicas)] * len(instants)),
            "demand_pools": line(demand),
            "kv_mean_ratio": line([min(1.0, one / replicas) for one in demand]),
            "kv_high_ratio": line([min(1.0, 1.05 * one / replicas) for one in demand]),
            "running": line([40 * min(one, replicas) for one in demand]),
            "waiting": line([40 * one for one in over]),
            "requests_per_s": line([4 * one for one in demand]),
            "prompt_tokens_per_s": line([4000 * one for one in demand]),
            "output_tokens_per_s": line([1000 * one for one in demand]),
            "preemptions": line([900 * one for one in over]),
        },
        {
            "prompt_tokens": buckets,
            "ttft_s": [
                Series({"le": "0.5"}, line([1.0] * len(instants))),
                Series({"le": "+Inf"}, line([1.0] * len(instants))),
            ],
        },
    )


def grown() -> tuple[Review, Fleet]:
    """A fleet that has outgrown its pools, with the diagnosis of its worst instant."""
    worst = examined("kv-preemption-thrash").report.replicas[0]
    return review(month(base=0.75, per_day=0.012)), Fleet(
        400_000.0, 2.0, ("0.32.0",), ("m",), worst, NIGHT_AT
    )
