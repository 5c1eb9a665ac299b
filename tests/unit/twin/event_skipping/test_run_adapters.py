"""The fast form with LoRA adapters comes to the same as the step-by-step form."""

from __future__ import annotations

from tests.parity.scheduler_cases import adapter_case
from tests.support.both_forms import in_closed_loop, same

from barostat.twin.event_skipping.told_blocks import BlockLeapState
from barostat.twin.forms import simulate, state_for
from barostat.twin.pace import EverySteps
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.workload.made import make, parse_spec


def test_both_forms_come_to_the_same() -> None:
    preempted = hits = 0
    for seed in range(60):
        settings, rows = adapter_case(seed)
        outcome = same(seed, settings, rows, state_for(settings, rows))
        preempted += outcome.preemptions
        hits += outcome.cached_tokens
    assert preempted
    assert hits


def test_both_forms_come_to_the_same_in_closed_loop() -> None:
    for seed in range(40):
        settings, rows = adapter_case(seed)
        same(seed, settings, in_closed_loop(rows, seed), state_for(settings, rows))


def _rows(*adapters: str | None) -> list[Row]:
    return [
        Row(str(place), 0.0, 16, 10, adapter=adapter, hash_ids=(7,), id_tokens=16)
        for place, adapter in enumerate(adapters)
    ]


def test_a_request_without_a_slot_lets_those_behind_it_pass() -> None:
    settings = Settings(100, max_loras=1, prefix_caching=False)
    lives = simulate(settings, _rows("a", "b", "a", None), EverySteps(10**9)).lives
    assert [life.admitted_ns for life in lives] == [0, 10 * 10**9, 0, 0]


def test_two_slots_serve_two_adapters() -> None:
    settings = Settings(100, max_loras=2, prefix_caching=False)
    lives = simulate(settings, _rows("a", "b"), EverySteps(10**9)).lives
    assert [life.admitted_ns for life in lives] == [0, 0]


def test_adapters_share_no_prefix() -> None:
    settings = Settings(100, max_loras=2)
    rows = [
        row._replace(arrival_s=float(50 * place), input_tokens=33)
        for place, row in enumerate(_rows("a", "b", "a", None))
    ]
    assert isinstance(state_for(settings, rows), BlockLeapState)
    lives = same(0, settings, rows, state_for(settings, rows)).lives
    assert [life.cached_tokens for life in lives] == [0, 0, 16, 0]


def test_made_workloads_ask_for_adapters_at_random() -> None:
    rows = make(parse_spec("closed:clients=4,requests=400,adapters=5"), 3)
    assert {row.adapter for row in rows} == {f"adapter-{place}" for place in range(5)}
    plain = make(parse_spec("closed:clients=4,requests=400"), 3)
    assert [row._replace(adapter=None) for row in rows] == plain
