"""Which replica a request fits on: where prompts that begin alike went, if there is room and not
too much to do, else the freest.
"""

from __future__ import annotations

from barostat.admit.lines import Line, ReplicaLedger, Reservation, Turn
from barostat.admit.rules import Rules

_TRIED = 2
_NEAR_AHEAD = 32
"""So many more requests than the emptiest may run where prompts that begin alike went: what they
share is computed sooner than a step of all of them is made, and past that the others stand idle
beside one that is slow.
"""
_CLAIMED_RATIO = 0.5
_KEPT_RATIO = 0.1
"""Of a pool, where tenants have shares: for those that have less than theirs. Who has more leaves
it free, or a small burst of one that asks for little finds every pool taken for as long as the
answers of the one that floods last.
"""
_ACTIVE_S = 60.0


def place(one: Reservation, rules: Rules, at: float) -> ReplicaLedger | None:
    """The replica that the request fits on now, None if it fits on none. Nothing is admitted by
    this.
    """
    request, line = one.request, one.turn.line
    near = line.learned.affinity.get(request.prefix_key) if request.prefix_key else None
    ranked = [
        (
            (replica.held_tokens + replica.foreign_tokens) / replica.pool.kv_tokens,
            replica.name,
            replica,
        )
        for replica in line.replicas
        if replica.has_a_place(request.sequences, rules.max_running)
    ]
    if len(ranked) > 1:
        ranked.sort()
        if near is not None:
            _near_first(ranked, near)
    for _, _, replica in ranked[:_TRIED]:
        budget, z = replica.budget(rules.kv_token_budget), replica.learned.margin.z
        blocked: Reservation | None
        for claiming in replica.claims:
            blocked = claiming.blocked
            if blocked is not one and (blocked is None or blocked.rank <= one.rank):
                budget -= claiming.claim_tokens
        if one.priority_class is not None and not replica.class_has_room(
            one, rules.kv_token_budget
        ):
            continue
        kept = _KEPT_RATIO * replica.pool.kv_tokens if rules.tenants else 0.0
        if replica.fits(one, z, budget - kept, at):
            return replica
        if kept and replica.fits(one, z, budget, at) and not _has_its_share(one.turn, at):
            return replica
    return None


def _has_its_share(turn: Turn, at: float) -> bool:
    """True if the tenant uses more than its share of the line's engines and another tenant has
    requested some of them recently.
    """
    running = shares = 0.0
    others = False
    for other in turn.line.turns.values():
        running += other.running_tokens
        shares += other.tenant.rule.share
        others = others or (other is not turn and at - other.asked_at < _ACTIVE_S)
    return others and turn.running_tokens * shares > turn.tenant.rule.share * running


def _near_first(ranked: list[tuple[float, str, ReplicaLedger]], near: str) -> None:
    """The replica near to the request is tried first, if it is among these and not too far ahead of
    them.
    """
    for place, (_, name, replica) in enumerate(ranked):
        if name == near:
            if (
                place
                and len(replica.live)
                <= min(len(other.live) for _, _, other in ranked) + _NEAR_AHEAD
            ):
                ranked.insert(0, ranked.pop(place))
            return


def claim(one: Reservation) -> None:
    """It is this one's turn and it fits nowhere: it lays claim to the replica where most is
    free.
    """
    line = one.turn.line
    give_up_claim(line)
    line.blocked = one
    line.claimed = min(
        (replica for replica in line.replicas if replica.open),
        key=lambda replica: replica.held_tokens / replica.pool.kv_tokens,
        default=None,
    )
    if line.claimed is not None:
        line.claimed.claims.append(line)


def give_up_claim(line: Line) -> None:
    """Nothing is claimed for this line any more."""
    if line.claimed is not None:
        line.claimed.claims.remove(line)
    line.blocked = line.claimed = None
    line.claim_tokens = 0.0


def give_up_claims(replica: ReplicaLedger) -> None:
    """The replica takes nothing new: what is blocked lays claim to another."""
    for line in tuple(replica.claims):
        give_up_claim(line)


def came_free(replica: ReplicaLedger, tokens: float) -> None:
    """So many tokens came free there: half of them are the claims', one after the other, until each
    has what its blocked one needs.
    """
    left = _CLAIMED_RATIO * tokens
    for line in replica.claims:
        if line.blocked is not None and left > 0.0:
            before = line.claim_tokens
            line.claim_tokens = min(line.blocked.charge, before + left)
            left -= line.claim_tokens - before


def admit(one: Reservation, replica: ReplicaLedger, at: float) -> None:
    """The request is on the replica."""
    one.replica = replica
    one.admitted_at = one.heard_at = at
    replica.admit(one)
    tenant, charge = one.tenant, one.charge
    tenant.running += 1
    tenant.running_tokens += charge
    for line in replica.lines:
        turn = line.turn(tenant, at)
        one.turns.append(turn)
        turn.runs(charge)
        turn.served(charge)
        if turn.counter > line.served_counter:
            line.served_counter = turn.counter
    if one.request.prefix_key:
        replica.learned.near(one.request.prefix_key, replica.name)


def largest_pool_tokens(line: Line, rules: Rules) -> int:
    """Return the tokens that the largest replica of the line can hold for one request; 0 without a
    replica.
    """
    most = line.pools.largest_tokens
    return most if rules.kv_token_budget is None else min(most, rules.kv_token_budget)
