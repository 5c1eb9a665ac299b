"""A prefill engine and a decode engine: when clients have their tokens, and who holds blocks until
when.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from barostat.core.errors import InputError
from barostat.twin.drafting import Drafting
from barostat.twin.linear_pace import LinearPace
from barostat.twin.pace import EverySteps
from barostat.twin.remote_kv.link import Link, Wire
from barostat.twin.remote_kv.pair import Pair, PairOutcome
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings
from barostat.twin.workload.made import make, parse_spec

MS = 1_000_000
STEP = EverySteps(10 * MS)
FAST = Link(1e15, 1.0)
PACE = LinearPace(0.01, 1e-5, 5e-5, 2e-8)


def _settings(**more: Any) -> Settings:
    values: dict[str, Any] = {
        "kv_blocks": 200,
        "max_model_len": 1024,
        "max_num_batched_tokens": 256,
    }
    return Settings(**{**values, **more})


def _rows(seed: int, count: int = 60) -> list[Row]:
    dice = random.Random(seed)
    at, found = 0.0, []
    for number in range(count):
        at += dice.expovariate(20.0)
        found.append(Row(str(number), round(at, 6), dice.randint(1, 400), dice.randint(1, 200)))
    return found


def _run(settings: Settings, rows: list[Row], link: Link = FAST, pace: Any = STEP) -> PairOutcome:
    return Pair(settings, settings, rows, pace, pace, link).run()


def test_a_lone_request_is_prefilled_fetched_and_answered() -> None:
    found = _run(_settings(), [Row("a", 0.0, 300, 5)], Link(16_000.0, 1.0, 0.004))
    life = found.together.lives[0]
    prefilled = 2 * 10 * MS  # 300 tokens in steps of 256
    # 304 tokens in whole blocks, at 16,000 a second, and the latency; then the next whole step.
    there = prefilled + 19 * MS + 4 * MS
    assert found.wire.took_ns == [23 * MS]
    assert life.first_token_ns == -(-there // (10 * MS)) * 10 * MS + 10 * MS
    assert life.finished_ns == life.first_token_ns + 4 * 10 * MS
    assert life.output_tokens == 5


def test_transfers_take_the_link_one_after_the_other() -> None:
    wire = Wire(Link(1000.0, 1.0, 0.5), 16)
    assert wire.send(100, 0) == round(0.112e9) + round(0.5e9)
    assert wire.send(16, 0) == round(0.128e9) + round(0.5e9)
    assert wire.send(16, 10**9) == 10**9 + 16 * MS + round(0.5e9)
    assert wire.busy_ns == 144 * MS


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("pace", [STEP, PACE])
@pytest.mark.parametrize("groups", [(KvGroup(16),), (KvGroup(16), KvGroup(16, 128))])
def test_every_request_ends_and_every_block_is_free_again(
    is_async: bool, caching: bool, pace: Any, groups: tuple[KvGroup, ...]
) -> None:
    settings = _settings(
        async_scheduling=is_async,
        prefix_caching=caching,
        groups=groups,
        kv_blocks=100 * len(groups),
    )
    pair = Pair(settings, settings, _rows(3), pace, pace, Link(1e6, 1.0))
    found = pair.run()
    assert all(life.finished_ns is not None for life in found.together.lives)
    assert [life.output_tokens for life in found.together.lives] == [
        row.output_tokens for row in _rows(3)
    ]
    for half in (pair._prefill, pair._decode):
        assert half.scheduler.kv.pool.free_blocks == settings.usable_blocks
    assert not found.together.stuck


def test_the_prefill_engine_holds_blocks_until_they_are_fetched() -> None:
    rows = [Row(str(number), 0.0, 160, 50) for number in range(30)]
    slow = _run(_settings(), rows, Link(1000.0, 1.0))
    fast = _run(_settings(), rows)
    least_slow = min(free for _, free, _, _ in slow.prefill.load)
    assert least_slow <= 9  # ten blocks a request: no more than 19 are prefilled and not fetched
    assert slow.prefill.end_ns > 11 * 160 * MS > fast.prefill.end_ns  # eleven had to wait


def test_a_long_prompt_holds_up_no_answer_of_the_decode_engine() -> None:
    rows = [Row("talks", 0.0, 16, 200), Row("long", 0.5, 1000, 2)]
    settings = _settings(kv_blocks=400, max_num_batched_tokens=1024)
    found = Pair(settings, settings, rows, PACE, PACE, FAST).run()
    # Alone, a step of this engine takes 10.05 ms and what its cache adds; with the prompt, 20 ms.
    assert max(found.together.gaps) < 12 * MS


def test_a_preempted_request_is_computed_again_where_it_was() -> None:
    settings = _settings(kv_blocks=64, reserve_full_isl=False)
    found = _run(settings, [Row(str(number), 0.0, 100, 200) for number in range(12)])
    assert found.decode.preemptions > 0
    assert found.prefill.preemptions == 0
    assert len(found.wire.took_ns) == 12  # nothing is fetched twice
    assert found.decode.recomputed_tokens > 0


def test_clients_that_wait_for_their_answers_go_on() -> None:
    rows = make(parse_spec("closed:clients=6,requests=40,input=200,output=40"), 0)
    found = _run(_settings(), rows, pace=PACE)
    assert len(found.together.lives) == 40
    assert all(life.finished_ns is not None for life in found.together.lives)


def test_limits_of_the_queue_are_those_of_the_prefill_engines_front() -> None:
    rows = [Row(str(number), 0.0, 100, 50) for number in range(10)]
    found = _run(_settings(max_queued_requests=6), rows)
    assert len(found.together.lives) == 6
    assert [one.status for one in found.together.rejections] == [503] * 4


def test_a_request_that_the_decode_engine_cannot_hold_stops_all_behind_it() -> None:
    rows = [Row("large", 0.0, 900, 5), Row("small", 0.1, 10, 5)]
    small = _settings(kv_blocks=40)
    found = Pair(_settings(), small, rows, STEP, STEP, FAST).run()
    assert "decode engine: request large fits in no empty pool" in found.together.stuck
    assert all(life.finished_ns is None for life in found.together.lives)


@pytest.mark.parametrize(
    "more", [{"drafting": Drafting(2, 0.5)}, {"groups": (KvGroup(16), KvGroup(16, state="align"))}]
)
def test_what_is_not_modelled_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="not modelled"):
        _run(_settings(**more), [])


@pytest.mark.parametrize(("speed", "size", "latency"), [(0, 1, 0), (1, 0, 0), (1, 1, -1)])
def test_a_link_that_is_none_is_refused(speed: float, size: float, latency: float) -> None:
    with pytest.raises(InputError):
        Link(speed, size, latency)
