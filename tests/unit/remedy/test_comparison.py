"""Differences are called with a stated error rate, however often it is looked, and whatever follows
on each other is alike.
"""

from __future__ import annotations

import math
import random

import pytest

from barostat.catalog.signals import signal
from barostat.core.change import HARM, Expect, Expectation
from barostat.core.signal import Signal
from barostat.core.window import Window
from barostat.remedy.comparison import estimate, longer_s, radius
from barostat.remedy.verify import FEWEST_REQUESTS, baseline, verify

PAIRS = 100
STEP_S = 5.0


def series(name: str, values: list[float], start: float = 1000.0) -> Signal:
    found = signal(name, [(start + STEP_S * at, value) for at, value in enumerate(values)], "test")
    assert found is not None
    return found


def walk(dice: random.Random, mean: float, spread: float, count: int, alike: float) -> list[float]:
    """A stationary series in which each value is like the one before."""
    found, now = [], dice.gauss(0.0, 1.0)
    for _ in range(count):
        found.append(max(0.0, mean * (1.0 + spread * now)))
        now = alike * now + math.sqrt(1.0 - alike**2) * dice.gauss(0.0, 1.0)
    return found


def replica(
    dice: random.Random,
    start: float,
    seconds: float,
    *,
    itl_s: float = 0.05,
    rate: float = 4.0,
    alike: float = 0.4,
) -> Window:
    """A replica under a load that scatters, from which nothing is preempted."""
    count = int(seconds / STEP_S) + 1
    means = {
        "itl_mean_s": itl_s,
        "arrivals_per_s": rate,
        "generation_tokens_per_s": 800.0,
        "prompt_tokens_per_s": 2000.0,
    }
    made = {
        name: series(name, walk(dice, mean, 0.15, count, alike), start)
        for name, mean in means.items()
    }
    for name, value in (
        ("preemptions_per_s", 0.0),
        ("kv_usage_ratio", 0.8),
        ("pod_restarts", 0.0),
        ("waiting_requests", 0.0),
    ):
        made[name] = series(name, [value] * count, start)
    return Window("vllm-0", start + seconds, made)


FASTER = Expectation(
    (
        Expect("preemptions_per_s", "zero", 0.01),
        Expect("itl_mean_s", "falls", 0.1),
        *HARM,
    )
)


def first_clear(dice: random.Random, *, itl_s: float = 0.05, alike: float = 0.4) -> str:
    """What a verification comes to that looks at every step from the sustained time on, and stops
    at the first clear answer.
    """
    expectation = FASTER
    former = dict(baseline(expectation, replica(dice, 0.0, 60.0, alike=alike)))
    after = replica(dice, 1000.0, 600.0, itl_s=itl_s, alike=alike)
    for seconds in range(120, 601, 5):
        seen = {
            name: Signal(
                found.name,
                found.unit,
                found.points[: int(seconds / STEP_S) + 1],
                found.source,
                found.stale_after_s,
            )
            for name, found in after.signals.items()
        }
        outcome = verify(
            expectation, former, Window("vllm-1", 1000.0 + seconds, seen), 1000.0
        ).outcome
        if outcome != "inconclusive":
            return outcome
    return "inconclusive"


@pytest.mark.sweep
@pytest.mark.parametrize("alike", [0.0, 0.5])
def test_of_a_hundred_pairs_without_a_difference_at_most_five_are_called_worse_or_better(
    alike: float,
) -> None:
    dice = random.Random(20)
    called = [first_clear(dice, alike=alike) for _ in range(PAIRS)]
    assert sum(outcome != "inconclusive" for outcome in called) <= 5, called


def test_a_difference_that_is_there_is_called() -> None:
    dice = random.Random(21)
    assert sum(first_clear(dice, itl_s=0.03) == "better" for _ in range(20)) >= 19
    assert sum(first_clear(dice, itl_s=0.08) == "worse" for _ in range(20)) >= 19


def test_a_sixth_of_the_load_is_no_comparison_and_says_what_is_needed() -> None:
    dice = random.Random(22)
    expectation = FASTER
    former = dict(baseline(expectation, replica(dice, 0.0, 150.0)))
    found = verify(
        expectation, former, replica(dice, 1000.0, 150.0, itl_s=0.08, rate=4.0 / 6.0), 1000.0
    )
    assert found.outcome == "inconclusive"
    assert "of the load before it cannot be compared; 0.80 is needed" in found.reasons[0]
    few = verify(expectation, former, replica(dice, 1000.0, 150.0, itl_s=0.08, rate=0.05), 1000.0)
    assert few.outcome == "inconclusive"
    assert f"requests came, {FEWEST_REQUESTS:.0f} are needed to compare, about " in few.reasons[0]


def test_a_baseline_of_an_earlier_version_has_no_error_and_takes_that_of_now() -> None:
    dice = random.Random(23)
    expectation = FASTER
    former = {
        name: value
        for name, value in baseline(expectation, replica(dice, 0.0, 150.0))
        if not name.endswith(":error")
    }
    assert (
        verify(expectation, former, replica(dice, 1000.0, 150.0, itl_s=0.03), 1000.0).outcome
        == "better"
    )
    assert (
        verify(expectation, former, replica(dice, 1000.0, 150.0), 1000.0).outcome == "inconclusive"
    )


def test_the_error_of_a_mean_covers_it_and_shrinks_by_the_root_of_time() -> None:
    dice = random.Random(24)
    for alike in (0.0, 0.6):
        found = [
            estimate(series("itl_mean_s", walk(dice, 1.0, 0.2, 60, alike))) for _ in range(200)
        ]
        assert sum(abs(one.mean - 1.0) <= 2.0 * one.error for one in found) >= 180
    assert math.isinf(estimate(series("itl_mean_s", [1.0, 2.0])).error)
    assert estimate(series("itl_mean_s", [2.0] * 5)).error == 0.0
    assert longer_s(120.0, 1.0, 2.0) == 360.0
    assert longer_s(120.0, 1.0, 2.0, stays=0.5) == 480.0
    assert longer_s(120.0, 1.0, 2.0, stays=1.0) is None
    assert longer_s(120.0, 0.0, 2.0) is longer_s(120.0, 2.0, 1.0) is None
    one = estimate(series("itl_mean_s", walk(dice, 1.0, 0.2, 24, 0.0)))
    assert radius(one, 0.0, 24.0, 0.05) / one.error == pytest.approx(3.03, abs=0.03)
