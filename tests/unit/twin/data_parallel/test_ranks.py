"""Several engines behind one endpoint: each does with its requests what it would do with them
alone, and all requests go somewhere.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from barostat.core.errors import InputError
from barostat.twin.data_parallel.lock_step import LockStep
from barostat.twin.data_parallel.ranks import Ranks, RanksOutcome
from barostat.twin.forms import simulate
from barostat.twin.linear_pace import LinearPace
from barostat.twin.outcome import Outcome
from barostat.twin.pace import EverySteps, Pace
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings
from barostat.twin.workload.made import make, parse_spec

PACE = LinearPace(0.01, 1e-5, 5e-5, 2e-8)
EACH = EverySteps(20_000_000)
LAYOUTS = (
    (KvGroup(16),),
    (KvGroup(16), KvGroup(16, 128)),
    (KvGroup(16), KvGroup(16, chunk_tokens=256)),
)


def _settings(seed: int, **more: Any) -> Settings:
    dice = random.Random(seed)
    groups = dice.choice(LAYOUTS)
    values: dict[str, Any] = {
        "kv_blocks": 120 * len(groups),
        "groups": groups,
        "max_model_len": 1024,
        "max_num_seqs": dice.choice((4, 16)),
        "max_num_batched_tokens": 256,
        "async_scheduling": dice.random() < 0.5,
        "prefix_caching": dice.random() < 0.5,
    }
    return Settings(**{**values, **more})


def _rows(seed: int, ranks: int = 0, count: int = 80) -> list[Row]:
    dice = random.Random(seed)
    at, found = 0.0, []
    for number in range(count):
        at += dice.expovariate(12.0)
        rank = dice.randrange(ranks) if ranks else None
        found.append(
            Row(str(number), round(at, 6), dice.randint(1, 400), dice.randint(1, 200), rank=rank)
        )
    return found


def _lives(outcome: Outcome) -> list[Any]:
    return sorted(
        (one.request_id, one.admitted_ns, one.first_token_ns, one.finished_ns, one.preemptions)
        for one in outcome.lives
    )


def _alone(settings: Settings, rows: list[Row], pace: Pace, rank: int) -> Outcome:
    return simulate(settings, [row for row in rows if row.rank == rank], pace)


@pytest.mark.parametrize("seed", range(8))
def test_a_rank_does_with_its_requests_what_it_does_with_them_alone(seed: int) -> None:
    settings, rows = _settings(seed), _rows(seed, ranks=3)
    found = Ranks(settings, rows, PACE, 3).run()
    for rank, outcome in enumerate(found.ranks):
        alone = _alone(settings, rows, PACE, rank)
        assert _lives(outcome) == _lives(alone)
        assert outcome.load == alone.load
        assert outcome.preemptions == alone.preemptions
    assert found.together.preemptions == sum(one.preemptions for one in found.ranks)
    assert len(found.together.lives) == len(rows)


@pytest.mark.parametrize("seed", range(8))
def test_in_step_a_rank_decides_as_alone_where_every_step_takes_as_long(seed: int) -> None:
    settings, rows = _settings(seed), _rows(seed, ranks=3)
    found = LockStep(settings, rows, EACH, 3).run()
    for rank, outcome in enumerate(found.ranks):
        alone = _alone(settings, rows, EACH, rank)
        assert outcome.load == alone.load
        assert _lives(outcome) == _lives(alone)


def test_in_step_the_slowest_rank_sets_the_pace_and_an_idle_one_runs_dummies() -> None:
    settings = Settings(kv_blocks=1000, max_num_batched_tokens=2048, max_model_len=4096)
    rows = [Row("long", 0.0, 2000, 100, rank=0), Row("short", 0.0, 10, 100, rank=1)]
    alone = simulate(settings, rows[1:], PACE).lives[0]
    beside = LockStep(settings, rows, PACE, 3).run()
    short = beside.ranks[1].lives[0]
    long = beside.ranks[0].lives[0]
    assert short.first_token_ns == long.first_token_ns
    assert short.first_token_ns is not None
    assert alone.first_token_ns is not None
    assert short.first_token_ns > 2 * alone.first_token_ns
    assert beside.dummy_steps >= 100  # of the third rank, one for each step of the others


def test_out_of_step_nobody_waits_for_another_rank() -> None:
    settings = Settings(kv_blocks=1000, max_num_batched_tokens=2048, max_model_len=4096)
    rows = [Row("long", 0.0, 2000, 100, rank=0), Row("short", 0.0, 10, 100, rank=1)]
    alone = simulate(settings, rows[1:], PACE).lives[0]
    found = Ranks(settings, rows, PACE, 2).run()
    assert found.ranks[1].lives[0].first_token_ns == alone.first_token_ns
    assert found.dummy_steps == 0


@pytest.mark.parametrize("form", [Ranks, LockStep])
@pytest.mark.parametrize("servers", [1, 2])
def test_unpinned_requests_are_spread_and_every_one_ends(form: Any, servers: int) -> None:
    settings = _settings(1)
    found: RanksOutcome = form(settings, _rows(3, count=200), PACE, 4, servers).run()
    counts = [len(one.lives) for one in found.ranks]
    assert sum(counts) == 200
    assert min(counts) > 35
    assert all(one.finished_ns is not None for one in found.together.lives)
    assert set(found.places) == {str(number) for number in range(200)}


@pytest.mark.parametrize("form", [Ranks, LockStep])
def test_clients_that_wait_for_their_answers_go_on(form: Any) -> None:
    rows = make(parse_spec("closed:clients=12,requests=60,input=200,output=40"), 0)
    found = form(_settings(2), rows, PACE, 2).run()
    assert len(found.together.lives) == 60
    assert all(one.finished_ns is not None for one in found.together.lives)
    assert max(running for _, _, running, _ in found.together.load) <= 12


@pytest.mark.parametrize("form", [Ranks, LockStep])
def test_the_limit_of_queued_requests_is_of_the_front_end(form: Any) -> None:
    rows = [Row(str(number), 0.0, 100, 50) for number in range(10)]
    found = form(_settings(4, max_queued_requests=6), rows, PACE, 2).run()
    assert len(found.together.lives) == 6
    assert [one.status for one in found.together.rejections] == [503] * 4


@pytest.mark.parametrize("form", [Ranks, LockStep])
def test_prompts_that_are_not_through_are_counted_over_all_ranks(form: Any) -> None:
    rows = [Row(str(number), number * 0.2, 100, 5) for number in range(10)]
    found = form(_settings(4, max_queued_tokens=150), rows, PACE, 2).run()
    assert not found.together.rejections  # each is through before the next


def test_a_rank_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="asks for rank 2 of 2"):
        Ranks(_settings(0), [Row("a", 0.0, 10, 10, rank=2)], PACE, 2)


def test_one_rank_thrashes_beside_one_that_does_not() -> None:
    settings = Settings(kv_blocks=64, max_model_len=1024, max_num_batched_tokens=512)
    dice = random.Random(0)
    rows = [
        Row(
            str(n), n * 0.01, dice.randint(50, 100), dice.randint(100, 200), rank=0 if n % 20 else 1
        )
        for n in range(80)
    ]
    found = Ranks(settings, rows, PACE, 2).run()
    assert found.ranks[0].preemptions > 20
    assert found.ranks[1].preemptions == 0


def test_the_loads_of_all_ranks_add_up() -> None:
    settings, rows = _settings(5), _rows(5, ranks=2)
    found = Ranks(settings, rows, PACE, 2).run()
    usable = settings.usable_blocks
    for at_ns, free, running, _ in found.together.load[:: max(1, len(found.together.load) // 50)]:
        states = [
            next((entry for entry in reversed(one.load) if entry[0] <= at_ns), (0, usable, 0, 0))
            for one in found.ranks
        ]
        assert free == sum(entry[1] for entry in states)
        assert running == sum(entry[2] for entry in states)
