"""Which replica a request fits on: where prompts that begin alike went, if there is room and not too much to do, else the freest."""

from __future__ import annotations

from barostat.admit.held_forecast import ReplicaLedger
from barostat.admit.ledger import Ledger
from barostat.admit.reservation import Reservation
from barostat.admit.rules import Rules
from barostat.admit.tenants import TenantLedger

_TRIED = 2
_NEAR_AHEAD = 32
"""So many more requests than the emptiest may run where prompts that begin alike went: what they share is computed sooner than a step of
all of them is made, and past that the others stand idle beside one that is slow."""
_CLAIMED_RATIO = 0.5
_KEPT_RATIO = 0.1
"""Of a pool, where tenants have shares: for those that have less than theirs. Who has more leaves it free, or a small burst of one that
asks for little finds every pool taken for as long as the answers of the one that floods last."""
_ACTIVE_S = 60.0


def place(one: Reservation, ledger: Ledger, rules: Rules, at: float) -> ReplicaLedger | None:
    """The replica that the request fits on now, None where it fits on none. Nothing is admitted by this."""
    request, z = one.request, ledger.margin.z
    near = ledger.affinity.get(request.prefix_key) if request.prefix_key else None
    ranked: list[tuple[float, str, ReplicaLedger]] = []
    for name, replica in ledger.replicas.items():
        if name in request.not_on or not replica.has_a_place(request.sequences, rules.max_running):
            continue
        ranked.append(((replica.held_tokens + replica.foreign_tokens) / replica.pool.kv_tokens, name, replica))
    if len(ranked) > 1:
        ranked.sort()
        if near is not None:
            _near_first(ranked, near)
    for _, _, replica in ranked[:_TRIED]:
        budget = replica.budget(rules.kv_token_budget)
        if replica is ledger.claimed and one is not ledger.blocked:
            budget -= ledger.claim_tokens
        kept = _KEPT_RATIO * replica.pool.kv_tokens if rules.tenants else 0.0
        if replica.fits(one, z, budget - kept, at):
            return replica
        if kept and replica.fits(one, z, budget, at) and not _has_its_share(one.tenant, ledger, at):
            return replica
    return None


def _has_its_share(tenant: TenantLedger, ledger: Ledger, at: float) -> bool:
    """What runs of this tenant is more than its share, and another has asked for something lately."""
    running = shares = 0.0
    others = False
    for other in ledger.tenants.values():
        running += other.running_tokens
        shares += other.rule.share
        others = others or (other is not tenant and at - other.asked_at < _ACTIVE_S)
    return others and tenant.running_tokens * shares > tenant.rule.share * running


def _near_first(ranked: list[tuple[float, str, ReplicaLedger]], near: str) -> None:
    """The replica near to the request is tried first, if it is among these and not too far ahead of them."""
    for place, (_, name, replica) in enumerate(ranked):
        if name == near:
            if place and len(replica.live) <= min(len(other.live) for _, _, other in ranked) + _NEAR_AHEAD:
                ranked.insert(0, ranked.pop(place))
            return


def claim(one: Reservation, ledger: Ledger) -> None:
    """It is this one's turn and it fits nowhere: it lays claim to the replica where most is free."""
    ledger.blocked = one
    ledger.claim_tokens = 0.0
    ledger.claimed = min(
        (replica for replica in ledger.replicas.values() if replica.open and replica.name not in one.request.not_on),
        key=lambda replica: replica.held_tokens / replica.pool.kv_tokens,
        default=None,
    )


def came_free(replica: ReplicaLedger, tokens: float, ledger: Ledger) -> None:
    """So many tokens came free there: half of them are the claim's, until it has what the blocked one needs."""
    if replica is ledger.claimed and ledger.blocked is not None:
        ledger.claim_tokens = min(ledger.blocked.charge, ledger.claim_tokens + _CLAIMED_RATIO * tokens)


def admit(one: Reservation, replica: ReplicaLedger, ledger: Ledger, at: float) -> None:
    """The request is on the replica."""
    one.replica = replica
    one.admitted_at = one.heard_at = at
    replica.admit(one)
    tenant = one.tenant
    tenant.running += 1
    tenant.running_tokens += one.charge
    tenant.served(one.charge)
    ledger.served_counter = max(ledger.served_counter, tenant.counter)
    if one.request.prefix_key:
        ledger.near(one.request.prefix_key, replica.name)


def largest_pool_tokens(ledger: Ledger, rules: Rules) -> int:
    """What the largest replica can hold for one request; 0 without a replica."""
    most = ledger.all_pools.largest_tokens
    return most if rules.kv_token_budget is None else min(most, rules.kv_token_budget)
