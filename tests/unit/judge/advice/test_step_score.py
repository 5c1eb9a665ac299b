"""How much better than today a forecast is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barostat.core.diagnosis import Expected
from barostat.judge.advice.step_score import (
    benefit,
    beyond_chance,
    effect_of,
    preemption_outlook,
    price,
)
from barostat.judge.experiments.side_by_side import Difference

TODAY = Expected(1000.0, 2.0, 5.0, 0.02, 0.3, 1.0, 0.0)


def test_throughput_waits_and_preemptions_count_and_rejecting_costs_more_than_it_brings() -> None:
    assert benefit(TODAY, TODAY) == 0
    assert benefit(TODAY, replace(TODAY, output_tokens_per_s=1100)) > 0
    assert benefit(TODAY, replace(TODAY, preempted_per_s=0.0)) > 0
    # The case of the field: -44 % throughput and a wait of 8.4 s for no preemption, against half of
    # them for nothing.
    cap = replace(TODAY, output_tokens_per_s=560, ttft_mean_s=8.4, preempted_per_s=0.0)
    assert benefit(TODAY, cap) < 0 < benefit(TODAY, replace(TODAY, preempted_per_s=0.5))
    rejecting = replace(TODAY, ttft_mean_s=0.2, itl_p99_s=0.1, refused_ratio=0.4)
    assert benefit(TODAY, rejecting) < 0


def test_a_restart_and_more_gpus_have_their_price() -> None:
    assert price(restarts=False) == 0
    assert 0 < price(restarts=True) < price(restarts=False, capacity_ratio=2.0)
    # Twice the GPUs for twice the throughput is worth its price, and no more than that.
    twice = replace(TODAY, output_tokens_per_s=2000, preempted_per_s=2.0)
    assert benefit(TODAY, twice) == pytest.approx(price(restarts=False, capacity_ratio=2.0))


def test_the_end_of_preemption_counts_more_than_the_same_amount_of_less() -> None:
    none, hardly = replace(TODAY, preempted_per_s=0.0), replace(TODAY, preempted_per_s=0.02)
    assert benefit(TODAY, none, ends_preemption=True) > benefit(TODAY, hardly) + 0.09


def test_a_rare_preemption_is_no_thrash() -> None:
    rare = replace(TODAY, preempted_per_s=0.01)
    assert 0 < benefit(rare, replace(rare, preempted_per_s=0.0), ends_preemption=True) < 0.01


def test_what_becomes_of_preemptions_is_judged_per_token() -> None:
    twice = replace(TODAY, output_tokens_per_s=2000.0, preempted_per_s=2.0)
    assert preemption_outlook(TODAY, twice, 1.0) == "leaves"
    assert preemption_outlook(TODAY, replace(twice, preempted_per_s=1.0), 0.5) == "reduces"
    assert preemption_outlook(TODAY, replace(TODAY, preempted_per_s=0.0), 0.0) == "ends"
    assert preemption_outlook(replace(TODAY, preempted_per_s=0.0), TODAY, 0.0) is None


def _difference(field: str, ratio: float, *, significant: bool = True) -> Difference:
    better = (ratio > 0) == (field == "output_tokens_per_s")
    return Difference(field, ratio, 0.0, ratio, significant, better)


@pytest.mark.parametrize(
    ("differences", "refused", "value", "effect"),
    [
        ([], 0.0, 0.0, "nothing"),
        ([_difference("output_tokens_per_s", 0.1)], 0.0, 0.1, "helps"),
        (
            [_difference("output_tokens_per_s", 0.1), _difference("ttft_mean_s", 0.02)],
            0.0,
            0.1,
            "helps",
        ),
        (
            [_difference("output_tokens_per_s", 0.1), _difference("ttft_mean_s", 0.3)],
            0.0,
            0.1,
            "trade-off",
        ),
        ([_difference("output_tokens_per_s", 0.1)], 0.05, 0.1, "trade-off"),
        (
            [_difference("ttft_mean_s", -0.5), _difference("output_tokens_per_s", -0.4)],
            0.0,
            -0.2,
            "harms",
        ),
        ([_difference("ttft_mean_s", 0.3)], 0.0, -0.1, "harms"),
        ([_difference("ttft_mean_s", 0.3, significant=False)], 0.0, -0.1, "nothing"),
    ],
)
def test_the_effect_follows_from_the_differences(
    differences: list[Difference], refused: float, value: float, effect: str
) -> None:
    assert effect_of(differences, refused, value) == effect


def test_noise_changes_no_order() -> None:
    then = replace(TODAY, output_tokens_per_s=1200, ttft_mean_s=1.0)
    assert beyond_chance(TODAY, then, [_difference("ttft_mean_s", -0.5)]) == replace(
        TODAY, ttft_mean_s=1.0
    )
