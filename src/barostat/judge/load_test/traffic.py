"""Turns rows of a workload into a sending schedule: open loop at a rate, or a number of closed-loop
clients.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.errors import InputError
from barostat.core.limits import ServingLimits
from barostat.twin.request import Row
from barostat.twin.workload.random_streams import Dice

BURSTS = 2
_MIX_ROWS = 512
_SHORT_SHARE = 0.125


@dataclass(frozen=True, slots=True)
class Traffic:
    """A sending schedule. `clients` 0: open loop, each row at its time (or after the row that it
    follows); otherwise closed loop with that many clients, repeating the rows.

    `description`: description for the user; contains no prompt text.
    """

    rows: tuple[Row, ...]
    clients: int = 0
    description: str = ""

    @property
    def is_open(self) -> bool:
        """True if arrivals do not wait for answers, so that a stalled server is not spared."""
        return not self.clients and not any(row.after_id is not None for row in self.rows)

    @property
    def rate_per_s(self) -> float | None:
        """Mean arrivals per second; None for a closed loop."""
        if not self.is_open or len(self.rows) < 2:
            return None
        return (
            (len(self.rows) - 1) / span_s
            if (span_s := self.rows[-1].arrival_s - self.rows[0].arrival_s) > 0
            else None
        )


def at_rate(traffic: Traffic, per_s: float) -> Traffic:
    """Scale the schedule to `per_s` arrivals per second on average, keeping its rhythm.

    Errors: InputError for a closed loop, or if all requests arrive at one instant.
    """
    now = traffic.rate_per_s
    if now is None:
        raise InputError(
            "these requests have no rate of their own (closed loop, or all at one "
            "instant); give --concurrency",
            "--rate",
        )
    return faster(traffic, per_s / now)


def faster(traffic: Traffic, times: float) -> Traffic:
    """Scale the arrival rate; the first request is sent immediately. Errors: InputError for rows
    that follow others.
    """
    if not traffic.is_open:
        raise InputError(
            "these clients wait for their answers: give more of them (--concurrency)",
            "--scale-rate",
        )
    first = traffic.rows[0].arrival_s
    rows = tuple(row._replace(arrival_s=(row.arrival_s - first) / times) for row in traffic.rows)
    return Traffic(rows, 0, traffic.description)


def with_clients(traffic: Traffic, clients: int) -> Traffic:
    """Return a closed loop: `clients` clients repeat the rows, each with one request at a time."""
    return Traffic(
        tuple(row._replace(arrival_s=0.0, after_id=None) for row in traffic.rows),
        clients,
        traffic.description,
    )


def first_at_once(traffic: Traffic) -> Traffic:
    """Shift arrivals so that the first request is sent at time 0; pauses of follow-up requests are
    unchanged.
    """
    starts = [row.arrival_s for row in traffic.rows if row.after_id is None]
    first = min(starts, default=0.0)
    rows = [
        row if row.after_id is not None else row._replace(arrival_s=row.arrival_s - first)
        for row in traffic.rows
    ]
    return Traffic(
        tuple(sorted(rows, key=lambda row: (row.after_id is not None, row.arrival_s))),
        traffic.clients,
        traffic.description,
    )


def as_many(traffic: Traffic, count: int) -> Traffic:
    """Return `count` requests at the same rate, repeating the rows if there are fewer.

    Prefixes are shared within one repetition only, because a repetition that hits the cache of the
    previous one would be too light.
    """
    rows, turns = traffic.rows[:count], -(-count // max(1, len(traffic.rows)))
    if turns < 2 or not traffic.rate_per_s:
        return Traffic(rows, traffic.clients, traffic.description)
    turn_s = len(rows) / traffic.rate_per_s
    ids = 1 + max((one for row in rows for one in row.hash_ids or ()), default=0)
    again = tuple(
        row._replace(
            request_id=f"{row.request_id}~{turn}" if turn else row.request_id,
            arrival_s=row.arrival_s + turn * turn_s,
            hash_ids=row.hash_ids and tuple(one + turn * ids for one in row.hash_ids),
        )
        for turn in range(turns)
        for row in rows
    )
    return Traffic(again[:count], traffic.clients, traffic.description)


@dataclass(frozen=True, slots=True)
class Allowed:
    """Largest load that the limits allow. Units: tokens; concurrent requests. `at_once`: requests
    of the maximum length that fit the edge's KV budget.
    """

    input_tokens: int
    output_tokens: int
    slots: int
    at_once: int


def allowed(limits: ServingLimits, where: str) -> Allowed:
    """Return what the limits allow. Errors: InputError naming a field that is needed and not set."""
    spec = limits.spec
    length, engine, request = spec.engine.max_model_len, spec.engine, spec.request
    output = request.max_output_tokens
    if output is None:
        raise InputError(
            "request.maxOutputTokens is not set: output length is unlimited, and no test can "
            "prove that",
            where,
        )
    most_in = (
        request.max_input_tokens
        if request.max_input_tokens is not None
        else (length - output if length is not None else None)
    )
    if most_in is None or most_in < 1:
        raise InputError(
            "request.maxInputTokens (or engine.maxModelLen) is not set: the longest prompt is "
            "unknown",
            where,
        )
    slots = engine.max_num_active_seqs or engine.max_num_seqs
    if slots is None:
        raise InputError(
            "engine.maxNumSeqs is not set: the number of running requests is not limited", where
        )
    budget = spec.edge.kv_token_budget
    return Allowed(
        most_in,
        output,
        slots,
        slots if budget is None else max(1, min(slots, budget // (most_in + output))),
    )


def worst_mix(most: Allowed) -> Traffic:
    """Return as many simultaneous requests as allowed, each as long as allowed, except that one in
    eight is short, because short requests suffer from others' prefills.
    """
    dice = Dice(0, "worst-mix")
    rows = []
    for place in range(max(_MIX_ROWS, most.at_once)):
        short = place >= most.at_once and dice.uniform() < _SHORT_SHARE
        rows.append(
            Row(
                str(place),
                0.0,
                max(1, most.input_tokens // (32 if short else 1)),
                max(1, most.output_tokens // (4 if short else 1)),
            )
        )
    description = (
        f"worst mix: {most.at_once} at once, {most.input_tokens:,} tokens in, "
        f"{most.output_tokens:,} out"
    )
    return Traffic(
        tuple(rows),
        most.at_once,
        description
        if most.at_once == most.slots
        else f"{description} (of {most.slots} slots: the edge's budget)",
    )


def mixed(most: Allowed, count: int, per_s: float) -> Traffic:
    """Return `count` Poisson arrivals at `per_s`, with lengths uniform over what is allowed."""
    gaps, inputs, outputs = (Dice(0, f"mixed/{name}") for name in ("arrivals", "input", "output"))
    at_s, rows = 0.0, []
    for place in range(count):
        row = Row(
            str(place),
            at_s,
            1 + round(inputs.uniform() * (most.input_tokens - 1)),
            1 + round(outputs.uniform() * (most.output_tokens - 1)),
        )
        rows.append(row)
        at_s += gaps.exponential(1 / per_s)
    return Traffic(
        tuple(rows), 0, f"all lengths up to {most.input_tokens:,} in and {most.output_tokens:,} out"
    )


def burst(most: Allowed, every_s: float) -> Traffic:
    """Return bursts of `at_once` requests of any allowed length, `every_s` seconds apart."""
    description = f"{BURSTS} bursts of {most.at_once}, {every_s:g} s apart"
    lengths = mixed(most, BURSTS * most.at_once, 1.0).rows
    rows = tuple(
        row._replace(arrival_s=place // most.at_once * every_s) for place, row in enumerate(lengths)
    )
    return Traffic(rows, 0, description)
