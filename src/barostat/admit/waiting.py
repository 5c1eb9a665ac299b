"""Queues with deadlines: who waits, who is refused at once, whose turn it is, and who may pass one
that does not fit yet.

Those that may go to the same engines are one queue (`lines.py`), and what others wait for is
nothing to them. A request whose wait would end after its deadline is refused as it comes, and told
when to come back: capacity is promised to the refused one after the other, so that those who come
back as told find it free. The first in turn of a queue that fits nowhere lays claim to one replica
(`placing.py`), and half of what comes free there is its own from then on: others pass it elsewhere
and with the other half. So neither does a long prompt stop the queue, nor do short ones starve it:
what passes it on that replica is at most what it needs itself.
"""

from __future__ import annotations

from heapq import heappop, heappush

from barostat.admit.decision import Admitted, Queued, Refused
from barostat.admit.held_forecast import NEVER
from barostat.admit.ledger import Ledger
from barostat.admit.lines import Line, Reservation, Turn
from barostat.admit.placing import admit, claim, give_up_claim, place
from barostat.admit.rules import Rules
from barostat.admit.tenants import TenantLedger

_TRIED_BEHIND = 4
_CREDIT_REQUESTS = 4
"""So many requests of a tenant that had less than its share go first when it comes back: a small
burst within the share does not queue.
"""
_LONGEST_PROMISE_S = 120.0
_RETRY_AT_A_GUESS_S = 1.0
LOOK_AGAIN_S = 0.05
"""After which what waits is tried again though nothing came free for it: the forecast goes on."""


def wait_s(one: Reservation) -> float | None:
    """How long the request would wait behind what waits in its line now, None if nothing is
    known yet.

    Its tenant is served its share of what comes free, among those that wait.
    """
    turn = one.turn
    line, tenant = turn.line, turn.tenant
    rate = line.rate_per_s()
    if not rate:
        return None
    shares = sum(other.tenant.rule.share for other in line.waiting.values() if other is not turn)
    part = tenant.rule.share / (tenant.rule.share + shares)
    above = line.queued_above(one.rank)
    same = len(line.by_rank.get(one.rank, ()))
    found = above / rate + min(
        (min(turn.waiting, same) + 1) / (rate * part), (same + 1) / rate
    )  # those of lower classes wait behind it
    limit = tenant.rule.max_concurrency
    if limit is not None and tenant.running >= limit and line.residence_s is not None:
        found = max(found, (tenant.waiting + 1) * line.residence_s / limit)
    return found


def enqueue(one: Reservation, ledger: Ledger, rules: Rules, at: float) -> Queued | Refused:
    """The request waits, or is refused because its wait would be longer than it may be."""
    deadline_at = one.request.at + rules.queue_deadline_s
    expected_s = wait_s(one)
    full = _is_full(one, rules)
    if full and at < deadline_at and (last := one.turn.line.newest_below(one.rank)) is not None:
        ledger.shed.append(_shed(last, ledger, rules, at))
        full = _is_full(one, rules)
    if at >= deadline_at or full or (expected_s is not None and at + expected_s > deadline_at):
        return _refused(one, rules, at, expected_s)
    one.deadline_at = deadline_at
    line_up(one, ledger)
    return Queued(one.number, deadline_at)


def line_up(one: Reservation, ledger: Ledger) -> None:
    """The request waits in its line, until its deadline."""
    turn = one.turn
    line = turn.line
    if not turn.waiting:
        lowest = min(
            (other.counter for other in line.waiting.values()), default=line.served_counter
        )
        turn.counter = max(
            turn.counter, lowest - _CREDIT_REQUESTS * one.charge / turn.tenant.rule.share
        )
        line.waiting[turn.tenant.name] = turn
    turn.put(one)
    line.enters(one)
    line.looked_at = NEVER
    ledger.queues[line] = None
    ledger.queued += 1
    heappush(ledger.deadlines, (one.deadline_at, one.number))


def _shed(one: Reservation, ledger: Ledger, rules: Rules, at: float) -> Refused:
    """Refuse one that waits: a request of a more important class takes its place."""
    forget(one, ledger)
    retry_s = _promise_s(one.turn.line, rules, at, wait_s(one))
    return Refused(
        503,
        "priority-shed",
        "a request of a higher priority class took its place in the queue",
        retry_s,
        one.number,
    )


def _is_full(one: Reservation, rules: Rules) -> bool:
    return _class_is_full(one, rules) or _line_is_full(one.turn, rules)


def _class_is_full(one: Reservation, rules: Rules) -> bool:
    """Its class, with those below it, has its share of the places."""
    rule = one.priority_class
    if rule is None or rule.queue_share >= 1.0:
        return False
    line = one.turn.line
    return line.queued - line.queued_above(one.rank) >= rule.queue_share * rules.max_queued


def _line_is_full(turn: Turn, rules: Rules) -> bool:
    """Nobody takes the places that are others' share of the line: as many again are theirs."""
    queued = turn.line.queued
    if queued < rules.max_queued:
        return False
    return (
        not rules.tenants
        or turn.waiting >= turn.tenant.rule.share * rules.max_queued
        or queued >= 2 * rules.max_queued
    )


def _refused(one: Reservation, rules: Rules, at: float, expected_s: float | None) -> Refused:
    turn, tenant = one.turn, one.tenant
    line = turn.line
    retry_s = _promise_s(line, rules, at, expected_s)
    if tenant.at_its_limit:
        return _by_its_own_limit(tenant, retry_s)
    if one.priority_class is not None and _class_is_full(one, rules):
        return Refused(
            503,
            "priority-class-full",
            f"no more requests of priority class {one.priority_class.name} may wait",
            retry_s,
        )
    if _line_is_full(turn, rules):
        return Refused(503, "queue-full", f"{line.queued} requests wait, as many as may", retry_s)
    if not _has_an_engine(line):
        return Refused(503, "no-replica", "no engine is in rotation", _RETRY_AT_A_GUESS_S)
    held = sum(other.running_tokens for other in line.turns.values())
    others_wait = any(other is not turn for other in line.waiting.values())
    if others_wait and rules.tenants and turn.running_tokens > tenant.rule.share * held:
        return Refused(
            429,
            "tenant-over-share",
            "this tenant has more than its share while others wait",
            retry_s,
        )
    return Refused(
        503,
        "over-capacity",
        "the wait would be longer than it may be: the KV cache is taken",
        retry_s,
    )


def _by_its_own_limit(tenant: TenantLedger, retry_s: float, number: int = 0) -> Refused:
    """Refuse a request because of the tenant's own limit."""
    limit = tenant.rule.max_concurrency
    return Refused(
        429,
        "tenant-concurrency",
        f"as many requests of this tenant run as may: {limit}",
        retry_s,
        number,
    )


def held_up(one: Reservation, ledger: Ledger) -> bool:
    """None that it may go to is in rotation while others are that serve the same."""
    line = one.turn.line
    return not _has_an_engine(line) and any(
        replica.open and replica.learned is line.learned for replica in ledger.replicas.values()
    )


def _has_an_engine(line: Line) -> bool:
    """One that those of the line may go to is in rotation."""
    return any(replica.open for replica in line.replicas)


def _promise_s(line: Line, rules: Rules, at: float, expected_s: float | None) -> float:
    """When to come back: after those of the line that were told so before, at the pace at which
    room comes free.
    """
    rate = line.rate_per_s()
    if not rate or expected_s is None:
        return _RETRY_AT_A_GUESS_S
    free_at = max(line.promised_at, at + max(0.0, expected_s - rules.queue_deadline_s / 2))
    free_at = min(free_at + 1.0 / rate, at + _LONGEST_PROMISE_S)
    line.promised_at = free_at
    return max(_RETRY_AT_A_GUESS_S, free_at - at)


def leave(one: Reservation, ledger: Ledger) -> None:
    """The request does not wait any more."""
    turn = one.turn
    line = turn.line
    turn.take(one)
    line.exits(one)
    ledger.queued -= 1
    if not turn.waiting:
        line.waiting.pop(turn.tenant.name, None)
    if not line.queued:
        del ledger.queues[line]
    if line.blocked is one:
        give_up_claim(line)
    if not ledger.queued:
        ledger.deadlines.clear()


def expired(ledger: Ledger, rules: Rules, at: float) -> list[Refused]:
    """Refuse and forget the requests whose deadline has passed."""
    found: list[Refused] = []
    deadlines = ledger.deadlines
    while deadlines and deadlines[0][0] <= at:
        number = heappop(deadlines)[1]
        one = ledger.reservations.get(number)
        if one is None or not one.waits:
            continue
        if not _has_an_engine(one.turn.line):
            found.append(_without_an_engine(one, ledger))
            continue
        forget(one, ledger)
        retry_s = _promise_s(one.turn.line, rules, at, wait_s(one))
        if one.tenant.at_its_limit:
            found.append(_by_its_own_limit(one.tenant, retry_s, number))
            continue
        found.append(
            Refused(
                503,
                "deadline-passed",
                "no room came free in the time that it may wait",
                retry_s,
                number,
            )
        )
    return found


def _without_an_engine(one: Reservation, ledger: Ledger) -> Refused:
    forget(one, ledger)
    return Refused(
        503,
        "no-replica",
        "no engine came back into rotation while it waited",
        _RETRY_AT_A_GUESS_S,
        one.number,
    )


def forget(one: Reservation, ledger: Ledger) -> None:
    """Remove a request from the queue; it holds no reservation any more."""
    leave(one, ledger)
    del ledger.reservations[one.number]
    one.tenant.spend(-one.charge)


def admitted(one: Reservation, rules: Rules, at: float) -> Admitted | None:
    """The request on the replica it fits on, None if there is none. Not asked whose turn it
    is.
    """
    replica = place(one, rules, at)
    if replica is None:
        return None
    admit(one, replica, at)
    return Admitted(one.number, replica.name, one.output_cap, one.capped, at - one.request.at)


def next_admitted(ledger: Ledger, rules: Rules, at: float) -> list[Admitted | Refused]:
    """Everything that waits and can be admitted now, in turn; refused is whose engines have left
    the rotation while others are in it.

    Of several lines, those on whose engines nothing has changed just now are left alone.
    """
    found: list[Admitted | Refused] = []
    waiting = list(ledger.queues)
    if len(waiting) > 1:
        waiting = [line for line in waiting if not 0.0 <= at - line.looked_at < LOOK_AGAIN_S]
    came = {line: _came_at(line) for line in waiting}
    while came:
        line = min(came, key=came.__getitem__) if len(came) > 1 else next(iter(came))
        made = _next_of(line, ledger, rules, at)
        if made is not None:
            found.append(made)
        else:
            line.looked_at = at
        if made is None or not line.queued:
            del came[line]
        elif len(came) > 1:
            came[line] = _came_at(line)
        if len(came) > 1 and isinstance(made, Admitted):
            _came_anew(came, line, ledger.reservations[made.reservation].tenant)
    return found


def _came_anew(came: dict[Line, tuple[float, int]], line: Line, tenant: TenantLedger) -> None:
    """One of that tenant's was admitted out of that line: whose turn it is in others may be
    another's by that.
    """
    for other in line.beside:
        if other in came:
            came[other] = _came_at(other)
    if tenant.at_its_limit:
        for other in came:
            if tenant.name in other.turns:
                came[other] = _came_at(other)


def _came_at(line: Line) -> tuple[float, int]:
    """When the one came whose turn it is in that line, and before whom."""
    turn = _next_turn(line)
    first = turn.first() if turn is not None else None
    return (first.request.at, first.number) if first is not None else (0.0, 0)


def _next_of(line: Line, ledger: Ledger, rules: Rules, at: float) -> Admitted | Refused | None:
    """What becomes of the first of the line, or of one that may pass it; None while nothing can be
    admitted.
    """
    turn = _next_turn(line)
    first = turn.first() if turn is not None else None
    if turn is None or first is None:
        return None
    made = admitted(first, rules, at)
    if made is not None:
        leave(first, ledger)
        return made
    if line.not_on and held_up(first, ledger):
        return _without_an_engine(first, ledger)
    if line.blocked is not first:
        claim(first)
    return _one_that_passes(first, ledger, rules, at)


def _next_turn(line: Line) -> Turn | None:
    """The turn that comes next: of the most important class that waits, then by what its tenant was
    served.
    """
    best: Turn | None = None
    best_rank = 0
    several = len(line.by_rank) > 1
    for turn in line.waiting.values():
        if turn.tenant.at_its_limit:
            continue
        first = turn.first() if several else None
        rank = 0 if first is None else first.rank
        if best is None or (rank, turn.counter) < (best_rank, best.counter):
            best, best_rank = turn, rank
    return best


def waits_above(line: Line, rank: int) -> bool:
    """True if one of a more important class waits, and may run: nothing passes it."""
    if not line.queued_above(rank):
        return False
    turn = _next_turn(line)
    first = None if turn is None else turn.first()
    return first is not None and first.rank < rank


def _one_that_passes(
    first: Reservation, ledger: Ledger, rules: Rules, at: float
) -> Admitted | None:
    tried = 0
    for turn in sorted(first.turn.line.waiting.values(), key=lambda one: one.counter):
        if turn.tenant.at_its_limit:
            continue
        for one in turn.few(_TRIED_BEHIND + 1):
            if one is first or one.rank != first.rank or one.charge >= first.charge:
                continue
            made = admitted(one, rules, at)
            if made is not None:
                leave(one, ledger)
                return made
            tried += 1
            if tried >= _TRIED_BEHIND:
                return None
    return None
