"""Workloads of small pools and many settings, and the question whether both forms of the twin come
to the same with them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from barostat.twin.event_skipping.run import EventSkippingRun
from barostat.twin.event_skipping.state import EventSkippingState
from barostat.twin.outcome import Outcome
from barostat.twin.pace import EverySteps, Pace
from barostat.twin.request import Row
from barostat.twin.scheduler.run import Steps
from barostat.twin.settings import Behaviour, KvGroup, Policy, Settings


@dataclass(frozen=True)
class ByLoad:
    """A pace that depends on everything that a pace may depend on."""

    empty_ns: int = 0

    def step_ns(self, prefill_tokens: int, decodes: int, kv_tokens: int, pairs: int = 0) -> int:
        """Longer for more of each."""
        return 1_000_000 + prefill_tokens * 7_000 + decodes * 20_000 + kv_tokens * 31 + pairs * 3

    def start_ns(self, arrival_ns: int) -> int:
        """At once."""
        return arrival_ns


PACES: tuple[tuple[Pace, float], ...] = (
    (EverySteps(10**9), 1.0),
    (EverySteps(3), 1e-9),
    (ByLoad(), 0.004),
)
"""Each with what the times of a workload, in steps, are multiplied by."""
_OLDER = Behaviour(lone_request_unthrottled=False, unhashed_reused_first=False)


def workload(seed: int) -> tuple[Settings, list[Row]]:
    """Small pools, many settings: queues, preemptions, starved decodes, rejections."""
    dice = random.Random(seed)
    longest = dice.choice((40, 64, 160, 300))
    slots = dice.choice((1, 2, 3, 4, 8, 16, 32))
    chunked = dice.random() < 0.85
    size = dice.choice((1, 4, 16))
    policies: tuple[Policy, ...] = ("fcfs", "fcfs", "priority")
    policy = dice.choice(policies)
    settings = Settings(
        kv_blocks=dice.randint(-(-longest // size), 4 * -(-longest // size) + 8) + 1,
        groups=(KvGroup(size),),
        max_model_len=longest,
        max_num_seqs=slots,
        max_num_batched_tokens=max(slots, dice.choice((8, 16, 32, 64, 256))) if chunked else longest + slots,
        max_num_active_seqs=dice.choice((None, None, max(1, slots // 2))),
        long_prefill_token_threshold=dice.choice((0, 0, 8, 24)),
        watermark_ratio=dice.choice((0.0, 0.0, 0.05, 0.1)),
        policy=policy,
        prefix_caching=policy == "fcfs" and dice.random() < 0.6,
        chunked_prefill=chunked,
        async_scheduling=dice.random() < 0.5,
        reserve_full_isl=dice.random() < 0.6,
        max_queued_requests=dice.choice((None, None, slots + 3)),
        max_queued_tokens=dice.choice((None, None, 200)),
        behaviour=dice.choice((Behaviour(), Behaviour(), Behaviour(self_preempted_skips_on=True), _OLDER)),
    )  # fmt: skip
    at, rows = 0, []
    for index in range(dice.randint(3, 40)):
        at += dice.choice((0, 0, 1, 4, 30))
        total = dice.randint(2, longest)
        prompt = dice.randint(1, total - 1)
        rows.append(
            Row(
                str(index),
                float(at),
                prompt,
                dice.randint(1, total - prompt),
                dice.choice((0, 0, 1, 2)),
            )
        )
    return settings, rows


def in_closed_loop(rows: list[Row], seed: int) -> list[Row]:
    """The rows, most of which wait for another one to end: clients with pauses or none, chains that
    fork, some that come too late.
    """
    dice = random.Random(seed)
    clients = dice.choice((1, 2, 5, 12))
    changed = list(rows[:clients])
    for place, row in enumerate(rows[clients:], clients):
        before = str(place - clients) if dice.random() < 0.8 else str(dice.randrange(place))
        if dice.random() < 0.9:
            row = row._replace(
                arrival_s=float(dice.choice((0, 0, 0, 1, 7))),
                after_id=before,
                latest_s=dice.choice((200.0, float("inf"), float("inf"))),
            )
        changed.append(row)
    return changed


def same(
    seed: int, settings: Settings, rows: list[Row], state: EventSkippingState | None = None
) -> Outcome:
    """What both forms come to, at one of the paces: seed by seed another one."""
    pace, scale = PACES[seed % len(PACES)]
    scaled = [
        row._replace(arrival_s=row.arrival_s * scale, latest_s=row.latest_s * scale) for row in rows
    ]
    step_by_step, leaping = (
        Steps(settings, scaled, pace).run(),
        EventSkippingRun(settings, scaled, pace, state).run(),
    )
    for part in step_by_step.__slots__:
        assert getattr(leaping, part) == getattr(step_by_step, part), (
            f"seed {seed}, {pace}, {part}: {settings}"
        )
    return step_by_step
