"""Many models behind one gate: what a request costs does not grow with the lines of others, and
none is lost for their number.
"""

from __future__ import annotations

from typing import Any

from tests.support.gates import Gate, Where

from barostat.admit import gate
from barostat.admit.decision import Admitted
from barostat.admit.replica_news import Pool
from barostat.admit.rules import Rules, TenantRule


class Counted(dict[Any, Any]):
    """It counts how often all of it was gone through."""

    looks = 0

    def values(self) -> Any:
        """As a dictionary's."""
        self.looks += 1
        return super().values()


def many(
    models: int, rules: Rules | None = None, kv_tokens: int = 1000
) -> tuple[Gate, list[Where]]:
    """A gate before an engine of each of so many models, and where requests of each may not go."""
    tried = Gate(rules, kv_tokens, replicas=models)
    names = [f"r{number}" for number in range(models)]
    gate.alike(tried.ledger, {name: name for name in names})
    return tried, [tuple(name for name in names if name != own) for own in names]


def full(tried: Gate, not_on: Where, waiting: int, tenant: str = "") -> int:
    """Four run there and so many wait; one of those that run."""
    running = [tried.admit(tenant=tenant, not_on=not_on).reservation for _ in range(4)]
    for _ in range(waiting):
        tried.queue(tenant=tenant, not_on=not_on)
    return running[0]


def test_each_of_a_hundred_models_keeps_its_line() -> None:
    tried, models = many(100)
    running = [tried.admit(not_on=not_on).reservation for not_on in models]
    lines = [one.turn.line for one in tried.ledger.reservations.values()]
    for not_on in models:
        assert tried.end(tried.admit(not_on=not_on).reservation, 50)
    assert tried.ledger.lines[1:] == lines
    for number in running:
        tried.at += 1.0
        assert tried.end(number, 100)
    residences = [line.residence_s for line in lines]
    assert None not in residences
    assert len(set(residences)) == 100


def test_lines_come_and_go_and_each_knows_those_beside_it() -> None:
    tried, models = many(20)
    for number in range(300):
        (own,) = tried.ledger.replicas.keys() - set(models[number % 20])
        also = f"r{number // 20}"
        not_on = tuple(name for name in tried.ledger.replicas if name not in (own, also))
        assert tried.end(tried.admit(not_on=not_on).reservation, 10)
        tried.at += 1.0
    lines = tried.ledger.lines
    assert len(lines) > 20
    for line in lines:
        assert line.beside == [
            other for other in lines if other is not line and not other.names.isdisjoint(line.names)
        ]
    for name, replica in tried.ledger.replicas.items():
        assert replica.lines == [line for line in lines if name in line.names]


def test_what_runs_is_gone_through_once_for_all_models() -> None:
    tried, models = many(30)
    for not_on in models:
        tried.admit(not_on=not_on)
    last = tried.admit(not_on=models[0]).reservation
    reservations = tried.ledger.reservations = Counted(tried.ledger.reservations)
    tried.at += 1.0
    assert tried.end(last, 10)
    assert reservations.looks == 1


def test_whose_turn_it_is_elsewhere_is_not_asked_for_each_that_is_admitted() -> None:
    tried, models = many(40)
    first = [full(tried, not_on, waiting=2) for not_on in models]
    looked = []
    for line in tried.ledger.lines[1:]:
        line.waiting = turns = Counted(line.waiting)
        looked.append(turns)
    for number in first:
        tried.end(number, 100)
    assert len(tried.due()) == 40
    assert sum(one.looks for one in looked) <= 40 * 6


def test_of_many_lines_who_came_first_is_first_and_a_tenants_limit_holds_in_all() -> None:
    rules = Rules(
        queue_deadline_s=1000.0,
        tenants={"red": TenantRule("red", 0.5, max_concurrency=9), "blue": TenantRule("blue", 0.5)},
    )
    tried, models = many(3, rules, kv_tokens=2000)
    for not_on in models[:2]:
        full(tried, not_on, 0, tenant="red")
    tried.admit(tenant="red", not_on=models[2])
    red = [tried.queue(tenant="red", not_on=not_on).reservation for not_on in models]
    assert tried.due() == []
    running = [number for number in tried.ledger.reservations if number not in red]
    for number in running[:2]:
        tried.end(number, 100)
    assert [one.reservation for one in tried.due() if isinstance(one, Admitted)] == red[:2]
    assert [line.queued for line in tried.ledger.lines if line.queued] == [1]


def test_what_a_tenants_limit_held_back_elsewhere_is_tried_at_once_when_one_of_its_ends() -> None:
    rules = Rules(
        queue_deadline_s=1000.0, tenants={"red": TenantRule("red", 1.0, max_concurrency=4)}
    )
    tried, models = many(3, rules, kv_tokens=1000)
    gate.joined(tried.ledger, "r9", Pool(1000, 16, 1024, 8192), tried.at)
    running = [tried.admit(tenant="red", not_on=models[0]).reservation for _ in range(2)]
    running += [tried.admit(tenant="red", not_on=models[1]).reservation for _ in range(2)]
    waiting = [tried.queue(tenant="red", not_on=models[number]).reservation for number in (2, 1)]
    assert tried.due() == []
    tried.end(running[0], 100)
    assert [one.reservation for one in tried.due()] == waiting[:1]
