"""What a forecast is worth beside today's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barostat.core.diagnosis import Expected
from barostat.judge.advice.worth import as_told, effect_of, worth
from barostat.judge.experiments.side_by_side import Difference

TODAY = Expected(1000.0, 2.0, 5.0, 0.02, 0.3, 1.0, 0.0)


def test_throughput_waits_and_calm_count_and_refusing_costs_more_than_it_brings() -> None:
    assert worth(TODAY, TODAY) == 0
    assert worth(TODAY, TODAY, restarts=True) < 0
    assert worth(TODAY, replace(TODAY, output_tokens_per_s=1100)) > 0
    assert worth(TODAY, replace(TODAY, preempted_per_s=0.0)) > 0
    # The case of the field: -44 % throughput and a wait of 8.4 s for no preemption, against half of
    # them for nothing.
    cap = replace(TODAY, output_tokens_per_s=560, ttft_mean_s=8.4, preempted_per_s=0.0)
    assert worth(TODAY, cap) < 0 < worth(TODAY, replace(TODAY, preempted_per_s=0.5))
    assert worth(TODAY, replace(TODAY, ttft_mean_s=0.2, itl_p99_s=0.1, refused_ratio=0.4)) < 0


def test_a_preemption_now_and_then_is_no_thrash() -> None:
    rare = replace(TODAY, preempted_per_s=0.01)
    assert 0 < worth(rare, replace(rare, preempted_per_s=0.0)) < 0.01


def _difference(field: str, ratio: float, *, told: bool = True) -> Difference:
    better = (ratio > 0) == (field == "output_tokens_per_s")
    return Difference(field, ratio, 0.0, ratio, told, better)


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
        ([_difference("ttft_mean_s", 0.3, told=False)], 0.0, -0.1, "nothing"),
    ],
)
def test_the_effect_in_a_word(
    differences: list[Difference], refused: float, value: float, effect: str
) -> None:
    assert effect_of(differences, refused, value) == effect


def test_noise_orders_nothing() -> None:
    then = replace(TODAY, output_tokens_per_s=1200, ttft_mean_s=1.0)
    assert as_told(TODAY, then, [_difference("ttft_mean_s", -0.5)]) == replace(
        TODAY, ttft_mean_s=1.0
    )
