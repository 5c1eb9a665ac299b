"""A queue with deadlines: who waits, who is refused at once, whose turn it is, and who may pass one that does not fit yet.

A request whose wait would end after its deadline is refused as it comes, and told when to come back: capacity is promised to the refused
one after the other, so that those who come back as told find it free. The first in turn that fits nowhere lays claim to one replica
(`placing.py`), and half of what comes free there is its own from then on: others pass it elsewhere and with the other half. So neither
does a long prompt stop the queue, nor do short ones starve it: what passes it on that replica is at most what it needs itself.
"""

from __future__ import annotations

from heapq import heappop, heappush

from barostat.admit.decision import Admitted, Queued, Refused
from barostat.admit.ledger import Ledger
from barostat.admit.placing import admit, claim, place
from barostat.admit.reservation import Reservation
from barostat.admit.rules import Rules
from barostat.admit.tenants import TenantLedger

_TRIED_BEHIND = 4
_CREDIT_REQUESTS = 4
"""So many requests of a tenant that had less than its share go first when it comes back: a small burst within the share does not queue."""
_LONGEST_PROMISE_S = 120.0
_RETRY_AT_A_GUESS_S = 1.0


def wait_s(one: Reservation, ledger: Ledger) -> float | None:
    """How long the request would wait behind what waits now, None where nothing is known yet.

    Its tenant is served its share of what comes free, among those that wait.
    """
    rate = ledger.rate_per_s()
    if not rate:
        return None
    tenant = one.tenant
    shares = sum(other.rule.share for other in ledger.waiting_tenants.values() if other is not tenant)
    part = tenant.rule.share / (tenant.rule.share + shares)
    found = min((tenant.waiting + 1) / (rate * part), (ledger.queued + 1) / rate)
    limit = tenant.rule.max_concurrency
    if limit is not None and tenant.running >= limit and ledger.residence_s is not None:
        found = max(found, (tenant.waiting + 1) * ledger.residence_s / limit)
    return found


def enqueue(one: Reservation, ledger: Ledger, rules: Rules, at: float) -> Queued | Refused:
    """The request waits, or is refused because its wait would be longer than it may be."""
    deadline_at = one.request.at + rules.queue_deadline_s
    expected_s = wait_s(one, ledger)
    if at >= deadline_at or _is_full(one.tenant, ledger, rules) or (expected_s is not None and at + expected_s > deadline_at):
        return _refused(one, ledger, rules, at, expected_s)
    tenant = one.tenant
    if not tenant.waiting:
        lowest = min((other.counter for other in ledger.waiting_tenants.values()), default=ledger.served_counter)
        tenant.counter = max(tenant.counter, lowest - _CREDIT_REQUESTS * one.charge / tenant.rule.share)
        ledger.waiting_tenants[tenant.name] = tenant
    tenant.put(one)
    ledger.queued += 1
    one.deadline_at = deadline_at
    heappush(ledger.deadlines, (deadline_at, one.number))
    return Queued(one.number, deadline_at)


def _is_full(tenant: TenantLedger, ledger: Ledger, rules: Rules) -> bool:
    """Nobody takes the places that are others' share of the queue: as many again are theirs."""
    if ledger.queued < rules.max_queued:
        return False
    return not rules.tenants or tenant.waiting >= tenant.rule.share * rules.max_queued or ledger.queued >= 2 * rules.max_queued


def _refused(one: Reservation, ledger: Ledger, rules: Rules, at: float, expected_s: float | None) -> Refused:
    tenant = one.tenant
    retry_s = _promise_s(ledger, rules, at, expected_s)
    if tenant.at_its_limit:
        limit = tenant.rule.max_concurrency
        return Refused(429, "tenant-concurrency", f"as many requests of this tenant run as may: {limit}", retry_s)
    if _is_full(tenant, ledger, rules):
        return Refused(503, "queue-full", f"{ledger.queued} requests wait, as many as may", retry_s)
    if not _has_an_engine(one, ledger):
        return Refused(503, "no-replica", "no engine is in rotation", _RETRY_AT_A_GUESS_S)
    held = sum(other.running_tokens for other in ledger.tenants.values())
    others_wait = any(other is not tenant for other in ledger.waiting_tenants.values())
    if others_wait and rules.tenants and tenant.running_tokens > tenant.rule.share * held:
        return Refused(429, "tenant-over-share", "this tenant has more than its share while others wait", retry_s)
    return Refused(503, "over-capacity", "the wait would be longer than it may be: the KV cache is taken", retry_s)


def held_up(one: Reservation, ledger: Ledger) -> bool:
    """None that it may go to is in rotation while others are: it does not wait in front of those that may go there."""
    return not _has_an_engine(one, ledger) and any(replica.open for replica in ledger.replicas.values())


def _has_an_engine(one: Reservation, ledger: Ledger) -> bool:
    """One that it may go to is in rotation."""
    return any(replica.open and name not in one.request.not_on for name, replica in ledger.replicas.items())


def _promise_s(ledger: Ledger, rules: Rules, at: float, expected_s: float | None) -> float:
    """When to come back: after those that were told so before, at the pace at which room comes free."""
    rate = ledger.rate_per_s()
    if not rate or expected_s is None:
        return _RETRY_AT_A_GUESS_S
    free_at = max(ledger.promised_at, at + max(0.0, expected_s - rules.queue_deadline_s / 2))
    free_at = min(free_at + 1.0 / rate, at + _LONGEST_PROMISE_S)
    ledger.promised_at = free_at
    return max(_RETRY_AT_A_GUESS_S, free_at - at)


def leave(one: Reservation, ledger: Ledger) -> None:
    """The request does not wait any more."""
    tenant = one.tenant
    tenant.take(one)
    ledger.queued -= 1
    if not tenant.waiting:
        ledger.waiting_tenants.pop(tenant.name, None)
    if ledger.blocked is one:
        ledger.blocked = ledger.claimed = None
    if not ledger.queued:
        ledger.deadlines.clear()


def expired(ledger: Ledger, rules: Rules, at: float) -> list[Refused]:
    """Those whose deadline has passed, refused: they wait no more and are forgotten."""
    found: list[Refused] = []
    deadlines = ledger.deadlines
    while deadlines and deadlines[0][0] <= at:
        number = heappop(deadlines)[1]
        one = ledger.reservations.get(number)
        if one is None or not one.waits:
            continue
        if not _has_an_engine(one, ledger):
            found.append(_without_an_engine(one, ledger))
            continue
        _forget(one, ledger)
        retry_s = _promise_s(ledger, rules, at, wait_s(one, ledger))
        found.append(Refused(503, "deadline-passed", "no room came free in the time that it may wait", retry_s, number))
    return found


def _without_an_engine(one: Reservation, ledger: Ledger) -> Refused:
    _forget(one, ledger)
    return Refused(503, "no-replica", "no engine came back into rotation while it waited", _RETRY_AT_A_GUESS_S, one.number)


def _forget(one: Reservation, ledger: Ledger) -> None:
    """It waits no more, and nothing is left to return."""
    leave(one, ledger)
    del ledger.reservations[one.number]
    one.tenant.spend(-one.charge)


def admitted(one: Reservation, ledger: Ledger, rules: Rules, at: float) -> Admitted | None:
    """The request on the replica it fits on, None where there is none. Not asked whose turn it is."""
    replica = place(one, ledger, rules, at)
    if replica is None:
        return None
    admit(one, replica, ledger, at)
    return Admitted(one.number, replica.name, one.output_cap, one.capped, at - one.request.at)


def next_admitted(ledger: Ledger, rules: Rules, at: float) -> list[Admitted | Refused]:
    """Everything that waits and can be admitted now, in turn; refused is whose engines have left the rotation while others are in it."""
    found: list[Admitted | Refused] = []
    while ledger.queued:
        tenant = _next_tenant(ledger)
        first = tenant.first() if tenant is not None else None
        if tenant is None or first is None:
            break
        made = admitted(first, ledger, rules, at)
        if made is not None:
            leave(first, ledger)
            found.append(made)
            continue
        if first.request.not_on and held_up(first, ledger):
            found.append(_without_an_engine(first, ledger))
            continue
        if ledger.blocked is not first:
            claim(first, ledger)
        passing = _one_that_passes(first, ledger, rules, at)
        if passing is None:
            break
        found.append(passing)
    return found


def _next_tenant(ledger: Ledger) -> TenantLedger | None:
    best: TenantLedger | None = None
    for tenant in ledger.waiting_tenants.values():
        if (best is None or tenant.counter < best.counter) and not tenant.at_its_limit:
            best = tenant
    return best


def _one_that_passes(first: Reservation, ledger: Ledger, rules: Rules, at: float) -> Admitted | None:
    tried = 0
    for tenant in sorted(ledger.waiting_tenants.values(), key=lambda one: one.counter):
        if tenant.at_its_limit:
            continue
        for one in tenant.few(_TRIED_BEHIND + 1):
            if one is first or one.charge >= first.charge:
                continue
            made = admitted(one, ledger, rules, at)
            if made is not None:
                leave(one, ledger)
                return made
            tried += 1
            if tried >= _TRIED_BEHIND:
                return None
    return None
