"""Priority classes: the higher one is admitted first, the lower one takes no more than its shares,
and the lowest is refused first.
"""

from __future__ import annotations

import pytest
from tests.support.gates import Gate

from barostat.admit import gate
from barostat.admit.decision import Admitted, Queued, Refused
from barostat.admit.priority_classes import class_of
from barostat.admit.rules import ClassRule, Rules, TenantRule


def rules(pool: float = 1.0, queue: float = 1.0, **more: object) -> Rules:
    classes = {"high": ClassRule("high", 0), "low": ClassRule("low", 1, pool, queue)}
    return Rules(queue_deadline_s=100.0, classes=classes, **more)  # type: ignore[arg-type]


LOW = {"priority_class": "low"}
HIGH = {"priority_class": "high"}


@pytest.mark.parametrize(
    ("tenant", "asked", "found"),
    [
        ("", "", "high"),
        ("", "low", "low"),
        ("", "high", "high"),
        ("batch", "", "low"),
        ("batch", "low", "low"),
        ("batch", "high", "priority-class-not-allowed"),
        ("chat", "low", "low"),
        ("chat", "", "high"),
        ("", "none", "priority-class-unknown"),
        ("batch", "none", "priority-class-unknown"),
    ],
)
def test_a_request_is_in_the_class_of_its_tenant_or_in_a_lower_one_that_it_names(
    tenant: str, asked: str, found: str
) -> None:
    tenants = {
        "batch": TenantRule("batch", 0.5, priority_class="low"),
        "chat": TenantRule("chat", 0.5),
    }
    own = class_of(rules(tenants=tenants), tenant, asked)
    assert (own.reason if isinstance(own, Refused) else own.name if own else None) == found
    assert class_of(Rules(), tenant, asked) is None


def test_the_higher_class_is_admitted_first_however_late_it_comes() -> None:
    tried = Gate(rules(), kv_tokens=1000)
    running = tried.admit(500, 400, **LOW)
    low = [tried.queue(500, 400, **LOW).reservation for _ in range(3)]
    high = tried.queue(500, 400, **HIGH).reservation
    order = []
    for number in (running.reservation, high, *low[:2]):
        tried.end(number, 400)
        (made,) = tried.due()
        assert isinstance(made, Admitted)
        order.append(made.reservation)
    assert order == [high, *low]


def test_the_lower_class_does_not_pass_a_higher_one_that_waits() -> None:
    tried = Gate(rules(), kv_tokens=1000)
    tried.admit(200, 100, **LOW)
    tried.queue(800, 100, **HIGH)
    assert isinstance(tried.ask(10, 10, **LOW), Queued)
    assert not tried.due()
    tried.admit(10, 10, "another", **HIGH)


def test_the_lower_class_takes_its_share_of_the_pool_and_the_higher_one_all_of_it() -> None:
    tried = Gate(rules(pool=0.5), kv_tokens=4000)
    low = 0
    while isinstance(tried.ask(100, 100, **LOW), Admitted):
        low += 1
    high = 0
    while isinstance(tried.ask(100, 100, **HIGH), Admitted):
        high += 1
    assert 8 <= low <= 10
    assert 8 <= high <= 11
    replica = tried.ledger.replicas["r0"]
    assert replica.class_tokens[1] <= 2000
    for number in list(tried.ledger.reservations):
        tried.end(number, 100)
    assert not any(one for one in tried.due() if isinstance(one, Refused))


def test_one_request_larger_than_the_share_runs_alone() -> None:
    tried = Gate(rules(pool=0.1), kv_tokens=4000)
    first = tried.admit(600, 100, **LOW)
    tried.queue(600, 100, **LOW)
    tried.end(first.reservation, 100)
    assert [type(one) for one in tried.due()] == [Admitted]


def test_the_lower_class_waits_in_its_share_of_the_line() -> None:
    tried = Gate(rules(queue=0.25, max_queued=8), kv_tokens=1000)
    tried.admit(500, 400, **HIGH)
    for _ in range(2):
        tried.queue(500, 400, **LOW)
    refused = tried.ask(500, 400, **LOW)
    assert isinstance(refused, Refused)
    assert refused.reason == "priority-class-full"
    for _ in range(6):
        tried.queue(500, 400, **HIGH)


def test_a_class_that_may_not_wait_is_refused_at_once() -> None:
    tried = Gate(rules(queue=0.0), kv_tokens=1000)
    tried.admit(500, 400, **LOW)
    refused = tried.ask(500, 400, **LOW)
    assert isinstance(refused, Refused)
    assert refused.reason == "priority-class-full"


def test_a_full_line_refuses_the_newest_of_the_lowest_class() -> None:
    tried = Gate(rules(max_queued=3), kv_tokens=1000)
    tried.admit(500, 400, **HIGH)
    low = [tried.queue(500, 400, **LOW).reservation for _ in range(3)]
    tried.queue(500, 400, **HIGH)
    assert gate.next_due_at(tried.ledger, tried.at) == tried.at
    (shed,) = tried.due()
    assert isinstance(shed, Refused)
    assert (shed.reason, shed.reservation) == ("priority-shed", low[-1])
    assert shed.retry_after_s is not None
    assert tried.ledger.queued == 3
    assert isinstance(tried.ask(500, 400, **LOW), Refused)
    for _ in range(2):
        tried.queue(500, 400, **HIGH)
    assert [one.reservation for one in tried.due()] == [low[1], low[0]]
    refused = tried.ask(500, 400, **HIGH)
    assert isinstance(refused, Refused)
    assert refused.reason == "queue-full"


def test_those_of_a_lower_class_are_not_in_the_wait_of_a_higher_one() -> None:
    tried = Gate(rules(), kv_tokens=1000).taught(tokens=100, answers=20, for_s=10.0)
    tried.rules = rules()
    tried.admit(500, 400, **HIGH)
    while isinstance(tried.ask(500, 400, **LOW), Queued):
        pass
    assert isinstance(tried.ask(500, 400, **HIGH), Queued)


def test_new_limits_move_what_waits_and_what_runs_to_its_class() -> None:
    tried = Gate(Rules(queue_deadline_s=100.0), kv_tokens=1000)
    runs = tried.admit(400, 300, **LOW)
    first = tried.queue(500, 400, **LOW).reservation
    second = tried.queue(500, 400, **HIGH).reservation
    tried.rules = rules(pool=0.9)
    gate.adopted(tried.ledger, tried.rules, tried.at)
    assert tried.ledger.replicas["r0"].class_tokens[1] > 0
    tried.end(runs.reservation, 300)
    assert [one.reservation for one in tried.due()] == [second]
    tried.rules = Rules(queue_deadline_s=100.0)
    gate.adopted(tried.ledger, tried.rules, tried.at)
    assert tried.ledger.replicas["r0"].class_tokens == {}
    tried.end(second, 400)
    assert [one.reservation for one in tried.due()] == [first]
    tried.end(first, 400)
    assert not tried.ledger.reservations


def test_without_classes_a_named_one_changes_nothing() -> None:
    tried = Gate(Rules(queue_deadline_s=10.0))
    tried.admit(100, 100, priority_class="anything")
