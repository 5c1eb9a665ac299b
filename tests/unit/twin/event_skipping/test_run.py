"""The fast form and the step-by-step form come to the same outcome, to the nanosecond and the
block.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.both_forms import in_closed_loop, same, workload

from barostat.twin.event_skipping.run import EventSkippingRun
from barostat.twin.pace import EverySteps
from barostat.twin.request import Row
from barostat.twin.scheduler.run import Steps
from barostat.twin.settings import Settings


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.sweep) for first in range(40, 240, 40))]
)
def test_both_forms_come_to_the_same_in_closed_loop(first: int) -> None:
    preempted = rejected = finished = 0
    for seed in range(first, first + 40):
        settings, rows = workload(seed)
        outcome = same(seed, settings, in_closed_loop(rows, seed))
        preempted += outcome.preemptions
        rejected += len(outcome.rejections)
        finished += sum(life.finished_ns is not None for life in outcome.lives)
    assert preempted
    assert rejected
    assert finished > 250


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.sweep) for first in range(40, 400, 40))]
)
def test_both_forms_come_to_the_same(first: int) -> None:
    preempted = rejected = 0
    for seed in range(first, first + 40):
        outcome = same(seed, *workload(seed))
        preempted += outcome.preemptions
        rejected += len(outcome.rejections)
    assert preempted
    assert rejected


def test_a_request_that_fits_nowhere_ends_both_forms() -> None:
    settings = Settings(kv_blocks=5, max_num_seqs=4, reserve_full_isl=False, max_model_len=200)
    rows = [Row("a", 0.0, 40, 100), Row("b", 1.0, 10, 5)]
    outcomes = [form(settings, rows, EverySteps(10**9)).run() for form in (Steps, EventSkippingRun)]
    assert outcomes[0] == outcomes[1]
    assert "preempts itself" in outcomes[0].stuck
    whole = replace(settings, reserve_full_isl=True)
    waiting = [
        form(whole, [Row("a", 0.0, 90, 10)], EverySteps(10**9)).run()
        for form in (Steps, EventSkippingRun)
    ]
    assert waiting[0] == waiting[1]
    assert "fits in no empty pool" in waiting[0].stuck


def test_an_hour_of_decoding_costs_no_more_than_its_steps() -> None:
    rows = [Row(str(index), 0.0, 100, 1000) for index in range(200)]
    outcome = EventSkippingRun(
        Settings(kv_blocks=20_000, max_num_seqs=200), rows, EverySteps(10**7)
    ).run()
    assert outcome.steps < 1_100
    assert outcome.request_steps >= 200 * 1000
    assert all(life.finished_ns for life in outcome.lives)
