"""Trials, their outlook, and candidates beside today: what is chance and what is not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from barostat.judge.experiments.candidates import Candidate
from barostat.judge.experiments.outlook import difference, outlook
from barostat.judge.experiments.side_by_side import changes, compare, far_off
from barostat.judge.experiments.trials import Made, PartsOf, Trial, outcome_of, run_trial
from barostat.twin.forms import simulate
from barostat.twin.intake import Rejection
from barostat.twin.linear_pace import LinearPace
from barostat.twin.outcome import Life, Outcome
from barostat.twin.pace import EverySteps
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo
from barostat.twin.workload.made import in_turn, parse_spec

PACE = LinearPace(0.02, 2e-5, 0.0, 2e-8)
TIGHT = Settings(kv_blocks=500, max_num_seqs=64, max_model_len=4000)
LOAD = Made(parse_spec("bursty:rate=5,minutes=2,input=400,output=300"))


def test_an_outlook_counts_what_ends_in_its_stretch() -> None:
    rows = [Row(str(place), float(place), 10, 10) for place in range(20)]
    outcome = simulate(
        Settings(kv_blocks=100), rows, EverySteps(10**8)
    )  # each is there for a second
    whole, half = (outlook(outcome, 99, Slo(), start, 20.0) for start in (0.0, 10.0))
    assert whole.requests_per_s == 1.0
    assert half.requests_per_s == pytest.approx(1.0, abs=0.11)
    assert half.output_tokens_per_s == pytest.approx(10.0, abs=1.1)
    assert whole.ttft_p50_s == pytest.approx(0.1)
    assert whole.running == pytest.approx(1.0, abs=0.1)
    assert whole.waiting == 0.0
    late = outlook(outcome, 99, Slo(ttft_s=0.15), 0.0, 20.0, front_s=0.1)
    assert (whole.good_per_s, late.good_per_s) == (1.0, 0.0)
    assert late.ttft_p50_s == pytest.approx(0.2)


def test_fewer_preemptions_are_told_and_nothing_is_told_of_the_same() -> None:
    today = compare(Candidate("today", TIGHT), LOAD, Slo(), (PACE, PACE.scaled(1.2)), 3)
    fewer = compare(
        Candidate("fewer", replace(TIGHT, max_num_seqs=8)), LOAD, Slo(), (PACE, PACE.scaled(1.2)), 3
    )
    told = {change.field: change for change in changes(today, fewer)}
    assert told["preempted_per_s"].significant
    assert told["preempted_per_s"].better
    assert not [change for change in changes(today, today) if change.significant]
    wide = today.range("output_tokens_per_s")
    assert wide is not None
    assert wide.low < wide.mean <= wide.high


def test_a_difference_of_pairs_forgets_what_both_share() -> None:
    mean, error = difference([1.0, 5.0, 9.0], [1.1, 5.2, 9.0])
    assert mean == pytest.approx(0.1)
    assert error == pytest.approx(0.0577, abs=0.001)
    assert difference([1.0], [3.0]) == (2.0, math.inf)


def test_one_run_of_made_traffic_tells_nothing_and_one_of_a_trace_all() -> None:
    fewer = Candidate("fewer", replace(TIGHT, max_num_seqs=8))
    for load, tells in (
        (LOAD, False),
        (PartsOf(tuple(LOAD.rows(0)), whole=True), True),
        (PartsOf(tuple(LOAD.rows(0))), False),
    ):
        today, then = (
            compare(one, load, Slo(), (PACE,), 1) for one in (Candidate("today", TIGHT), fewer)
        )
        assert any(change.significant for change in changes(today, then)) is tells


def test_a_twin_far_from_its_engine_is_named() -> None:
    today = compare(Candidate("today", TIGHT), LOAD, Slo(), (PACE,), 2)
    tokens = today.range("output_tokens_per_s")
    assert tokens is not None
    assert far_off(today, {"output_tokens_per_s": tokens.mean}) == ()
    assert far_off(today, {"output_tokens_per_s": 3 * tokens.mean}) == ("tokens/s",)


@pytest.mark.parametrize(("requests", "count"), [(240, 12), (100, 4), (30, 2)])
def test_parts_of_a_trace_count_no_request_in_common_and_begin_with_those_before_it(
    requests: int, count: int
) -> None:
    trace = tuple(Row(str(place), 100.0 + place, 10, 10) for place in range(requests))
    load = PartsOf(trace)
    parts = [load.rows(version) for version in range(count)]
    counted = [
        [row.request_id for row in part if row.arrival_s >= load.span_s(part).from_s]
        for part in parts
    ]
    assert [name for names in counted for name in names] == [row.request_id for row in trace]
    assert [
        [row.request_id for row in part if row.request_id not in own]
        for part, own in zip(parts, counted, strict=True)
    ] == [
        [],
        *counted[:-1],
    ]
    assert load.rows(count) == parts[0]
    assert PartsOf(trace, whole=True).rows(3) == list(trace)


def test_a_part_of_a_trace_counts_its_requests_to_their_last_answer() -> None:
    """One request a second, each there for 50 s: longer than a part of 20 s lasts."""
    load = PartsOf(tuple(Row(str(place), float(place), 10, 500) for place in range(241)))
    for version in (0, 1, 11):
        found = run_trial(
            load, Slo(ttft_s=1.0), Trial(Settings(kv_blocks=5000), version, EverySteps(10**8))
        )
        assert found.good_per_s == pytest.approx(1.0, abs=0.06)
        assert found.e2e_p50_s == pytest.approx(50.0, abs=0.1)


def test_caps_at_the_edge_refuse_the_long_and_cut_the_rest() -> None:
    load = PartsOf(
        (Row("a", 0.0, 10, 50), Row("b", 0.0, 900, 50), Row("c", 0.0, 20, 5)), whole=True
    )
    free = run_trial(load, Slo(), Trial(TIGHT, 0, PACE))
    capped = run_trial(load, Slo(), Trial(TIGHT, 0, PACE, input_cap=100, output_cap=10))
    assert free.refused_ratio == 0.0
    assert capped.output_tokens_per_s * 1 > 0
    assert capped.e2e_p50_s is not None
    assert free.e2e_p50_s is not None
    assert capped.e2e_p50_s < free.e2e_p50_s


def test_a_client_that_the_edge_refused_goes_on_with_its_next() -> None:
    rows = in_turn([(10, 5), (900, 5), (10, 6), (10, 7), (900, 8), (10, 9)], 2, [0.0] * 6)
    capped = run_trial(
        PartsOf(tuple(rows), whole=True), Slo(), Trial(TIGHT, 0, EverySteps(10**9), input_cap=100)
    )
    assert capped.output_tokens_per_s > 0
    assert capped.requests_per_s * 14 == pytest.approx(4, rel=0.3)


@pytest.mark.parametrize("budget", [None, 10**6])
def test_what_the_edge_refuses_of_clients_that_wait_is_counted_when_it_comes(
    budget: int | None,
) -> None:
    rows = in_turn([(10, 5), (900, 5), (10, 6), (900, 7), (900, 8), (10, 9)], 2, [0.5] * 6)
    trial = Trial(TIGHT, 0, EverySteps(10**9), input_cap=100, kv_budget=budget)
    assert run_trial(PartsOf(tuple(rows), whole=True), Slo(), trial).refused_ratio == 0.5
    found = outcome_of(rows, trial)
    ended_s = {life.request_id: (life.finished_ns or 0) / 1e9 for life in found.lives}
    assert {one.request_id: one.at_s for one in found.rejections} == {
        "1": 0.0,
        "3": 1.0,
        "4": ended_s["2"] + 0.5,
    }


def test_refused_is_a_share_of_what_came_and_not_of_what_was_done() -> None:
    """Of four that come in ten seconds one is refused; two are still under way as the stretch
    ends.
    """
    lives = [
        Life(str(place), place * 10**9, 10, 1, 0, 10**9, (place + 1) * 8 * 10**9)
        for place in range(3)
    ]
    outcome = Outcome(lives=lives, rejections=[Rejection("x", 2.0, 503, "full")], end_ns=30 * 10**9)
    assert outlook(outcome, 100, Slo(), 0.0, 10.0).refused_ratio == 0.25
