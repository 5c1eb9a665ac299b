"""The pre-checks: each one refuses on its own fact, and a fact that was not read never allows
anything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.support.remedy_dialogue import GOOD, a_plan

from barostat.core.change import ConfigChange
from barostat.core.verdict import Absent, Present, Unknown
from barostat.remedy.plan import ROLLBACK
from barostat.remedy.precheck import CHECKS, Facts, judged, refusals

PLAN = a_plan()


def test_all_of_them_hold_where_everything_is_in_order() -> None:
    assert refusals(GOOD, PLAN) == ()
    assert all(isinstance(verdict, Present) for _, verdict in judged(GOOD, PLAN))


@pytest.mark.parametrize(
    ("check", "fact", "value", "says"),
    [
        ("evidence-fresh", "evidence_at", -200.0, "300 s old, at most 120 s"),
        ("evidence-fresh", "evidence_at", 160.0, "-60 s old"),
        ("cause-confirmed", "cause", "healthy-busy", "it is healthy-busy now"),
        ("lever-fits", "lever_fits", False, "is not for kv-preemption-thrash"),
        ("nodes-healthy", "bad_nodes", ("gpu-1: Xid 79",), "gpu-1: Xid 79"),
        ("no-recent-deploy", "rollout_age_s", 600.0, "10 min ago"),
        ("home-as-planned", "template", "another", "somebody changed it"),
        ("home-as-planned", "replicas", 4, "somebody changed it"),
        ("rollout-complete", "rollout_complete", False, "under way or paused"),
        ("serving-as-planned", "serving", 0, "1 did when it was planned"),
        ("spare-schedulable", "spare_schedulable", False, "no node takes a spare"),
        ("quota", "quota_left", 0, "room for 0 more"),
        ("no-autoscaler", "autoscaler", "HPA vllm", "HPA vllm would set the replicas back"),
        ("no-owner", "owner", "Argo CD application llm", "Argo CD application llm would revert"),
        ("separable", "separable", False, "cannot be taken out"),
        (
            "no-other-change",
            "claim",
            "i0#1#x",
            "another change is in flight: incident i0, run by x",
        ),
        ("budget-left", "changes_last_hour", 2, "changesPerHour of the limits allows 2"),
        ("rights", "missing_rights", ("patch pods",), "patch pods"),
    ],
)
def test_each_refuses_on_its_own(check: str, fact: str, value: Any, says: str) -> None:
    against = refusals(replace(GOOD, **{fact: value}), PLAN)
    assert [
        sentence for sentence in against if sentence.startswith(f"{check}: ") and says in sentence
    ], against


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_what_was_not_read_is_unknown_with_the_reason(check: Any) -> None:
    name = check.needs[0]
    facts = replace(GOOD, unread=((name, "forbidden: list pods"),), **{name: None})  # type: ignore[arg-type]
    plan = a_plan("edge-live") if check.live else PLAN
    verdict = {found.name: verdict for found, verdict in judged(facts, plan)}[check.name]
    assert verdict == Unknown("forbidden: list pods", (name,))
    assert refusals(facts, plan)


def test_nothing_read_at_all_refuses_by_every_check() -> None:
    assert len(refusals(Facts(at=0.0), PLAN)) == sum(not check.live for check in CHECKS)
    assert len(refusals(Facts(at=0.0), a_plan("edge-live"))) == sum(check.edge for check in CHECKS)


def test_one_replica_is_told_as_one() -> None:
    says = {
        check.name: verdict for check, verdict in judged(replace(GOOD, replicas=1, serving=1), PLAN)
    }["serving-as-planned"]
    assert says == Present("1 replica serves", ())


def test_our_own_claim_is_no_other_change_and_a_name_that_only_begins_alike_is() -> None:
    assert refusals(replace(GOOD, claim="i1#3#a"), PLAN) == ()
    assert refusals(replace(GOOD, claim="i11#3#a"), PLAN)


def test_an_owner_that_rolls_all_replicas_before_the_proof_takes_a_person() -> None:
    both = replace(GOOD, replicas=2, serving=2)
    alone = replace(PLAN, rolls="owner", strategy="rolling", floor=0, replicas=2, serving=2)
    assert any("before the load proves it" in why for why in refusals(both, alone))
    assert refusals(both, replace(alone, autonomy="recommend")) == ()
    live = replace(alone, rolls="canary", strategy="canary", canary="live")
    assert refusals(both, live) == ()
    one = replace(alone, replicas=1, serving=1)
    assert any("the one replica gets it" in why for why in refusals(GOOD, one))


def test_undoing_the_rollout_is_not_stopped_by_the_rollout() -> None:
    undo = replace(PLAN, change=ConfigChange("revision", "template", "7", "6"))
    assert refusals(replace(GOOD, rollout_age_s=600.0), undo) == ()


def test_to_take_a_change_back_is_always_in_the_budget() -> None:
    spent = replace(GOOD, changes_last_hour=2)
    assert refusals(spent, PLAN)
    assert refusals(spent, replace(PLAN, lever=ROLLBACK)) == ()


def test_a_stuck_rollout_is_undone_while_it_is_stuck_and_needs_no_labels() -> None:
    plan = a_plan("stuck-rollout")
    stuck = replace(
        GOOD,
        rollout_complete=False,
        rollout_age_s=60.0,
        separable=False,
        spare_schedulable=False,
        quota_left=0,
    )
    assert refusals(stuck, plan) == ()
    assert refusals(replace(stuck, rollout_stuck=False), plan) == (
        "rollout-complete: the rollout is not stuck",
    )
    assert refusals(replace(stuck, rollout_stuck=None), plan)


def test_a_disruption_budget_forbids_fewer_than_it_asks_for_or_than_serve_already() -> None:
    in_place = a_plan("in-place")
    two = replace(in_place, replicas=2, serving=2)
    good = replace(GOOD, replicas=2, serving=2)
    assert any(
        "asks for 2, 1 would serve" in told
        for told in refusals(replace(good, disruption_minimum=2), two)
    )
    assert any(
        "asks for 2, 1 would serve" in told
        for told in refusals(replace(good, disruption_minimum=3), two)
    )
    assert refusals(replace(GOOD, disruption_minimum=2), PLAN) == ()
    down = replace(in_place, serving=0)
    assert refusals(replace(GOOD, serving=0, disruption_minimum=1), down) == ()


def test_in_place_needs_no_spare_and_the_edge_needs_no_replica() -> None:
    no_gpu = replace(GOOD, spare_schedulable=False, quota_left=0)
    assert refusals(no_gpu, a_plan("in-place")) == ()
    assert refusals(replace(no_gpu, owner="Helm", autoscaler="HPA"), a_plan("edge-only")) == ()


def test_the_floor_counts_what_serves() -> None:
    plan = replace(a_plan("in-place", replicas=3), floor=2)
    facts = replace(GOOD, replicas=3, serving=3)
    assert refusals(facts, plan) == ()
    assert any(
        sentence.startswith("floor") for sentence in refusals(replace(facts, serving=1), plan)
    )


def test_a_check_that_crashes_is_its_own_unknown() -> None:
    verdicts = judged(replace(GOOD, evidence_at="yesterday"), PLAN)  # type: ignore[arg-type]
    first = verdicts[0][1]
    assert isinstance(first, Unknown)
    assert first.crashed
    assert not any(isinstance(verdict, Unknown | Absent) for _, verdict in verdicts[1:])


def test_an_engine_without_gpus_needs_room_and_quota_as_well() -> None:
    without = replace(PLAN, gpus=0)
    assert without.units_needed == 1
    (quota,) = refusals(replace(GOOD, quota_left=0), without)
    assert quota.startswith("quota: the quota leaves room for 0 more")
    (place,) = refusals(replace(GOOD, spare_schedulable=False, spare_because="full"), without)
    assert place == "spare-schedulable: no node takes a spare replica: full"
