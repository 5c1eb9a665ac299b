"""The fast form and the step-by-step form come to the same outcome, to the nanosecond and the block."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from barostat.twin.leap import Leaps
from barostat.twin.pace import EverySteps, Pace
from barostat.twin.request import Row
from barostat.twin.run import Steps
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
        rows.append(Row(str(index), float(at), prompt, dice.randint(1, total - prompt), dice.choice((0, 0, 1, 2))))
    return settings, rows


def in_closed_loop(rows: list[Row], seed: int) -> list[Row]:
    """The rows, most of which wait for another one to end: clients with pauses or none, chains that fork, some that come too late."""
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


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_both_forms_come_to_the_same_in_closed_loop(first: int) -> None:
    preempted = rejected = finished = 0
    for seed in range(first, first + 40):
        settings, rows = workload(seed)
        rows = in_closed_loop(rows, seed)
        paces: tuple[tuple[Pace, float], ...] = ((EverySteps(10**9), 1.0), (ByLoad(), 0.004))
        for pace, scale in paces:
            scaled = [row._replace(arrival_s=row.arrival_s * scale, latest_s=row.latest_s * scale) for row in rows]
            step_by_step, leaping = Steps(settings, scaled, pace).run(), Leaps(settings, scaled, pace).run()
            for part in step_by_step.__slots__:
                assert getattr(leaping, part) == getattr(step_by_step, part), f"seed {seed}, {pace}, {part}: {settings}"
            preempted += step_by_step.preemptions
            rejected += len(step_by_step.rejections)
            finished += sum(life.finished_ns is not None for life in step_by_step.lives)
    assert preempted
    assert rejected
    assert finished > 500


@pytest.mark.parametrize("first", range(0, 400, 40))
def test_both_forms_come_to_the_same(first: int) -> None:
    preempted = rejected = 0
    for seed in range(first, first + 40):
        settings, rows = workload(seed)
        paces: tuple[tuple[Pace, float], ...] = ((EverySteps(10**9), 1.0), (EverySteps(3), 1e-9), (ByLoad(), 0.004))
        for pace, scale in paces:
            scaled = [row._replace(arrival_s=row.arrival_s * scale) for row in rows]
            step_by_step, leaping = Steps(settings, scaled, pace).run(), Leaps(settings, scaled, pace).run()
            for part in step_by_step.__slots__:
                assert getattr(leaping, part) == getattr(step_by_step, part), f"seed {seed}, {pace}, {part}: {settings}"
            preempted += step_by_step.preemptions
            rejected += len(step_by_step.rejections)
    assert preempted
    assert rejected


def test_a_request_that_fits_nowhere_ends_both_forms() -> None:
    settings = Settings(kv_blocks=5, max_num_seqs=4, reserve_full_isl=False, max_model_len=200)
    rows = [Row("a", 0.0, 40, 100), Row("b", 1.0, 10, 5)]
    outcomes = [form(settings, rows, EverySteps(10**9)).run() for form in (Steps, Leaps)]
    assert outcomes[0] == outcomes[1]
    assert "preempts itself" in outcomes[0].stuck
    whole = replace(settings, reserve_full_isl=True)
    waiting = [form(whole, [Row("a", 0.0, 90, 10)], EverySteps(10**9)).run() for form in (Steps, Leaps)]
    assert waiting[0] == waiting[1]
    assert "fits in no empty pool" in waiting[0].stuck


def test_an_hour_of_decoding_costs_no_more_than_its_steps() -> None:
    rows = [Row(str(index), 0.0, 100, 1000) for index in range(200)]
    outcome = Leaps(Settings(kv_blocks=20_000, max_num_seqs=200), rows, EverySteps(10**7)).run()
    assert outcome.steps < 1_100
    assert outcome.request_steps >= 200 * 1000
    assert all(life.finished_ns for life in outcome.lives)
