"""Fewer run where tokens come too slowly, more where they come in time, and neither chance nor a
slow engine shuts the gate.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.gates import Gate

from barostat.admit import gate
from barostat.admit.decision import Admitted
from barostat.admit.pace_limit import PaceLimit
from barostat.admit.replica_news import Observation
from barostat.admit.rules import Rules

ITL_S = 0.010


def settled(base_s: float, each_s: float, fits: int, looks: int = 60) -> tuple[PaceLimit, int]:
    """The limit of an engine whose step takes so long, behind a queue that never ends; what runs in
    the end.
    """
    limit, running = PaceLimit(), fits
    for _ in range(looks):
        limit.look(base_s + each_s * running, running, ITL_S)
        running = fits if limit.most is None else min(fits, limit.most)
    return limit, running


@pytest.mark.parametrize(
    ("base_s", "each_s", "fits"), [(0.0, 0.001, 40), (0.004, 0.0002, 100), (0.007, 0.00005, 400)]
)
def test_what_runs_settles_where_tokens_come_in_time(
    base_s: float, each_s: float, fits: int
) -> None:
    _, running = settled(base_s, each_s, fits)
    assert 0.7 * ITL_S <= base_s + each_s * running <= 0.95 * ITL_S


def test_an_engine_that_is_quick_enough_is_not_limited() -> None:
    limit, running = settled(0.002, 0.0001, 60)
    assert (limit.most, running) == (None, 60)


def test_an_engine_that_is_too_slow_whatever_runs_is_left_alone() -> None:
    limit = PaceLimit()
    least = running = 40
    for _ in range(200):
        limit.look(0.05 + 0.00001 * running, running, ITL_S)
        running = 40 if limit.most is None else min(40, limit.most)
        least = min(least, running)
    assert (limit.most, least) == (None, 20)


def test_one_slow_second_is_chance() -> None:
    limit = PaceLimit()
    for token_s in (0.005, 0.030, 0.005, 0.030, 0.005):
        limit.look(token_s, 40, ITL_S)
    assert limit.most is None


def test_a_limit_is_gone_with_what_it_was_for() -> None:
    limit = PaceLimit()
    for _ in range(3):
        limit.look(0.02, 40, ITL_S)
    assert limit.most == 20
    limit.look(None, 0, ITL_S)
    assert limit.most == 20
    for _ in range(20):
        running = min(40, limit.most or 40)
        limit.look(0.002, running, ITL_S)
    assert limit.most is None
    for promised_s in (ITL_S, ITL_S, None):
        limit.look(0.02, 40, promised_s)
    assert limit.most is None


def test_the_gate_keeps_to_it_and_one_request_always_may() -> None:
    tried = Gate(Rules(itl_s=ITL_S, queue_deadline_s=10.0), kv_tokens=1_000_000)
    running = [tried.admit().reservation for _ in range(40)]
    for second in range(1, 4):
        gate.observed(tried.ledger, "r0", Observation(0.01, 40, 0, 0, 0.02), float(second))
    assert tried.ledger.replicas["r0"].pace.most == 20
    waiting = tried.queue()
    for number in running[:20]:
        tried.end(number)
    assert tried.due() == []
    tried.end(running[20])
    assert [one.reservation for one in tried.due()] == [waiting.reservation]
    for number in (*running[21:], waiting.reservation):
        tried.end(number)
    assert isinstance(tried.ask(sequences=64), Admitted)
    tried.rules = replace(tried.rules, itl_s=None)
    gate.adopted(tried.ledger, tried.rules, tried.at)
    gate.observed(tried.ledger, "r0", Observation(0.01, 40, 0, 0, 0.02), 9.0)
    assert isinstance(tried.ask(), Admitted)


def test_what_others_run_there_counts() -> None:
    tried = Gate(Rules(itl_s=ITL_S, queue_deadline_s=10.0), kv_tokens=1_000_000)
    for _ in range(2):
        tried.admit()
    for second in range(1, 4):
        gate.observed(tried.ledger, "r0", Observation(0.01, 40, 0, 0, 0.02), float(second))
    assert not isinstance(tried.ask(), Admitted)
