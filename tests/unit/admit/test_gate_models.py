"""Engines of different models behind one gate: each model has the queue, the turns and the figures
of its own engines.
"""

from __future__ import annotations

import pytest
from tests.support.gates import A, B, Gate, Where, tenants, two_models

from barostat.admit import gate
from barostat.admit.decision import Admitted, Queued, Refused
from barostat.admit.replica_news import Observation, Pool
from barostat.admit.rules import Rules


def full(tried: Gate, not_on: Where, waiting: int = 0, tenant: str = "") -> list[int]:
    """What runs there: four, and so many wait behind them."""
    running = [tried.admit(tenant=tenant, not_on=not_on).reservation for _ in range(4)]
    for _ in range(waiting):
        tried.queue(tenant=tenant, not_on=not_on)
    return running


def keep_off(tried: Gate, number: int, not_on: Where) -> None:
    """It may go to all engines but these, and fits on some."""
    assert gate.kept_off(tried.ledger, tried.rules, number, not_on, tried.at) is None


def stays(tried: Gate, for_s: float, not_on: Where, answers: int = 50) -> None:
    """So many answers of that model have ended, each after so long."""
    for _ in range(answers):
        one = tried.admit(not_on=not_on)
        tried.at += for_s
        gate.produced(tried.ledger, one.reservation, 100, tried.at)
        tried.end(one.reservation, 100)


def test_a_model_whose_engine_is_idle_is_served_at_once() -> None:
    tried = two_models()
    full(tried, A, waiting=50)
    full(tried, B)


def test_what_comes_free_at_an_engine_is_for_those_that_may_go_there() -> None:
    tried = two_models()
    full(tried, A, waiting=50)
    running = full(tried, B)
    waiting = [tried.queue(not_on=B).reservation for _ in range(3)]
    for number in running[:3]:
        tried.end(number, 100)
    assert [one.reservation for one in tried.due()] == waiting


def test_nobody_passes_those_of_its_own_model() -> None:
    tried = two_models()
    full(tried, A, waiting=1)
    running = full(tried, B)
    first = tried.queue(300, not_on=B)
    tried.end(running[0], 100)
    behind = tried.queue(50, not_on=B)
    tried.end(running[1], 100)
    assert [one.reservation for one in tried.due()] == [first.reservation]
    assert tried.end(behind.reservation)


def test_a_queue_is_full_of_its_own() -> None:
    tried = two_models(Rules(queue_deadline_s=10.0, max_queued=5))
    full(tried, A, waiting=5)
    refused = tried.ask(not_on=A)
    assert isinstance(refused, Refused)
    assert refused.reason == "queue-full"
    full(tried, B, waiting=5)
    assert isinstance(tried.ask(not_on=B), Refused)


def test_the_wait_is_reckoned_by_the_engines_that_can_take_it_and_by_who_waits_for_them() -> None:
    tried = two_models()
    stays(tried, 1.0, B)
    stays(tried, 30.0, A)
    full(tried, B)
    full(tried, A)
    slow = [tried.ask(not_on=A) for _ in range(20)]
    quick = [tried.ask(not_on=B) for _ in range(60)]
    assert (
        sum(isinstance(one, Queued) for one in slow) == 1
    )  # the next in 7.5 s, and after 10 s they are refused
    assert 35 <= sum(isinstance(one, Queued) for one in quick) <= 40
    told = [one.retry_after_s or 0.0 for one in quick if isinstance(one, Refused)]
    assert told[0] < 6.5  # not behind the slow ones' time
    assert next(one.retry_after_s for one in slow if isinstance(one, Refused)) == pytest.approx(
        10.0 - 5.0 + 30.0 / 4 + 5.0, abs=0.1
    )


def test_who_has_been_served_much_of_one_model_has_its_turn_at_the_other() -> None:
    tried = two_models(tenants(red=0.5, blue=0.5), kv_tokens=1000)
    for _ in range(300):
        tried.end(tried.admit(tenant="red", not_on=A).reservation, 100)
    full(tried, A, tenant="red", waiting=60)
    running = full(tried, B, tenant="blue")
    blue = {tried.queue(tenant="blue", not_on=B).reservation for _ in range(60)}
    red = {tried.queue(tenant="red", not_on=B).reservation for _ in range(60)}
    served = tried.served(running, 40)
    assert 16 <= sum(number in red for number in served) <= 26
    assert 14 <= sum(number in blue for number in served) <= 24


def test_a_flood_at_one_model_is_nothing_to_another_tenants_other_model() -> None:
    tried = two_models(tenants(flood=0.5, calm=0.5), kv_tokens=10_000)
    flood = [tried.ask(tenant="flood", not_on=A) for _ in range(200)]
    assert isinstance(flood[-1], Queued)
    calm = 0
    while isinstance(tried.ask(tenant="calm", not_on=B), Admitted):
        calm += 1
    assert calm >= 44  # all of that pool: nobody else asks for it


def test_nothing_of_a_pool_is_kept_for_tenants_that_ask_for_another_model() -> None:
    tried = two_models(tenants(red=0.5, blue=0.5), kv_tokens=10_000)
    tried.admit(tenant="blue", not_on=B)
    red = 0
    while isinstance(tried.ask(tenant="red", not_on=A), Admitted):
        red += 1
    assert red >= 44  # of the 46 that fit


def test_who_has_more_than_its_share_of_one_model_may_have_less_of_another() -> None:
    tried = two_models(tenants(red=0.5, blue=0.5), kv_tokens=10_000)
    for _ in range(40):
        tried.admit(tenant="red", not_on=A)
    tried.end(tried.admit(tenant="red", not_on=B).reservation, 100)
    blue = 0
    while isinstance(tried.ask(tenant="blue", not_on=B), Admitted):
        blue += 1
    assert blue <= 43
    tried.end(max(tried.ledger.reservations), ended="cut")  # the one that waits
    tried.admit(tenant="red", not_on=B)  # of the tenth that is kept there


def test_a_context_is_that_of_the_engines_that_may_take_it() -> None:
    tried = two_models(kv_tokens=100_000)
    gate.joined(tried.ledger, "r0", Pool(100_000, 16, 1024, 4096), tried.at)
    gate.joined(tried.ledger, "r1", Pool(50_000, 16, 1024, 65_536), tried.at)
    refused = tried.ask(8000, not_on=A)
    assert isinstance(refused, Refused)
    assert refused.reason == "input-too-long"
    tried.admit(8000, not_on=B)
    never = tried.ask(60_000, not_on=B)  # r0 could hold it
    assert isinstance(never, Refused)
    assert never.reason == "never-fits"


def test_sharing_is_that_of_the_engines_that_may_take_it() -> None:
    tried = two_models(kv_tokens=10_000)
    gate.joined(tried.ledger, "r0", Pool(10_000, 16, 1024, 8192, shares_prefixes=False), tried.at)
    shared = tried.admit(sequences=10, not_on=B)
    assert tried.ledger.reservations[shared.reservation].prompt_tokens == 100


def test_preemptions_of_one_model_are_no_reason_to_admit_less_of_another() -> None:
    tried = two_models()
    other = tried.ledger.replicas["r1"].learned.margin.z
    for preempted in (0, 5, 10):
        gate.observed(tried.ledger, "r0", Observation(0.5, 1, 0, preempted), tried.at)
    assert tried.ledger.replicas["r0"].learned.margin.z > other
    assert tried.ledger.replicas["r1"].learned.margin.z == other


def test_short_answers_of_one_model_say_nothing_of_anothers() -> None:
    """Of a thousand short answers nothing follows for a model that has not answered yet: each is
    taken to run to its limit.
    """
    alone, beside = Gate(kv_tokens=10_000), two_models(kv_tokens=10_000)
    for _ in range(1000):
        beside.end(beside.admit(100, 1000, not_on=B, class_key="b").reservation, 10)
    counts = []
    nowhere: Where = ()
    for tried, where in ((alone, nowhere), (beside, A)):
        count = 0
        while isinstance(tried.ask(100, 1000, not_on=where, class_key="a"), Admitted):
            count += 1
        counts.append(count)
    assert counts[0] == counts[1]


def test_prompts_that_begin_alike_keep_to_their_engine_beside_the_same_beginning_to_another_model() -> (
    None
):
    tried = Gate(replicas=4)
    gate.alike(tried.ledger, {"r0": "a", "r1": "a", "r2": "b", "r3": "b"})
    went = []
    for _ in range(6):
        tried.admit(prefix_key=7, not_on=("r0", "r1"))
        went.append(tried.admit(prefix_key=7, not_on=("r2", "r3")).replica)
    assert len(set(went)) == 1


def test_what_waits_does_not_go_to_an_engine_that_turns_out_to_serve_another_model() -> None:
    tried = two_models()
    running = full(tried, A)
    waiting = tried.queue(not_on=A)
    keep_off(tried, waiting.reservation, ("r1", "r2"))
    gate.joined(tried.ledger, "r2", Pool(1000, 16, 1024, 8192), tried.at)
    assert tried.due() == []
    tried.end(running[0], 100)
    assert [(one.reservation, one.replica) for one in tried.due() if isinstance(one, Admitted)] == [
        (waiting.reservation, "r0")
    ]
    keep_off(tried, waiting.reservation, ())  # it waits no more: nothing changes
    keep_off(tried, 999, ())


def test_what_turns_out_to_fit_on_none_of_its_engines_is_told_so() -> None:
    tried = Gate(kv_tokens=4000)
    gate.joined(tried.ledger, "r1", Pool(1000, 16, 1024, 8192), tried.at)
    running = tried.admit(3000, not_on=A)
    waiting = tried.queue(3000, not_on=A)
    never = gate.kept_off(tried.ledger, tried.rules, waiting.reservation, B, tried.at)
    assert never is not None
    assert (never.status, never.reason, never.reservation) == (
        413,
        "never-fits",
        waiting.reservation,
    )
    assert list(tried.ledger.reservations) == [running.reservation]


def test_what_is_blocked_lays_claim_to_another_engine_when_its_own_leaves_or_takes_nothing_new() -> (
    None
):
    for leaves in (True, False):
        tried = Gate(kv_tokens=1000, replicas=2)
        for _ in range(8):
            tried.admit()
        tried.queue(500)
        assert tried.due() == []
        (line,) = tried.ledger.lines
        assert line.claimed is not None
        name = line.claimed.name
        if leaves:
            gate.gone(tried.ledger, name, tried.at)
        else:
            gate.draining(tried.ledger, name, True)
        assert tried.due() == []
        assert line.claimed is not None
        assert line.claimed.name != name


def test_what_is_known_of_a_models_engines_is_kept_when_engines_of_another_come_and_go() -> None:
    tried = two_models()
    stays(tried, 30.0, A)
    full(tried, A)
    gate.joined(tried.ledger, "r2", Pool(1000, 16, 1024, 8192), tried.at)
    gate.alike(tried.ledger, {"r0": "a", "r1": "b", "r2": "b"})
    asked = [tried.ask(not_on=("r1", "r2")) for _ in range(3)]
    assert [type(one) for one in asked] == [Queued, Refused, Refused]


def test_who_may_go_to_more_engines_does_not_wait_behind_who_may_not() -> None:
    """An adapter that only r0 has, and its base on both."""
    tried = Gate(kv_tokens=1000, replicas=2)
    adapter = [tried.admit(not_on=("r1",)).reservation for _ in range(4)]
    for _ in range(20):
        tried.queue(not_on=("r1",))
    base = [tried.admit().reservation for _ in range(4)]
    waiting = [tried.queue().reservation for _ in range(2)]
    tried.end(base[0], 100)
    assert [one.reservation for one in tried.due()] == waiting[:1]
    tried.end(adapter[0], 100)
    (one,) = tried.due()
    assert isinstance(one, Admitted)
    assert one.replica == "r0"
    assert one.reservation < waiting[0]  # there who came first goes first


def test_who_shares_an_engine_with_a_flood_has_its_part_of_it() -> None:
    """The base model floods both engines; the adapter, which only r0 has, is served there: neither
    starves.
    """
    tried = Gate(Rules(queue_deadline_s=1000.0), kv_tokens=1000, replicas=2)
    running = [tried.admit().reservation for _ in range(8)]
    for _ in range(200):
        tried.queue()
    adapter = {tried.queue(not_on=("r1",)).reservation for _ in range(10)}
    served = tried.served(running, 60)
    assert adapter <= set(served)
    assert len(served) >= 59
    first = [number in adapter for number in served[:20]]
    assert (
        2 <= sum(first) <= 8
        # of ten that come free at the one that both wait for: the base has its part, and all of the
        # other
    )


def test_the_wait_for_an_engine_that_others_wait_for_is_reckoned_by_what_one_has_of_it() -> None:
    """The base's queue is long on both engines: the adapter's few are not refused for that, nor
    promised all of their engine.
    """
    tried = Gate(Rules(queue_deadline_s=10.0), kv_tokens=1000, replicas=2)
    stays(tried, 4.0, ())
    for _ in range(8):
        tried.admit()
    while isinstance(tried.ask(), Queued):
        pass
    adapter = [tried.ask(not_on=("r1",)) for _ in range(12)]
    assert (
        3 <= sum(isinstance(one, Queued) for one in adapter) <= 6
    )  # half of one a second, for ten seconds


def test_one_that_was_moved_waits_in_one_line_only() -> None:
    tried = Gate(kv_tokens=1000, replicas=2)
    running = full(tried, A)
    first, second = tried.queue(not_on=A), tried.queue(not_on=A)
    full(tried, B)
    keep_off(tried, first.reservation, B)
    tried.end(running[0], 100)
    assert [one.reservation for one in tried.due()] == [second.reservation]
