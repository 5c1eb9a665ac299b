"""What is sent when: rates, clients, and the most that limits allow."""

from __future__ import annotations

import itertools

import pytest

from barostat.core.errors import InputError
from barostat.core.limits import EdgeLimits, EngineLimits, LimitsSpec, RequestLimits, ServingLimits
from barostat.judge.load_test.traffic import (
    Traffic,
    allowed,
    as_many,
    at_rate,
    burst,
    faster,
    first_at_once,
    mixed,
    with_clients,
    worst_mix,
)
from barostat.twin.request import Row

ROWS = tuple(Row(str(place), 10.0 + 2 * place, 100 + place, 10) for place in range(11))


def limits(**changes: object) -> ServingLimits:
    request = RequestLimits(max_input_tokens=600, max_output_tokens=100)
    return ServingLimits(
        LimitsSpec(**{"request": request, "engine": EngineLimits(max_num_seqs=16), **changes})  # type: ignore[arg-type]
    )


def test_a_rate_keeps_the_rhythm_and_begins_at_once() -> None:
    found = at_rate(Traffic(ROWS), 5.0)
    assert found.rate_per_s == pytest.approx(5.0)
    assert found.rows[0].arrival_s == 0.0
    assert [row.input_tokens for row in found.rows] == [row.input_tokens for row in ROWS]
    assert faster(Traffic(ROWS), 2).rows[-1].arrival_s == 10.0


def test_too_few_rows_come_over_and_over_at_their_rate() -> None:
    rows = tuple(row._replace(hash_ids=(3, place)) for place, row in enumerate(ROWS))
    found = as_many(Traffic(rows, description="t"), 100)
    assert len(found.rows) == len({row.request_id for row in found.rows}) == 100
    assert found.rate_per_s == pytest.approx(0.5)
    gaps = [
        later.arrival_s - earlier.arrival_s for earlier, later in itertools.pairwise(found.rows)
    ]
    assert gaps == pytest.approx([2.0] * 99)
    turns = [found.rows[at : at + 11] for at in range(0, 99, 11)]
    assert (
        len({row.hash_ids[0] for turn in turns for row in turn if row.hash_ids}) == 9
    )  # shared within a turn, not with the one before
    assert turns[0] == rows
    assert as_many(Traffic(ROWS), 4).rows == ROWS[:4]


def test_what_waits_for_answers_has_no_rate() -> None:
    closed = Traffic((ROWS[0], ROWS[1]._replace(after_id="0")))
    assert closed.rate_per_s is None
    for change in (at_rate, faster):
        with pytest.raises(InputError, match="--concurrency"):
            change(closed, 2.0)
    with pytest.raises(InputError, match="no rate"):
        at_rate(Traffic(tuple(row._replace(arrival_s=1.0) for row in ROWS)), 2.0)


def test_clients_take_rows_one_after_the_other() -> None:
    found = with_clients(Traffic((ROWS[0], ROWS[1]._replace(after_id="0"))), 7)
    assert found.clients == 7
    assert not found.is_open
    assert all(row.after_id is None and row.arrival_s == 0 for row in found.rows)


def test_a_recorded_trace_begins_now_and_pauses_stay() -> None:
    found = first_at_once(Traffic((*ROWS, Row("next", 3.0, 5, 5, after_id="0"))))
    assert [row.arrival_s for row in found.rows][:2] == [0.0, 2.0]
    assert found.rows[-1].arrival_s == 3.0


def test_the_most_that_limits_allow_heeds_the_edges_budget() -> None:
    assert allowed(limits(), "x").at_once == 16
    assert allowed(limits(edge=EdgeLimits(kv_token_budget=2900)), "x").at_once == 4
    assert allowed(limits(edge=EdgeLimits(kv_token_budget=9)), "x").at_once == 1
    unbounded = limits(
        request=RequestLimits(max_output_tokens=100),
        engine=EngineLimits(max_model_len=1000, max_num_seqs=2),
    )
    assert allowed(unbounded, "x").input_tokens == 900


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"request": RequestLimits(max_input_tokens=5)}, "maxOutputTokens"),
        ({"request": RequestLimits(max_output_tokens=5)}, "maxInputTokens"),
        ({"engine": EngineLimits()}, "maxNumSeqs"),
    ],
)
def test_limits_that_limit_nothing_are_told(changes: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        allowed(limits(**changes), "limits.yaml")


def test_made_traffic_stays_within_what_is_allowed_and_begins_with_the_longest() -> None:
    most = allowed(limits(edge=EdgeLimits(kv_token_budget=2900)), "x")
    worst = worst_mix(most)
    assert worst.clients == 4
    assert {(row.input_tokens, row.output_tokens) for row in worst.rows[:4]} == {(600, 100)}
    assert any(row.input_tokens < 600 for row in worst.rows)
    spread = mixed(most, 500, 10.0)
    assert spread.rate_per_s == pytest.approx(10, rel=0.15)
    both = burst(most, 7.0)
    assert [row.arrival_s for row in both.rows] == [0.0] * 4 + [7.0] * 4
    for row in (*worst.rows, *spread.rows, *both.rows):
        assert 1 <= row.input_tokens <= 600
        assert 1 <= row.output_tokens <= 100
