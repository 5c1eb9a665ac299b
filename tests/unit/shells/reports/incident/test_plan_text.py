"""A plan as a person reads it before it is carried out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.planning_scenes import planned, ranked_once, scene

from barostat.core.change import Expect
from barostat.core.limits import RemedyLimits
from barostat.judge.mitigation import planning
from barostat.judge.mitigation.facts import facts
from barostat.remedy.precheck import refusals
from barostat.shells.reports.incident.plan_text import plan_text


def test_a_latency_that_cannot_be_judged_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)
    found = planned(scene(), lever="max-model-len=2048")
    faster = Expect("itl_mean_s", "falls", 0.1)
    expectation = found.plan.expectation
    expectation = replace(expectation, expects=(*expectation.expects, faster))
    found = replace(found, plan=replace(found.plan, expectation=expectation))
    proof = next(
        line
        for line in plan_text(found.plan, found.replica).splitlines()
        if line.startswith("  proof")
    )
    assert "itl_mean_s falls by 10%" in proof
    bare = replace(
        found.plan,
        baseline=tuple(entry for entry in found.plan.baseline if not entry[0].startswith("itl_")),
    )
    proof = next(
        line for line in plan_text(bare, found.replica).splitlines() if line.startswith("  proof")
    )
    assert proof.endswith(
        "under the load of now; by itl_mean_s only if that is measured after the change: "
        "it was not before"
    )
    assert "falls by" not in proof


def test_a_plan_shows_today_and_the_price_of_every_candidate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)
    found = planned(scene())
    lines = plan_text(found.plan, found.replica).splitlines()
    (today,) = [line for line in lines if line.startswith("  today ")]
    assert "tokens/s" in today
    priced = [line for line in lines if "; price: " in line and not line.startswith("  because")]
    tried = [step for step in found.replica.next if step.forecast is not None]
    assert len(priced) == len(tried) > 1
    assert [line.startswith("  chosen") for line in priced].count(True) == 1


def test_the_classic_steps_are_named_with_why_they_are_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)
    seen = scene()
    found = planned(seen)
    lines = plan_text(found.plan, found.replica).splitlines()
    refused = [line for line in lines if line.startswith("  not ")]
    assert any("gpu-memory-utilization-down: this shrinks the KV pool" in line for line in refused)
    assert any("swap-space: --swap-space does not exist" in line for line in refused)
    asked = planned(seen, lever="gpu-memory-utilization=0.7")
    (against,) = refusals(facts(seen, asked.plan, (), RemedyLimits()), asked.plan)
    assert "this shrinks the KV pool" in against
