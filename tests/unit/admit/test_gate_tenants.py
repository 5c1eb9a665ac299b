"""The gate among tenants: shares, floods, their own limits, priorities."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.gates import Gate, tenants

from barostat.admit.decision import Admitted, Refused
from barostat.admit.rules import Rules, TenantRule


def counters(tried: Gate) -> dict[str, float]:
    """What each tenant was served over its share, in the line of all engines."""
    return {turn.tenant.name: turn.counter for turn in tried.ledger.lines[0].turns.values()}


def test_a_tenant_that_floods_does_not_starve_another() -> None:
    tried = Gate(tenants(flood=0.5, calm=0.5), kv_tokens=1000)
    running = [tried.admit(tenant="flood").reservation for _ in range(4)]
    for _ in range(100):
        tried.queue(tenant="flood")
    calm = {tried.queue(tenant="calm").reservation for _ in range(10)}
    assert (
        sum(number in calm for number in tried.served(running, 20)) == 10
    )  # every other one, until they were through


def test_a_tenth_of_a_pool_is_kept_for_tenants_below_their_share() -> None:
    tried = Gate(tenants(flood=0.5, calm=0.5), kv_tokens=10_000)
    tried.admit(tenant="calm")
    flood = 0
    while isinstance(tried.ask(tenant="flood"), Admitted):
        flood += 1
    assert 38 <= flood <= 41  # of 45 that the pool holds beside the one
    for _ in range(3):
        tried.admit(tenant="calm")


def test_a_tenant_that_is_alone_has_all_of_it() -> None:
    tried = Gate(tenants(flood=0.5, calm=0.5), kv_tokens=10_000)
    tried.end(tried.admit(tenant="calm").reservation, 10)
    tried.at += 61.0
    flood = 0
    while isinstance(tried.ask(tenant="flood"), Admitted):
        flood += 1
    assert flood >= 44


def test_tenants_are_served_tokens_in_proportion_to_their_shares() -> None:
    tried = Gate(tenants(large=0.75, small=0.25), kv_tokens=2000)
    running = [tried.admit(tenant="small").reservation for _ in range(9)]
    tenant_of = {}
    for number in range(200):
        tenant_of[tried.queue(50 if number % 2 else 300, tenant="large").reservation] = "large"
        tenant_of[tried.queue(tenant="small").reservation] = "small"
    tokens = {"large": 0.0, "small": 0.0}
    largest, worst = 400.0, 0.0
    before: dict[str, float] = {}
    for step in range(150):
        if step == 60:  # what the one was served before the other came is made up for
            before = counters(tried)
            tokens = {"large": 0.0, "small": 0.0}
        tried.at += 0.1
        tried.end(running.pop(0), 100)
        for one in tried.due():
            assert isinstance(one, Admitted)
            running.append(one.reservation)
            name = tenant_of[one.reservation]
            tokens[name] += tried.ledger.reservations[one.reservation].charge
        if not before:
            continue
        now = counters(tried)
        gap = (now["large"] - before["large"]) - (now["small"] - before["small"])
        worst = max(worst, abs(gap))
    assert tokens["large"] / tokens["small"] == pytest.approx(3.0, rel=0.15)
    assert worst <= 3 * largest / 0.25  # twice the largest charge, and as much that may pass it


def test_no_more_run_than_a_tenant_may() -> None:
    rules = Rules(
        tenants={"a": TenantRule("a", 1.0, max_concurrency=2)},
        tenants_closed=True,
        queue_deadline_s=100.0,
    )
    tried = Gate(rules)
    first, _ = tried.admit(tenant="a"), tried.admit(tenant="a")
    waiting = tried.queue(tenant="a")
    assert tried.due() == []
    tried.end(first.reservation, 10)
    assert [one.reservation for one in tried.due()] == [waiting.reservation]


def test_tokens_per_minute_hold_and_tell_when_there_are_more() -> None:
    rules = Rules(tenants={"a": TenantRule("a", 1.0, tokens_per_minute=4000)}, tenants_closed=True)
    tried = Gate(rules, kv_tokens=100_000)
    spent = 0
    while isinstance(decision := tried.ask(100, 100, "a"), Admitted):
        spent += 200
    assert spent == 1000  # a quarter of a minute's
    assert isinstance(decision, Refused)
    assert (decision.status, decision.reason) == (429, "tenant-tokens-per-minute")
    tried.at += (decision.retry_after_s or 0.0) + 1e-6
    tried.admit(100, 100, "a")


def test_an_unknown_tenant_is_refused_where_tenants_are_listed() -> None:
    decision = Gate(tenants(a=1.0)).ask(tenant="b")
    assert isinstance(decision, Refused)
    assert (decision.reason, decision.status) == (
        "tenant-unknown",
        403,
    )  # none of the statuses that the clients try again after


def test_who_is_short_of_tokens_is_told_a_time_behind_those_that_were_told_before() -> None:
    rules = Rules(tenants={"a": TenantRule("a", 1.0, tokens_per_minute=4000)}, tenants_closed=True)
    tried = Gate(rules, kv_tokens=100_000)
    decisions = [tried.ask(100, 100, "a") for _ in range(36)]
    times = [one.retry_after_s or 0.0 for one in decisions if isinstance(one, Refused)]
    began = tried.at
    assert len(times) == 31
    assert times[0] == pytest.approx(3.0)
    assert max(times) == 60.0
    for told in times[:20]:
        tried.at = began + told + 1e-6
        tried.admit(100, 100, "a")


def test_priorities_order_a_tenants_own_and_starve_nobody() -> None:
    tried = Gate(kv_tokens=1000)
    first = tried.admit(700, 200)
    low = tried.queue(700, 200, priority=3)
    tried.at = 0.5
    high = tried.queue(700, 200, priority=-1)
    tried.at = 9.0
    later = tried.queue(700, 200, priority=-1)
    order = []
    running = first.reservation
    for _ in range(3):
        tried.end(running, 200)
        (one,) = tried.due()
        running = one.reservation
        order.append(running)
    assert order == [high.reservation, low.reservation, later.reservation]


def test_hours_without_a_queue_are_nobodys_debt() -> None:
    tried = Gate(tenants(old=0.5, new=0.5), kv_tokens=1000)
    for _ in range(1000):
        tried.end(tried.admit(tenant="old").reservation, 100)
    running = [tried.admit(tenant="old").reservation for _ in range(4)]
    new = {tried.queue(tenant="new").reservation for _ in range(60)}
    old = [tried.queue(tenant="old").reservation for _ in range(20)]
    served = tried.served(running, 30)
    assert 10 <= sum(number in new for number in served) <= 20
    assert sum(number in old for number in served) >= 10


def test_a_flood_leaves_the_others_their_places_in_the_queue() -> None:
    rules = replace(tenants(flood=0.5, calm=0.5), max_queued=20)
    tried = Gate(rules, kv_tokens=1000)
    for _ in range(4):
        tried.admit(tenant="flood")
    for _ in range(20):
        tried.queue(tenant="flood")
    assert isinstance(tried.ask(tenant="flood"), Refused)
    for _ in range(10):
        tried.queue(tenant="calm")
    assert isinstance(tried.ask(tenant="calm"), Refused)
