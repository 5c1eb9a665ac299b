"""A plan as a person reads it before it is carried out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.planning_scenes import planned, ranked_once, scene

from barostat.core.change import Expect
from barostat.core.diagnosis import ReplicaReport
from barostat.core.limits import RemedyLimits
from barostat.judge.mitigation import planning
from barostat.judge.mitigation.facts import facts
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.precheck import refusals
from barostat.shells.reports.incident.plan_document import plan_document
from barostat.shells.reports.sheet.forms import as_text


def shown(found: RemedyPlan, replica: ReplicaReport) -> str:
    return as_text(plan_document(found, replica), 1000)


def part(text: str, title: str) -> list[str]:
    """The lines beside this title."""
    lines = text.splitlines()
    (first,) = [number for number, line in enumerate(lines) if line.startswith(title)]
    after = [number for number in range(first + 1, len(lines)) if lines[number][:1] != " "]
    return [line[14:] for line in lines[first : min(after, default=None)]]


def test_a_latency_that_cannot_be_judged_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)
    found = planned(scene(), lever="max-model-len=2048")
    faster = Expect("itl_mean_s", "falls", 0.1)
    expectation = found.plan.expectation
    expectation = replace(expectation, expects=(*expectation.expects, faster))
    found = replace(found, plan=replace(found.plan, expectation=expectation))
    (proof,) = part(shown(found.plan, found.replica), "Proof")
    assert "itl_mean_s falls by 10%" in proof
    bare = replace(
        found.plan,
        baseline=tuple(entry for entry in found.plan.baseline if not entry[0].startswith("itl_")),
    )
    (proof,) = part(shown(bare, found.replica), "Proof")
    assert proof.endswith(
        "under the current load; by itl_mean_s only if that is measured after the change: "
        "it was not before"
    )
    assert "falls by" not in proof


def test_a_plan_shows_today_and_the_price_of_every_candidate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)
    found = planned(scene())
    today, *priced = part(shown(found.plan, found.replica), "On the twin")
    assert "tokens/s" in today
    tried = [step for step in found.replica.next if step.forecast is not None]
    assert len(priced) == len(tried) > 1
    assert all("; price: " in line for line in priced)
    assert [" (chosen): " in line for line in priced].count(True) == 1
    assert any("price: an engine start" in line for line in priced)
    assert not any("a restart" in line for line in priced)
    in_place = replace(found.plan, strategy="in-place")
    _, *priced = part(shown(in_place, found.replica), "On the twin")
    assert any("price: a restart" in line for line in priced)


def test_the_classic_steps_are_named_with_why_they_are_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)
    seen = scene()
    found = planned(seen)
    refused = part(shown(found.plan, found.replica), "Not taken")
    assert any("gpu-memory-utilization-down: this shrinks the KV pool" in line for line in refused)
    assert any("swap-space: --swap-space does not exist" in line for line in refused)
    asked = planned(seen, lever="gpu-memory-utilization=0.7")
    (against,) = refusals(facts(seen, asked.plan, (), RemedyLimits()), asked.plan)
    assert "this shrinks the KV pool" in against


def test_a_plan_says_whether_the_former_version_stays_warm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)
    found = planned(scene(), lever="max-model-len=2048")
    kept = replace(found.plan, keep_previous_s=1800.0, drops=("i0-previous",))
    how = part(shown(kept, found.replica), "How")
    assert any("stays warm for 30 min, out of rotation, if its GPU" in line for line in how), how
    assert any("for its GPU: i0-previous" in line for line in how)
    not_kept = replace(found.plan, not_kept="no replica is replaced")
    how = part(shown(not_kept, found.replica), "How")
    assert any("keeps no replica of the former version warm: no replica" in line for line in how)
    assert not any(
        "former version" in line for line in part(shown(found.plan, found.replica), "How")
    )
