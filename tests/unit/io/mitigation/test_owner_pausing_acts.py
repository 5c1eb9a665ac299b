"""Pausing an owner and handing home back to it are acts of the plan: recorded before, undone on the
way back, gone on with after a kill.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from dev.cluster.chaos import Kind
from tests.support.owned_workload import Owned, once
from tests.support.remedy_runs import ACCESS, Mortal, Scene, on_a_little_kubernetes

from barostat.judge.mitigation.paused_mark import paused_by, planned
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.record import from_json, to_json
from barostat.remedy.state import State


def owned_plan(found: Scene, owned: Owned) -> RemedyPlan:
    """The plan that lowers --max-num-seqs, and pauses both owners for it."""
    return replace(found.plan(), owners=tuple(map(planned, owned.switches())))


def test_who_would_take_the_change_back_stays_paused_and_who_only_scales_has_it_again() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        ended = await found.run(State(owned_plan(found, owned)))
        assert ended is not None
        assert ended.phase == "Done"
        assert owned.chat["spec"]["syncPolicy"] == {}
        assert owned.hpa["spec"] == {
            "scaleTargetRef": owned.hpa["spec"]["scaleTargetRef"],
            "minReplicas": 2,
            "maxReplicas": 4,
        }
        assert [(entry["kind"], entry["incident"]) for entry in owned.mark] == [
            ("Application", "i1")
        ]
        told = [line for line in found.told if "Owner" in line]
        assert told[0].startswith("PauseOwner: application/chat in x: paused")
        assert told[-1] == "ResumeOwner: horizontalpodautoscaler/h in x"

    on_a_little_kubernetes(go)


def test_what_is_taken_back_leaves_the_owners_as_they_were() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        plan = owned_plan(found, owned)
        never_as_loaded = (("preemptions_per_s", 0.0), ("running_requests", 1e6))
        ended = await found.run(
            State(
                replace(plan, baseline=never_as_loaded, bounds=replace(plan.bounds, verify_s=120.0))
            )
        )
        assert ended is not None
        assert ended.phase == "RolledBack"
        assert owned.is_as_before
        assert owned.mark == []
        assert await found.left() == []

    on_a_little_kubernetes(go)


def test_one_that_cannot_be_paused_is_a_refusal_and_the_others_have_it_again() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        plan = owned_plan(found, owned)
        gone = replace(plan.owners[1], name="gone")
        ended = await found.run(State(replace(plan, owners=(plan.owners[0], gone))))
        assert ended is not None
        assert (ended.phase, ended.undo) == ("Refused", ())
        assert "cannot patch horizontalpod" in ended.why
        assert owned.is_as_before
        assert owned.mark == []

    on_a_little_kubernetes(go)


@pytest.mark.parametrize(
    ("dies_at", "late"),
    [
        pytest.param(
            dies_at,
            late,
            marks=() if (dies_at, late) in ((1, True), (3, False)) else pytest.mark.sweep,
        )
        for dies_at in (1, 2, 3, 4)
        for late in (False, True)
    ],
)
def test_killed_while_owners_are_paused_it_goes_on_and_comes_to_the_same_end(
    dies_at: int, late: bool
) -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        assert (
            await found.run(
                State(owned_plan(found, owned)), cluster=Mortal(ACCESS, dies_at, late=late)
            )
            is None
        )
        recorded = await found.recorded()
        assert [type(act).__name__ for act in recorded.undo][:2] == ["ReleaseHome", "ResumeOwner"]
        ended = await found.run(recorded)
        assert ended is not None
        assert ended.phase == "Done"
        assert owned.chat["spec"]["syncPolicy"] == {}
        assert [(entry["kind"], entry["incident"]) for entry in owned.mark] == [
            ("Application", "i1")
        ]

    on_a_little_kubernetes(go)


def test_an_answer_that_is_lost_pauses_nobody_twice() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        owned.api.choose = once("PATCH", "/applications/chat", "reset-after")
        ended = await found.run(State(owned_plan(found, owned)))
        assert ended is not None
        assert ended.phase == "Done"
        assert [entry["resume"]["spec"]["syncPolicy"] for entry in owned.mark] == [
            {"automated": {"selfHeal": True, "prune": True}}
        ]

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("kind", ["error", "error-after", "reset-after"])
def test_a_failure_that_passes_hands_back_nobody_whom_an_earlier_act_has_paused(kind: Kind) -> None:
    """Else the first would have home again while the second is paused anew, and undo the change in
    the middle of it.
    """

    async def go(found: Scene) -> None:
        owned = Owned(found)
        healed: list[str] = []
        fails = once("PATCH", "/horizontalpodautoscalers/h", kind)

        def befalls(method: str, path: str) -> Kind | None:
            if (
                method == "POST"
                and path.endswith("/deployments")
                and owned.chat["spec"]["syncPolicy"]
            ):
                healed.append(path)
            return fails(method, path)

        owned.api.choose = befalls
        ended = await found.run(State(owned_plan(found, owned)))
        assert ended is not None
        assert (ended.phase, healed) == ("Done", [])
        assert (owned.chat["spec"]["syncPolicy"], [entry["kind"] for entry in owned.mark]) == (
            {},
            ["Application"],
        )

    on_a_little_kubernetes(go)


def test_a_rollback_plans_with_those_whom_its_incident_left_paused() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        await owned.pause("i0")
        plan = replace(
            found.plan(),
            lever="rollback",
            because="takes incident i0 back",
            owners=paused_by(owned.home, "i0"),
        )
        ended = await found.run(State(plan))
        assert ended is not None
        assert ended.phase == "Done"
        assert owned.is_as_before
        assert not any(line.startswith("PauseOwner") for line in found.told)

    on_a_little_kubernetes(go)


def test_a_record_keeps_the_owners_and_one_of_an_earlier_version_has_none() -> None:
    async def go(found: Scene) -> None:
        plan = owned_plan(found, Owned(found))
        assert from_json(to_json(State(plan))).plan == plan
        older = to_json(State(found.plan()))
        assert "owners" not in older
        assert from_json(older).plan.owners == ()

    on_a_little_kubernetes(go)
