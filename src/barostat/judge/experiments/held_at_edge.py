"""Simulates one engine behind a gateway that holds requests back by KV tokens. Times count from the
arrival at the gateway.
"""

from __future__ import annotations

from collections.abc import Sequence

from barostat.admit.rules import Rules
from barostat.judge.experiments.gated import Fleet, GatedRun, Traffic, one_kind_of_attention
from barostat.twin.intake import EDGE_INPUT_CAP, NS, Rejection
from barostat.twin.outcome import Outcome
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.settings import Settings

_REFUSED, _TOO_LONG = 503, "input-too-long"
# The budget alone is tried: what waits is not refused. A deadline would be another limit, and its
# own first refusals, when all clients come at once, would keep them away for longer than a trial
# lasts.
_NO_END_S, _NO_END = 1e9, 1_000_000
# A gateway knows this traffic's lengths after so many answers. Without them a trial of a minute
# would be one of a gateway's first minute.
_SEEN = 500


def held_at_edge(
    settings: Settings, pace: Pace, rows: Sequence[Row], budget_tokens: int
) -> Outcome:
    """Simulate the rows with at most `budget_tokens` in flight. Requests held at the gateway count
    as waiting.

    Errors: InputError for an engine with several kinds of attention, which the simulated gateway
    does not support.
    """
    one_kind_of_attention(settings, "edge-kv-budget")
    cap = settings.edge_input_tokens
    rules = Rules(
        max_input_tokens=cap,
        kv_token_budget=budget_tokens,
        queue_deadline_s=_NO_END_S,
        max_queued=_NO_END,
    )
    seen = [row for row in rows if cap is None or row.input_tokens <= cap][:_SEEN]
    found = GatedRun(Fleet(1, settings, pace), rules, Traffic(rows, seen=seen)).run()
    (outcome,) = found.engines
    gone: list[tuple[int, int]] = []  # (instant, one more or one less at the gateway)
    for life in outcome.lives:
        came_ns = round(found.arrived_s[life.request_id] * NS)
        if life.arrival_ns > came_ns:
            gone += ((came_ns, 1), (life.arrival_ns, -1))
        life.arrival_ns = came_ns
    gone.sort()
    for one in found.refused:
        status, reason = EDGE_INPUT_CAP if one.reason == _TOO_LONG else (_REFUSED, one.reason)
        outcome.rejections.append(Rejection(one.request_id, one.at_s, status, reason))
    held = place = 0
    load = []
    for at_ns, free, running, waiting in outcome.load:
        while place < len(gone) and gone[place][0] <= at_ns:
            held += gone[place][1]
            place += 1
        load.append((at_ns, free, running, waiting + held))
    outcome.load[:] = load
    return outcome
