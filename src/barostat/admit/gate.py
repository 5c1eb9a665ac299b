"""The gate's moves, each of which changes the ledger: asked, due, produced, returned, and what
replicas do.

    decide  --Admitted-->  forwarded --produced*--> returned        every reservation ends with exactly one `returned` that counts
       |                       ^
       +-----Queued--> due ----+--> Refused (its deadline has passed: nothing is left to return)
       +--CountFirst--> decide again, with an exact count           +--Refused--> an answer at once

The ledger is changed in place (it sits in the path of live requests) and belongs to one caller. No
clock: `at`, in seconds, only goes forward; where it goes back, nothing is lost but precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from barostat.admit.asked import AskedRequest
from barostat.admit.decision import Admitted, Decision, Refused
from barostat.admit.held_forecast import NEVER
from barostat.admit.ledger import Ledger
from barostat.admit.lengths import LengthClass
from barostat.admit.lines import Line, Reservation, Turn
from barostat.admit.placing import came_free, give_up_claims, largest_pool_tokens
from barostat.admit.priority_classes import class_of
from barostat.admit.replica_news import Observation, Pool
from barostat.admit.request_limits import output_in_force, refused_at_sight
from barostat.admit.rules import ClassRule, Rules
from barostat.admit.waiting import (
    LOOK_AGAIN_S,
    admitted,
    enqueue,
    expired,
    forget,
    held_up,
    leave,
    line_up,
    next_admitted,
    waits_above,
)

Ended = Literal["stop", "length", "cut", "unsent"]
"""How it ended: by itself, at its output limit, cut (client gone, reset, time-out), or before
anything was sent to the replica.
"""


def decide(request: AskedRequest, ledger: Ledger, rules: Rules, at: float) -> Decision:
    """Decide on the request. The ledger keeps a reservation for `Admitted` and `Queued` only."""
    ledger.preempted_ratio, ledger.itl_s = rules.preempted_ratio, rules.itl_s
    own = class_of(rules, request.tenant, request.priority_class)
    if isinstance(own, Refused):
        return own
    line = ledger.line(request.not_on, at)
    longest = _longest(line, rules)
    at_sight = refused_at_sight(request, rules, longest)
    if at_sight is not None:
        return at_sight
    if rules.tenants_closed and request.tenant not in rules.tenants:
        return Refused(403, "tenant-unknown", "this tenant is not among those that the limits name")
    tenant = ledger.tenant(request.tenant, rules, at)
    turn = line.asked(tenant, at)
    one = _reservation(request, turn, ledger, rules, longest)
    if own is not None:
        one.priority_class, one.rank = own, own.rank
    if ledger.replicas:
        if request.not_on and (not line.replicas or held_up(one, ledger)):
            return Refused(503, "no-replica", "none of the engines that it may go to is here", 1.0)
        never = _never_fits(one, rules)
        if never is not None:
            return never
    short_s = tenant.wait_for_tokens_s(one.charge, at)
    if short_s > 0:
        limit = tenant.rule.tokens_per_minute
        retry_s = tenant.promise_s(one.charge, short_s, at)
        return Refused(
            429,
            "tenant-tokens-per-minute",
            f"this tenant's {limit} tokens a minute are spent",
            retry_s,
        )
    decision: Decision | None = None
    # Behind its own tenant's that may go where it may, but not behind others': what waits was tried
    # with all that came free, and has its claim.
    first = turn.first() if turn.waiting else None
    may_try = (first is None or one.rank < first.rank) and not tenant.at_its_limit
    if may_try and not waits_above(line, one.rank):
        decision = admitted(one, rules, at)
    if decision is None:
        decision = enqueue(one, ledger, rules, at)
        if isinstance(decision, Refused):
            return decision
    tenant.spend(one.charge)
    ledger.reservations[one.number] = one
    return decision


def due(ledger: Ledger, rules: Rules, at: float) -> list[Admitted | Refused]:
    """Decide on waiting requests, in their order: refuse those whose deadline has passed, admit
    those that fit now.
    """
    found: list[Admitted | Refused] = []
    if ledger.shed:
        found += ledger.shed
        ledger.shed.clear()
    if not ledger.queued:
        return found
    found += expired(ledger, rules, at)
    if ledger.queued:
        found += next_admitted(ledger, rules, at)
    return found


def adopted(ledger: Ledger, rules: Rules, at: float) -> None:
    """The rules are these from now on, for what waits, too: what each may come to, and how many of
    a tenant's may run.
    """
    ledger.itl_s = rules.itl_s
    for tenant in ledger.tenants:
        ledger.tenant(tenant, rules, at)
    for one in ledger.reservations.values():
        own = class_of(rules, one.tenant.name, one.request.priority_class)
        if isinstance(own, Refused):  # what was admitted under other classes stays
            own = class_of(rules, one.tenant.name, "")
        rule = own if isinstance(own, ClassRule) else None
        rank = 0 if rule is None else rule.rank
        if one.waits and rank != one.rank:
            leave(one, ledger)
            one.rank = rank
            line_up(one, ledger)
        one.priority_class, one.rank = rule, rank
        if one.waits:
            one.output_cap, one.capped, one.cap = output_in_force(
                one.request, rules, _longest(one.turn.line, rules)
            )
    for replica in ledger.replicas.values():
        replica.classes_changed()


def next_due_at(ledger: Ledger, at: float) -> float | None:
    """When `due` is to be asked again though nothing was returned: the forecast and the deadlines
    go on. None if nothing waits.
    """
    if ledger.shed:
        return at
    if not ledger.queued:
        return None
    deadline_at = ledger.deadlines[0][0] if ledger.deadlines else at
    return min(at + LOOK_AGAIN_S, max(at, deadline_at))


def produced(ledger: Ledger, reservation: int, tokens: int, at: float) -> Ledger:
    """Record the tokens that each of its sequences has produced. A smaller number than before, or
    an unknown reservation, changes nothing.
    """
    one = ledger.reservations.get(reservation)
    if one is None or tokens < one.produced:
        return ledger
    if tokens > one.produced:
        if one.produced and one.replica is not None and at > one.heard_at:
            one.replica.paced(tokens - one.produced, at - one.heard_at)
        one.produced = tokens if tokens < one.cap else one.cap
    one.heard_at = at
    return ledger


def returned(
    ledger: Ledger,
    reservation: int,
    at: float,
    ended: Ended,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
) -> bool:
    """The request holds nothing any more, and what it was is learned from. True the first time,
    False ever after.

    `output_tokens`: of one sequence, as `usage` says; None for what was produced. One that waits
    just stops waiting.
    """
    one = ledger.reservations.pop(reservation, None)
    if one is None:
        return False
    tenant = one.tenant
    if one.waits:
        leave(one, ledger)
        tenant.spend(-one.charge)
        return True
    tenant.running -= 1
    tenant.running_tokens = tenant.running_tokens - one.charge if tenant.running else 0.0
    for turn in one.turns:
        turn.runs_no_more(one.charge)
        turn.line.looked_at = NEVER
    if tenant.rule.max_concurrency is not None:
        for line in ledger.queues:
            if tenant.name in line.turns:
                line.looked_at = NEVER
    if one.replica is not None:
        one.replica.take_back(one)
        came_free(one.replica, one.held)
    if ended == "unsent":
        tenant.spend(-one.charge)
        for turn in one.turns:
            turn.served(-one.charge)
        return True
    request = one.request
    length = one.produced if output_tokens is None else output_tokens
    if one.replica is not None and length and not one.produced and at > one.admitted_at:
        one.replica.paced(
            length, at - one.admitted_at
        )  # the whole answer at once: its wait and its prompt are in it
    prompt = request.input_tokens if input_tokens is None else input_tokens
    over = prompt + request.sequences * length - one.charge
    tenant.spend(over)
    for turn in one.turns:
        turn.served(over)
    one.lengths.learn(length, ended == "stop")
    ledger.ended(one, length, ended, at)
    return True


def joined(ledger: Ledger, name: str, pool: Pool, at: float) -> Ledger:
    """The replica is in rotation with this pool; one that is known has this pool from now on."""
    known = ledger.replicas.get(name)
    if known is None:
        ledger.replicas[name] = made = ledger.replica_of(name, pool)
        made.learned = ledger.learned
    else:
        known.takes(pool)
        known.open = True
    ledger.engines_changed(at)
    return ledger


def gone(ledger: Ledger, name: str, at: float) -> list[int]:
    """The replica is no more. What was on it, which holds nothing now, and is still to be returned,
    each once.
    """
    replica = ledger.replicas.pop(name, None)
    if replica is None:
        return []
    ledger.engines_changed(at)
    give_up_claims(replica)
    for number in replica.live:
        ledger.reservations[number].replica = None
    return list(replica.live)


def draining(ledger: Ledger, name: str, on: bool) -> Ledger:
    """The replica is out of rotation (`on`) or back in it. What runs there runs on."""
    replica = ledger.replicas.get(name)
    if replica is not None:
        replica.open = not on
        if on:
            give_up_claims(replica)
        for line in replica.lines:
            line.looked_at = NEVER
    return ledger


def alike(ledger: Ledger, said: Mapping[str, str]) -> None:
    """Replicas of which the same is said serve the same model: what is learned of one of them holds
    for all of those, and for no others.
    """
    ledger.alike(said)


def kept_off(
    ledger: Ledger, rules: Rules, reservation: int, not_on: tuple[str, ...], at: float
) -> Refused | None:
    """The request, if it still waits, may go to all replicas but these from now on. Refused and
    forgotten where it fits on none of them.
    """
    one = ledger.reservations.get(reservation)
    if one is None or not one.waits or one.turn.line.not_on == frozenset(not_on):
        return None
    leave(one, ledger)
    one.request = replace(one.request, not_on=not_on)
    line = ledger.line(not_on, at)
    one.turn = line.turn(one.tenant, one.request.at)
    one.output_cap, one.capped, one.cap = output_in_force(one.request, rules, _longest(line, rules))
    line_up(one, ledger)
    never = _never_fits(one, rules) if line.replicas else None
    if never is None:
        return None
    forget(one, ledger)
    return never._replace(reservation=one.number)


def observed(ledger: Ledger, name: str, seen: Observation, at: float) -> Ledger:
    """Take in the engine's own metrics: preemptions move the margin, and usage corrects the tokens
    assumed to be held.
    """
    replica = ledger.replicas.get(name)
    if replica is not None:
        preempted = replica.observe(seen, at)
        replica.pace.look(seen.token_s, seen.running, ledger.itl_s)
        if preempted:
            replica.learned.margin.preemptions(preempted)
            replica.looked_at = NEVER
        for line in replica.lines:
            line.looked_at = NEVER
    return ledger


def _longest(line: Line, rules: Rules) -> int | None:
    """Return the longest sequence that any engine of the line takes. A replica that takes less gets
    no longer one.
    """
    said, taken = rules.max_model_len, line.pools.longest_tokens
    return said if taken is None or (said is not None and said < taken) else taken


def _reservation(
    request: AskedRequest, turn: Turn, ledger: Ledger, rules: Rules, longest: int | None
) -> Reservation:
    line = turn.line
    learned = line.learned.lengths
    output_cap, capped, most = output_in_force(request, rules, longest)
    lengths: LengthClass
    if request.least_output_tokens >= most:
        lengths, expected = learned.known, float(most)
    else:
        lengths = learned.of(
            request.tenant, request.route, request.class_key, request.input_tokens, output_cap
        )
        expected = lengths.mean_tokens(most)
    ledger.last_number += 1
    copies = 1 if line.pools.share_prefixes else max(1, request.sequences // request.prompts)
    charge = request.input_tokens + request.sequences * expected
    prompt_tokens = request.input_tokens * copies
    if (
        request.prompts > 1 and not request.decodes
    ):  # each is gone once it is computed, and the next ones take its place
        prompt_tokens = min(
            prompt_tokens, max(request.tokens_of_each, largest_pool_tokens(line, rules) // 2)
        )
    one = Reservation(ledger.last_number, request, turn, lengths, prompt_tokens, most, charge)
    one.output_cap, one.capped = output_cap, capped
    return one


def _never_fits(one: Reservation, rules: Rules) -> Refused | None:
    """Refused if the prompt alone is more than any replica holds; its answer may be shorter than it
    could be.
    """
    largest = largest_pool_tokens(one.turn.line, rules)
    if one.prompt_tokens < largest:
        return None
    if one.request.counted_as == "exact":
        return Refused(
            413,
            "never-fits",
            f"the input holds {one.prompt_tokens} tokens of KV cache; at most {largest} "
            "may be held at an engine",
        )
    return None
