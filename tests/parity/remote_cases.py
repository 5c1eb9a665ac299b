"""Random configurations and workloads of an engine with a KV connector: prompts that another engine
computed, requests whose KV another engine fetches, and others; and what the twin does with them.
"""

from __future__ import annotations

import heapq
import random
from typing import Any

from tests.parity.scheduler_cases import SeenSteps, adapter_case, case, replaced, transfer_steps

from barostat.twin.intake import NS
from barostat.twin.pace import EverySteps
from barostat.twin.remote_kv.half import Half
from barostat.twin.request import Row
from barostat.twin.settings import Settings, check

ROLES = ("kv_producer", "kv_consumer", "kv_both")


def remote_case(seed: int) -> tuple[Settings, list[Row]]:
    """An engine with a connector of any role; requests beside it that nobody transfers.

    One that fetches KV, schedules asynchronously and has adapters ends itself: requests that are not
    scheduled because their blocks cannot be freed yet do not count for max_loras, others are
    admitted, and the next step fails an assertion (vLLM 0.32.0, Scheduler.schedule).
    """
    settings, rows = adapter_case(seed * 5 + 1) if seed % 4 == 0 else case(seed)
    dice = random.Random(seed + 3)
    role = dice.choice(ROLES)
    settings = replaced(settings, kv_role=role, max_queued_requests=None, max_queued_tokens=None)
    if role != "kv_producer" and any(row.adapter for row in rows):
        settings = replaced(settings, async_scheduling=False)
    check(settings)
    kinds: list[Any] = {"kv_producer": ["decode"], "kv_consumer": ["prefill"]}.get(
        role, ["decode", "prefill"]
    )
    kinds = kinds * dice.randint(1, 4) + [""]
    return settings, [row._replace(remote=dice.choice(kinds)) for row in rows]


def ours_with_transfers(settings: Settings, rows: list[Row]) -> dict[str, Any]:
    """What the twin does with the case, in the oracle's words."""
    seen = SeenSteps()
    half = Half(settings, EverySteps(NS), lambda _: None, seen.watch)
    coming = sorted(rows, key=lambda row: row.arrival_s)
    steps = {row.request_id: transfer_steps(row) for row in rows}
    moving: list[tuple[int, int, str]] = []
    finished: list[tuple[str, int]] = []
    at = moved = 0
    while at < len(coming) or moving or half.due_ns is not None:
        arrival = round(coming[at].arrival_s * NS) if at < len(coming) else None
        there = moving[0][0] if moving else None
        now = min(when for when in (arrival, there, half.due_ns) if when is not None)
        if arrival == now:
            half.put_at(coming[at], now)
            at += 1
        elif there == now:
            half.moved(heapq.heappop(moving)[2], now)
        else:
            ticked = half.tick(now)
            for name in (*(name for name, _ in ticked.loading), *ticked.ready):
                moved += 1
                heapq.heappush(moving, (now + steps[name] * NS, moved, name))
            finished += [(name, end_ns // NS - 1) for name, end_ns in ticked.ended]
        if half.outcome.stuck:
            break
    return {
        "steps": seen.lines,
        "rejected": [],
        "finished": sorted(map(list, finished)),
        "stuck": half.why_stuck,
    }
