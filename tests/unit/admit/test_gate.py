"""The gate as a whole: what is admitted, what waits, what is refused, and that each reservation
ends once.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.gates import Gate

from barostat.admit import gate
from barostat.admit.asked import AskedRequest
from barostat.admit.decision import Admitted, CountFirst, Queued, Refused
from barostat.admit.ledger import Ledger
from barostat.admit.replica_news import Observation, Pool
from barostat.admit.rules import Rules, TenantRule


def held_tokens(ledger: Ledger, at: float) -> float:
    """Return the tokens that the ledger counts as held on all replicas at that time."""
    for replica in ledger.replicas.values():
        replica.look(at)
    return sum(replica.held_tokens for replica in ledger.replicas.values())


def test_with_nothing_known_each_answer_is_taken_to_run_to_its_limit() -> None:
    tried = Gate(kv_tokens=1000)
    for _ in range(4):
        tried.admit(100, 100)  # 200 and a block each
    tried.queue(100, 100)


def test_what_answers_really_come_to_is_learned_and_more_fit() -> None:
    tried = Gate(kv_tokens=4000).taught(tokens=10, limit=1000)
    admitted = 0
    while isinstance(tried.ask(100, 1000), Admitted):
        admitted += 1
    assert 15 <= admitted <= 37  # 3 by their limits, 37 by what they hold now


def test_a_reservation_is_returned_once() -> None:
    tried = Gate()
    one = tried.admit()
    assert tried.end(one.reservation, 5)
    assert not tried.end(one.reservation, 5)
    assert not tried.end(12345)
    assert held_tokens(tried.ledger, 1.0) == 0
    assert [one.running for one in tried.ledger.tenants.values()] == [0]


def test_one_that_waits_and_leaves_is_gone() -> None:
    tried = Gate(kv_tokens=1000)
    first = tried.admit(500, 400)
    left, stays = tried.queue(500, 400), tried.queue(500, 400)
    assert tried.end(left.reservation, ended="cut")
    assert not tried.end(left.reservation, ended="cut")
    tried.end(first.reservation, 400)
    assert [one.reservation for one in tried.due()] == [stays.reservation]
    assert tried.ledger.queued == 0


def test_who_waits_past_the_deadline_is_refused_and_has_nothing_to_return() -> None:
    tried = Gate(kv_tokens=1000)
    tried.admit(500, 400)
    waiting = tried.queue(500, 400)
    tried.at = waiting.deadline_at - 0.01
    assert tried.due() == []
    assert gate.next_due_at(tried.ledger, tried.at) == pytest.approx(waiting.deadline_at)
    tried.at = waiting.deadline_at
    (refused,) = tried.due()
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.reservation, refused.status) == (
        "deadline-passed",
        waiting.reservation,
        503,
    )
    assert not tried.end(waiting.reservation)
    assert gate.next_due_at(tried.ledger, tried.at) is None


def test_who_waits_past_the_deadline_for_its_own_tenant_is_not_told_that_the_engines_are_full() -> (
    None
):
    rules = Rules(
        tenants={"a": TenantRule("a", 0.5, max_concurrency=1), "b": TenantRule("b", 0.5)},
        tenants_closed=True,
    )
    tried = Gate(rules)
    tried.admit(100, 100, tenant="a")
    own = tried.queue(100, 100, tenant="a")
    tried.at = own.deadline_at
    (refused,) = tried.due()
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.reservation, refused.status) == (
        "tenant-concurrency",
        own.reservation,
        429,
    )
    assert refused.retry_after_s is not None
    assert refused.retry_after_s >= 1
    assert not tried.end(own.reservation)


def test_who_waits_for_an_engine_that_does_not_come_back_is_told_so() -> None:
    tried = Gate()
    gate.draining(tried.ledger, "r0", True)
    waiting = tried.queue(100, 100)
    tried.at = waiting.deadline_at
    (refused,) = tried.due()
    assert isinstance(refused, Refused)
    assert (refused.status, refused.reason, refused.retry_after_s, refused.reservation) == (
        503,
        "no-replica",
        1.0,
        waiting.reservation,
    )
    assert not tried.end(waiting.reservation)


def test_who_may_only_go_to_engines_out_of_rotation_holds_nobody_up() -> None:
    tried = Gate(kv_tokens=1000, replicas=2)
    only_r0, only_r1 = ("r1",), ("r0",)
    tried.admit(500, 400, not_on=only_r0)
    waiting = tried.queue(500, 400, not_on=only_r0)
    tried.admit(500, 400, not_on=only_r1)  # not behind what waits for another engine
    behind = tried.queue(500, 400, not_on=only_r1)
    assert tried.due() == []
    gate.draining(tried.ledger, "r0", True)
    tried.end(3)
    refused, admitted = tried.due()
    assert isinstance(refused, Refused)
    assert (refused.status, refused.reason, refused.reservation) == (
        503,
        "no-replica",
        waiting.reservation,
    )
    assert isinstance(admitted, Admitted)
    assert (admitted.reservation, admitted.replica) == (behind.reservation, "r1")
    at_once = tried.ask(500, 400, not_on=only_r0)
    assert isinstance(at_once, Refused)
    assert at_once.reason == "no-replica"


def test_what_would_miss_its_deadline_is_refused_at_once_and_told_when_to_come_back() -> None:
    tried = Gate(kv_tokens=1000).taught(tokens=100, answers=50, for_s=8.0)
    running = [tried.admit() for _ in range(4)]
    decisions = [tried.ask() for _ in range(10)]
    waiting = [one for one in decisions if isinstance(one, Queued)]
    refused = [one for one in decisions if isinstance(one, Refused)]
    assert 1 <= len(waiting) <= 6
    assert refused
    assert all(
        one.reason == "over-capacity" and one.status == 503 and (one.retry_after_s or 0) > 0
        for one in refused
    )
    waits = [one.retry_after_s or 0.0 for one in refused]
    assert waits == sorted(waits)
    assert waits[0] < waits[-1]  # each is told a time of its own
    assert running


def test_a_client_that_comes_back_as_told_is_admitted_or_waits() -> None:
    tried = Gate(kv_tokens=1000).taught(tokens=100, answers=50, for_s=8.0)
    begun = [(tried.at, tried.admit().reservation) for _ in range(4)]
    coming: list[tuple[float, bool]] = [(tried.at, False)] * 20  # a burst, five times what fits
    turned_away, came_back = 0, 0
    for _ in range(2000):
        tried.at += 0.1
        for since, number in [one for one in begun if one[0] + 8.0 <= tried.at]:
            begun.remove((since, number))
            tried.end(number, 100)
        begun += [(tried.at, one.reservation) for one in tried.due() if isinstance(one, Admitted)]
        now, coming = (
            [one for one in coming if one[0] <= tried.at],
            [one for one in coming if one[0] > tried.at],
        )
        for _at, back in now:
            decision = tried.ask()
            came_back += back
            if isinstance(decision, Admitted):
                begun.append((tried.at, decision.reservation))
            elif isinstance(decision, Refused):
                turned_away += back
                coming.append((tried.at + (decision.retry_after_s or 0.0), True))
    assert came_back >= 8
    assert turned_away <= 0.2 * came_back


def test_a_long_prompt_is_not_passed_for_ever_and_does_not_stop_the_short() -> None:
    tried = Gate(kv_tokens=2000)
    running = [tried.admit(100, 20).reservation for _ in range(12)]
    long = tried.queue(1500, 20)
    passed, admitted_at = 0, None
    for step in range(95):
        tried.at += 0.1
        decision = tried.ask(100, 20)
        if isinstance(decision, Admitted):
            passed += 1
            running.append(decision.reservation)
        tried.end(running.pop(0), 20) if running else None
        for one in tried.due():
            if isinstance(one, Admitted) and one.reservation == long.reservation:
                admitted_at = step
            elif isinstance(one, Admitted):
                passed += 1
                running.append(one.reservation)
    assert passed > 5
    assert admitted_at is not None


def test_what_was_expected_wrongly_is_settled() -> None:
    rules = Rules(tenants={"a": TenantRule("a", 1.0, tokens_per_minute=8000)}, tenants_closed=True)
    tried = Gate(rules)
    one = tried.admit(100, 1000, "a")
    assert isinstance(tried.ask(1000, 1000, "a"), Refused)
    tried.end(one.reservation, 1)
    tried.admit(800, 100, "a")


def test_what_was_on_a_replica_that_is_gone_is_still_returned_once() -> None:
    tried = Gate(replicas=1)
    one = tried.admit()
    assert gate.gone(tried.ledger, "r0", 0.0) == [one.reservation]
    assert gate.gone(tried.ledger, "r0", 0.0) == []
    assert tried.end(one.reservation, ended="cut")
    assert not tried.end(one.reservation)
    assert isinstance(tried.ask(), Queued)


def test_several_sequences_count_as_what_they_hold() -> None:
    tried = Gate(kv_tokens=2000)
    tried.admit(100, 100, sequences=10)  # 100 once, 10 x 100 and blocks
    tried.queue(900, 100)
    unshared = Gate()
    gate.joined(unshared.ledger, "r0", Pool(2000, 16, 1024, 8192, shares_prefixes=False), 0.0)
    unshared.admit(100, 10, sequences=10)
    assert unshared.ledger.reservations[1].prompt_tokens == 1000


def test_an_input_near_the_limit_is_counted_first_and_refused_only_by_an_exact_count() -> None:
    rules = Rules(max_input_tokens=1000)
    tried = Gate(rules)
    for counted, tokens, wanted in (
        ("bound", 1200, CountFirst),
        ("estimate", 900, CountFirst),
        ("bound", 900, Admitted),
    ):
        asked = AskedRequest(0.0, tokens, counted, 100)  # type: ignore[arg-type]
        assert isinstance(gate.decide(asked, tried.ledger, rules, 0.0), wanted)
    decision = tried.ask(1001)
    assert isinstance(decision, Refused)
    assert (decision.status, decision.reason, decision.retry_after_s) == (
        413,
        "input-too-long",
        None,
    )
    assert isinstance(tried.ask(1000), Admitted)


@pytest.mark.parametrize(
    ("refuse", "limit", "wanted"),
    [
        (True, None, "no-output-limit"),
        (True, 300, "output-too-long"),
        (False, None, ""),
        (False, 300, ""),
    ],
)
def test_output_limits_are_refused_or_capped_as_the_policy_says(
    refuse: bool, limit: int | None, wanted: str
) -> None:
    rules = Rules(max_output_tokens=200, refuse_no_output=refuse, refuse_above_output=refuse)
    decision = Gate(rules).ask(100, limit)
    if wanted:
        assert isinstance(decision, Refused)
        assert (decision.reason, decision.status) == (wanted, 400)
    else:
        assert isinstance(decision, Admitted)
        assert (decision.output_cap, decision.capped) == (200, True)


def test_a_stated_limit_within_the_policy_is_left_as_it_is() -> None:
    decision = Gate(Rules(max_output_tokens=200)).ask(100, 150)
    assert isinstance(decision, Admitted)
    assert (decision.output_cap, decision.capped) == (150, False)


def test_a_prompt_that_no_pool_holds_is_refused_for_good() -> None:
    decision = Gate(kv_tokens=1000).ask(1500)
    assert isinstance(decision, Refused)
    assert (decision.status, decision.reason, decision.retry_after_s) == (413, "never-fits", None)


def test_a_day_of_traffic_ends_at_zero() -> None:
    tried = Gate(Rules(queue_deadline_s=5.0), kv_tokens=5000, replicas=2)
    running: list[int] = []
    for number in range(3000):
        tried.at += 28.8
        for _ in range(1 + number % 7):
            decision = tried.ask(100 + number % 900, 100 + number % 400)
            if isinstance(decision, Admitted):
                running.append(decision.reservation)
        while len(running) > 5:
            tried.end(
                running.pop(number % len(running)),
                number % 90,
                ("stop", "length", "cut", "unsent")[number % 4],
            )
        running += [one.reservation for one in tried.due() if isinstance(one, Admitted)]
    for number in running:
        assert tried.end(number, 1)
    tried.at += 100.0
    for one in tried.due():
        if isinstance(one, Admitted):
            assert tried.end(one.reservation, 1)
    ledger = tried.ledger
    assert (ledger.queued, len(ledger.reservations), ledger.deadlines) == (0, 0, [])
    assert held_tokens(ledger, tried.at) == 0
    assert not any(replica.live for replica in ledger.replicas.values())
    assert not any(
        one.running or one.running_tokens or one.waiting for one in ledger.tenants.values()
    )


def test_a_prompt_without_an_output_holds_what_it_holds() -> None:
    tried = Gate(kv_tokens=1000)
    for _ in range(4):
        tried.admit(100, 100)
    decisions = [tried.ask(200, 0) for _ in range(20)]
    assert sum(isinstance(one, Admitted) for one in decisions) <= 2
    assert held_tokens(tried.ledger, tried.at) <= 1000


def test_none_of_the_engines_that_it_may_go_to_is_here() -> None:
    refused = Gate().ask(not_on=("r0",))
    assert isinstance(refused, Refused)
    assert refused.reason == "no-replica"


def test_what_may_grow_past_the_pool_runs_where_nothing_else_does() -> None:
    tried = Gate(kv_tokens=10_000)
    alone = tried.admit(1000, 2000, sequences=20)
    behind = tried.queue(1000, 2000)  # what it grows to is in the forecast
    tried.end(alone.reservation, 2000)
    assert [one.reservation for one in tried.due()] == [behind.reservation]
    again = tried.queue(1000, 2000, sequences=20)
    tried.end(behind.reservation, 2000)
    assert [one.reservation for one in tried.due()] == [again.reservation]
    tried.end(again.reservation, 2000)
    gate.observed(tried.ledger, "r0", Observation(0.5, 3, 0, 0), tried.at)
    tried.queue(1000, 2000, sequences=20)  # beside clients that come another way


def test_a_list_to_embed_is_as_long_as_it_likes() -> None:
    tried = Gate(kv_tokens=10_000)
    for count in (129, 1000):  # one after the other, each more than the pool holds at once
        one = tried.admit(count * 100, 0, prompts=count, sequences=count, route="embeddings")
        assert tried.ledger.reservations[one.reservation].charge == count * 100
        tried.end(one.reservation, 0)
    assert isinstance(
        tried.ask(8192, 0, route="embeddings"), Admitted
    )  # the whole of the context: no token comes of it
    assert isinstance(tried.ask(8192, 1), Refused)
    assert isinstance(tried.ask(8193, 0, route="embeddings"), Refused)


def test_who_waited_in_vain_is_told_when_to_come_back_as_who_is_refused_at_once() -> None:
    tried = Gate(Rules(queue_deadline_s=100.0), kv_tokens=2000)
    first, _ = (tried.admit(200, 700, least_output_tokens=700) for _ in range(2))
    for _ in range(5):
        tried.queue(200, 700, least_output_tokens=700)
    tried.at += 90.0
    tried.end(first.reservation, 700)  # so it is known by now how long each stays
    assert len(tried.due()) == 2
    tried.at += 11.0
    told = [one.retry_after_s or 0.0 for one in tried.due() if isinstance(one, Refused)]
    assert len(told) == 3
    assert told == sorted(told)
    assert 0.0 < told[0] < told[-1] <= 120.0


def test_new_limits_are_those_of_what_waits_too() -> None:
    tried = Gate(Rules(queue_deadline_s=10.0), kv_tokens=2000)
    first = tried.admit(500, 1400)
    waiting = tried.queue(500, 1400)
    tried.rules = replace(tried.rules, max_output_tokens=300)
    gate.adopted(tried.ledger, tried.rules, tried.at)
    tried.end(first.reservation, 1400)
    assert tried.due() == [Admitted(waiting.reservation, "r0", 300, True)]
    tried.end(waiting.reservation, 300)


def test_a_tenant_that_may_run_more_does_so_at_once() -> None:
    one, two = TenantRule("red", 1.0, 1), TenantRule("red", 1.0, 2)
    tried = Gate(Rules(queue_deadline_s=10.0, tenants={"red": one}, tenants_closed=True))
    tried.admit(tenant="red")
    waiting = tried.queue(tenant="red")
    tried.rules = replace(tried.rules, tenants={"red": two})
    gate.adopted(tried.ledger, tried.rules, tried.at)
    assert [found.reservation for found in tried.due()] == [waiting.reservation]


@pytest.mark.parametrize(
    ("tokens", "counted_as", "most", "capped"),
    [
        (1000, "estimate", 3000, True),
        (4000, "estimate", 3000, True),
        (5000, "estimate", 3000, None),  # near what leaves room for 3000 of 8192: to be counted
        (5193, "bound", 3000, None),
        (5192, "bound", 3000, True),
        (5192, "exact", 3000, True),
        (5193, "exact", 3000, False),  # the engine ends it sooner, and would refuse the number
        (100, "estimate", 8192, False),  # no answer comes to that
    ],
)
def test_a_cap_is_written_only_where_there_is_room_for_it(
    tokens: int, counted_as: str, most: int, capped: bool | None
) -> None:
    tried = Gate(Rules(max_output_tokens=most), kv_tokens=100_000)
    decision = gate.decide(
        AskedRequest(0.0, tokens, counted_as, None),  # type: ignore[arg-type]
        tried.ledger,
        tried.rules,
        0.0,
    )
    if capped is None:
        assert decision == CountFirst(8192 - most)
    else:
        assert isinstance(decision, Admitted)
        assert (decision.output_cap, decision.capped) == (most, capped)
    stated = gate.decide(AskedRequest(0.0, tokens, counted_as, 10), tried.ledger, tried.rules, 0.0)  # type: ignore[arg-type]
    assert isinstance(stated, Admitted)
