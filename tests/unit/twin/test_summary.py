"""A run in numbers, beside the definitions written out: every nanosecond and every value counted
one by one.
"""

from __future__ import annotations

import math
import random

import pytest

from barostat.twin.forms import simulate
from barostat.twin.linear_pace import LinearPace
from barostat.twin.outcome import Outcome
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Spread, spread, spread_of_counted, summarise


def _quantile(values: list[float], share: float) -> float:
    """The smallest value that at least that share of them do not exceed."""
    return min(
        one for one in values if sum(other <= one for other in values) >= share * len(values)
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_spread_is_as_defined(seed: int) -> None:
    dice = random.Random(seed)
    counted = {dice.randint(1, 40): dice.randint(1, 9) for _ in range(dice.choice((1, 2, 30)))}
    values = [duration / 1e9 for duration, count in counted.items() for _ in range(count)]
    for found in (spread_of_counted(counted), spread(values)):
        assert (found.count, found.highest) == (len(values), max(values))
        assert found.mean == pytest.approx(math.fsum(values) / len(values), rel=1e-12)
        assert [found.p50, found.p90, found.p95, found.p99] == [
            _quantile(values, share) for share in (0.5, 0.9, 0.95, 0.99)
        ]
    assert spread([]) == spread_of_counted({}) == Spread(0)


@pytest.mark.parametrize("seed", range(12))
def test_use_over_time_is_that_of_every_nanosecond(seed: int) -> None:
    dice = random.Random(seed)
    blocks, at, load = 10, dice.randint(0, 50), []
    for _ in range(dice.choice((1, 3, 40, 200))):
        load.append((at, dice.randint(0, blocks), dice.randint(0, 5), dice.randint(0, 5)))
        at += dice.choice((0, 1, 1, 2, 7, 90))
    summary = summarise(Outcome(load=load, end_ns=at), blocks)
    first = load[0][0]
    width = max(1, math.ceil((at - first) / 60))
    states: dict[int, tuple[int, int, int]] = {}
    for (start, free, running, waiting), end in zip(
        load, [*(entry[0] for entry in load[1:]), at], strict=True
    ):
        states |= dict.fromkeys(range(start, end), (blocks - free, running, waiting))
    assert [round(one.at_s * 1e9) for one in summary.bins] == list(range(first, at, width))
    for one in summary.bins:
        begin = round(one.at_s * 1e9)
        within = [states[instant] for instant in range(begin, min(begin + width, at))]
        means = [sum(state[part] for state in within) / len(within) for part in range(3)]
        assert [one.usage_mean_ratio * blocks, one.running, one.waiting] == pytest.approx(means)
        assert one.usage_max_ratio >= max(state[0] for state in within) / blocks
    if states:
        assert summary.usage_mean_ratio == pytest.approx(
            sum(state[0] for state in states.values()) / len(states) / blocks
        )
    assert summary.usage_max_ratio == max(blocks - entry[1] for entry in load) / blocks


def test_a_summary_counts_what_its_lives_say() -> None:
    rows = [Row(str(index), 0.03 * index, 40, 10) for index in range(40)]
    outcome = simulate(
        Settings(kv_blocks=33, max_num_seqs=4), rows, LinearPace(0.01, 1e-4, front_s=0.004)
    )
    summary = summarise(outcome, 32, front_s=0.004)
    waits = [((life.first_token_ns or 0) - life.arrival_ns) / 1e9 + 0.004 for life in outcome.lives]
    assert summary.ttft.p90 == pytest.approx(_quantile(waits, 0.9))
    assert summary.ttft.mean == pytest.approx(sum(waits) / 40)
    assert (summary.finished, summary.output_tokens, summary.itl.count) == (40, 400, 360)
