"""Several engines behind a gate: nothing is lost, the forecast keeps preemptions down, and the same
run gives the same result.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from barostat.admit.rules import Rules, TenantRule
from barostat.core.verdict import Absent, Present, Unknown
from barostat.judge.experiments.admission import run_gated, summed_up
from barostat.judge.experiments.gated import Fleet, GatedRun, Traffic
from barostat.judge.experiments.gates import GATES, GateName
from barostat.twin.linear_pace import LinearPace
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo

SLO = Slo(2.0, 0.05)
RULES = Rules(ttft_s=2.0, queue_deadline_s=1.6)
FLEET = Fleet(
    2, Settings(kv_blocks=801, max_model_len=4096, max_num_seqs=256, max_num_batched_tokens=2048, prefix_caching=False),
    LinearPace(0.01, 1e-5, 5e-5, 2e-8),
)  # fmt: skip


def traffic(per_s: float, count: int = 1500) -> Traffic:
    dice = random.Random(11)
    at, made = 0.0, []
    for number in range(count):
        at += dice.expovariate(per_s)
        made.append(
            Row(
                str(number), at, dice.randint(50, 350), min(600, 1 + int(dice.expovariate(1 / 120)))
            )
        )
    return Traffic(made, 600)


@pytest.mark.parametrize("gate", GATES)
def test_every_request_ends_once(gate: GateName) -> None:
    coming = traffic(80.0, 600)
    run = GatedRun(FLEET, RULES, coming, gate)
    outcome = run.run()
    refused = [one.request_id for one in outcome.refused]
    assert sorted([*outcome.lives, *refused]) == sorted(row.request_id for row in coming.rows)
    assert all(life.finished_ns is not None for life in outcome.lives.values())
    assert not run.ledger.reservations
    assert run.ledger.queued == 0


def test_below_capacity_nothing_is_refused() -> None:
    summary = run_gated(FLEET, RULES, traffic(25.0, 1000), SLO)
    assert summary.refused == {}
    assert summary.good == summary.requests == summary.finished


@pytest.mark.sweep
def test_above_capacity_the_forecast_is_near_the_oracle_and_better_than_a_static_limit() -> None:
    coming = traffic(120.0, 4000)
    ours = run_gated(FLEET, RULES, coming, SLO)
    oracle = run_gated(FLEET, RULES, coming, SLO, "oracle")
    worst = run_gated(FLEET, RULES, coming, SLO, "worst-case")
    assert ours.good_per_s > 0.85 * oracle.good_per_s
    assert ours.good_per_s > worst.good_per_s
    assert ours.preempted_ratio < 0.02
    crowded = run_gated(FLEET, replace(RULES, max_running=90), coming, SLO, "concurrency")
    assert crowded.preempted_ratio > ours.preempted_ratio


@pytest.mark.parametrize("limit", [150, 600])
def test_answers_that_all_run_to_their_limit_are_foreseen_between_two_horizons(limit: int) -> None:
    dice = random.Random(3)
    fleet = Fleet(2, Settings(kv_blocks=513, max_model_len=4096), LinearPace(0.02, 2e-5, 3e-4, 0.0))
    at, made = 0.0, []
    for number in range(600):
        at += dice.expovariate(3600 / limit)  # half as many again as both can take
        made.append(Row(str(number), at, dice.randint(20, 45), limit))
    outcome = GatedRun(fleet, RULES, Traffic(made, limit)).run()
    assert len(outcome.lives) > 200
    assert outcome.preemptions <= 0.01 * len(outcome.lives)


def test_the_same_run_is_the_same() -> None:
    one, other = (run_gated(FLEET, RULES, traffic(60.0, 500), SLO) for _ in range(2))
    assert one == other


def test_the_verdict_is_of_the_preempted() -> None:
    few = run_gated(FLEET, RULES, traffic(25.0, 30), SLO)
    calm = run_gated(FLEET, RULES, traffic(25.0, 500), SLO)
    assert isinstance(few.harm, Unknown)
    assert isinstance(calm.harm, Absent)
    outcome = GatedRun(
        FLEET, Rules(queue_deadline_s=60.0, max_running=256), traffic(120.0, 1000), "concurrency"
    ).run()
    assert isinstance(summed_up(outcome, RULES, SLO, "concurrency").harm, Present)


def test_shared_prefixes_are_sent_where_they_are() -> None:
    dice = random.Random(5)
    settings = Settings(
        kv_blocks=1201,
        max_model_len=4096,
        max_num_seqs=256,
        max_num_batched_tokens=2048,
        prefix_caching=True,
    )
    made = []
    for number in range(400):
        group = dice.randrange(8)
        ids = (0, *(100 * group + place for place in range(1, 60)), 10_000 + number)
        made.append(Row(str(number), number * 0.02, 61 * 16, 40, hash_ids=ids, id_tokens=16))
    run = GatedRun(Fleet(2, settings, FLEET.pace), RULES, Traffic(made, 60), "forecast")
    outcome = run.run()
    cached = sum(life.cached_tokens for life in outcome.lives.values()) / sum(
        life.input_tokens for life in outcome.lives.values()
    )
    assert len(outcome.lives) == 400
    assert cached > 0.8


@pytest.mark.sweep
def test_a_tenant_that_floods_takes_nothing_from_the_others() -> None:
    named = {name: TenantRule(name, 1 / 3) for name in "abc"}
    rules = Rules(ttft_s=2.0, queue_deadline_s=1.6, tenants=named, tenants_closed=True)
    calm = {"b": traffic(9.0, 300).rows, "c": traffic(9.0, 300).rows}
    rows = [
        row._replace(request_id=f"{name}{row.request_id}")
        for name, part in calm.items()
        for row in part
    ]
    rows += [row._replace(request_id=f"a{row.request_id}") for row in traffic(90.0, 3000).rows]
    outcome = GatedRun(
        FLEET, rules, Traffic(rows, 600, {row.request_id: row.request_id[0] for row in rows})
    ).run()
    good = dict.fromkeys("abc", 0)
    for name, life in outcome.lives.items():
        good[name[0]] += (
            life.first_token_ns is not None
            and life.first_token_ns / 1e9 - outcome.arrived_s[name] <= 2.0
        )
    assert good["b"] >= 0.95 * 300  # what it has alone: all of them
    assert good["c"] >= 0.95 * 300
    assert any(one.reason == "tenant-over-share" for one in outcome.refused)
