"""Owners that were paused get their workload back as it was before the first pause, each by the
incident that paused it.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from dev.cluster import chaos
from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.owned_workload import AUTOMATED, TRACKED, Owned, once
from tests.support.remedy_dialogue import a_plan
from tests.support.remedy_runs import Scene, marks, on_a_little_kubernetes

from barostat.core.change import ConfigChange
from barostat.core.errors import InputError, OutsideError
from barostat.io.mitigation.owner_pausing import noted_by, still_paused
from barostat.platform.owner import owners
from barostat.remedy.annotations import CLAIM, PAUSED
from barostat.remedy.plan import ROLLBACK, taking_back
from barostat.remedy.state import State
from barostat.shells.cli.mitigate.common_arguments import how_it_ended
from barostat.shells.cli.mitigate.incident import go_on

PLAN = a_plan()
GIT_OPS = still_paused(State(PLAN, "Done", revision=9))
SCALING = still_paused(
    State(replace(PLAN, change=ConfigChange("replicas", "replicas", "1", "2")), "Done", revision=9)
)


def test_everyone_is_paused_noted_with_the_incident_and_handed_back() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        told = await owned.pause("i1")
        assert [line.split(":")[0] for line in told] == [
            "paused application/chat in x",
            "paused horizontalpodautoscaler/h in x",
        ]
        assert owned.switches() == []
        assert [(entry["kind"], entry["incident"]) for entry in owned.mark] == [
            ("Application", "i1"),
            ("HorizontalPodAutoscaler", "i1"),
        ]
        assert await owned.back("i1") == [
            "Application chat has it again",
            "HorizontalPodAutoscaler h has it again",
        ]
        assert owned.is_as_before
        assert PAUSED not in marks(owned.home)
        assert await owned.back("i1") == []

    on_a_little_kubernetes(go)


def test_a_second_incident_leaves_the_marks_of_the_first() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        await owned.pause("i1")
        assert await owned.back("i1", keep=GIT_OPS) == [
            "Application chat stays paused",
            "HorizontalPodAutoscaler h has it again",
        ]
        await owned.pause("i2")
        assert {entry["kind"]: entry["incident"] for entry in owned.mark} == {
            "Application": "i1",
            "HorizontalPodAutoscaler": "i2",
        }
        told = await owned.back("i2", keep=GIT_OPS)
        assert told[0] == (
            "Application chat stays paused: incident i1 paused it; back: barostat incident "
            "resume i1 -n x"
        )
        assert told[1] == "HorizontalPodAutoscaler h has it again"
        await owned.back("i2")
        assert owned.chat["spec"]["syncPolicy"] == {}
        await owned.back("i1")
        assert owned.is_as_before
        assert PAUSED not in marks(owned.home)

    on_a_little_kubernetes(go)


def test_what_gives_it_back_is_what_was_there_before_the_first_pause() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        await owned.pause("i1")
        await owned.back("i1", keep=SCALING)
        owned.home["spec"]["replicas"] = (
            4  # it was scaled out to the bound that the pause left: that holds it no more
        )
        (again,) = [
            switch for switch in owned.switches() if switch.kind == "HorizontalPodAutoscaler"
        ]
        assert again.resume["spec"]["behavior"] is not None
        assert await owned.pause("i2", again) == [
            "paused horizontalpodautoscaler/h in x: it scales neither up nor down"
        ]
        assert owned.hpa["spec"]["maxReplicas"] == 5
        assert [entry["incident"] for entry in owned.mark] == ["i1"]
        await owned.back("i2", "i1")
        assert owned.is_as_before

    on_a_little_kubernetes(go)


def test_nobody_is_paused_twice() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        switches = owned.switches()
        await owned.pause("i1", *switches)
        owned.api.writes.clear()
        assert await owned.pause("i2", *switches) == [
            "application/chat in x is paused already, by an earlier incident",
            "horizontalpodautoscaler/h in x is paused already, by an earlier incident",
        ]
        assert owned.api.writes == []
        assert {entry["incident"] for entry in owned.mark} == {"i1"}

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("again", [AUTOMATED, {"prune": True}])
def test_a_note_of_who_is_not_paused_any_more_is_the_next_incidents(again: dict[str, bool]) -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        (chat, _) = owned.switches()
        await owned.pause("i1", chat)
        owned.chat["spec"]["syncPolicy"] = {"automated": dict(again)}  # a person took it up again
        await owned.pause(
            "i2", *(switch for switch in owned.switches() if switch.kind == "Application")
        )
        assert owned.chat["spec"]["syncPolicy"] == {}
        assert [entry["incident"] for entry in owned.mark] == ["i2"]
        await owned.back("i2")
        assert owned.chat["spec"]["syncPolicy"] == {"automated": again}

    on_a_little_kubernetes(go)


def test_notes_without_an_incident_are_an_earlier_ones() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        (chat, hpa) = owned.switches()
        await owned.pause("i1", chat)
        owned.marked(
            json.dumps(
                [
                    {key: value for key, value in entry.items() if key != "incident"}
                    for entry in owned.mark
                ]
            )
        )
        await owned.pause("i2", hpa)
        told = await owned.back("i2")
        assert told[0] == (
            "Application chat stays paused: an earlier incident paused it; back: barostat "
            "incident resume ID -n x"
        )
        assert [entry["kind"] for entry in owned.mark] == ["Application"]
        assert await owned.back("i2", "") == ["Application chat has it again"]
        assert owned.is_as_before

    on_a_little_kubernetes(go)


def test_nobody_has_it_again_while_the_change_of_another_incident_is_in_flight() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        await owned.pause("i1")
        owned.home["metadata"]["annotations"][CLAIM] = "i2#1#a"
        assert await owned.back("i1") == [
            (
                f"{who} stays paused: the change of incident i2 is in flight; once it is over: "
                "barostat incident resume i1 -n x"
            )
            for who in ("Application chat", "HorizontalPodAutoscaler h")
        ]
        assert owned.switches() == []
        assert {entry["incident"] for entry in owned.mark} == {"i1"}
        owned.home["metadata"]["annotations"][CLAIM] = "i1#1#a"
        await owned.back("i1")
        assert owned.is_as_before

    on_a_little_kubernetes(go)


@pytest.mark.parametrize(
    "written",
    [
        "[7",
        "7",
        "[" * 5000,
        '{"kind": "Application"}',
        "[7]",
        '[{"kind": "Secret", "namespace": "x", "name": "s", "resume": {}}]',
        '[{"kind": ["Application"], "namespace": "x", "name": "chat", "resume": {}}]',
        (
            '[{"kind": "Application", "namespace": "x", "name": "chat", "resume": {"spec": '
            '{"source": {"repoURL": "https://another"}}}}]'
        ),
        (
            '[{"kind": "HorizontalPodAutoscaler", "namespace": "x", "name": "h", "resume": '
            '{"spec": null}}]'
        ),
    ],
)
def test_a_mark_that_cannot_be_read_is_told_and_kept(written: str) -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        owned.marked(written)
        with pytest.raises(
            InputError,
            match=r"deploy/vllm in x: the annotation barostat\.dev/paused does not say who is paused",
        ):
            await owned.pause("i1")
        (told,) = await owned.back("i1", "")
        assert "by hand" in told
        assert len(told) < 400
        assert owned.api.writes == []
        assert marks(owned.home)[PAUSED] == written
        assert await noted_by(owned.cluster, NAMESPACE, "i1") == []

    on_a_little_kubernetes(go)


def test_what_gives_any_owner_the_workload_back_can_be_read() -> None:
    flux = {
        f"{kind}.toolkit.fluxcd.io/{key}": "apps"
        for kind in ("helm", "kustomize")
        for key in ("name", "namespace")
    }
    metadata: dict[str, Any] = {
        "name": HOME,
        "namespace": NAMESPACE,
        "annotations": TRACKED,
        "labels": flux,
    }
    target = {"scaleTargetRef": {"kind": "Deployment", "name": HOME}, "maxReplicas": 4}
    made = {"name": "chat", "ownerReferences": [{"kind": "ApplicationSet"}]}
    found = owners(
        {"kind": "Deployment", "metadata": metadata, "spec": {"replicas": 2}},
        hpas=[{"metadata": {"name": "h", "namespace": NAMESPACE}, "spec": target}],
        scaled_objects=[{"metadata": {"name": "s", "namespace": NAMESPACE}, "spec": target}],
        applications=[{"metadata": made, "spec": {"syncPolicy": {"automated": AUTOMATED}}}],
    )
    switches = [owner.switch for owner in found if owner.switch]
    assert {switch.kind for switch in switches} == {*GIT_OPS, *SCALING}

    async def go(found: Scene) -> None:
        owned = Owned(found)
        notes = [
            {"kind": one.kind, "namespace": one.namespace, "name": "no-more", "resume": one.resume}
            for one in switches
        ]
        owned.marked(json.dumps(notes))
        assert await owned.back("") == [f"{one.kind} no-more is no more" for one in switches]
        assert PAUSED not in marks(owned.home)

    on_a_little_kubernetes(go)


def test_what_can_be_read_beside_it_is_handed_back() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        await owned.pause("i1")
        odd = {"kind": "Application", "name": "other"}
        owned.marked(json.dumps([odd, *owned.mark]))
        assert len(await owned.back("i1")) == 3
        assert owned.is_as_before
        assert owned.mark == [odd]

    on_a_little_kubernetes(go)


def test_where_one_cannot_be_paused_the_others_are_handed_back_and_nobody_stays_noted() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        gone = replace(owned.switches()[1], name="gone")
        with pytest.raises(
            OutsideError,
            match=r"cannot patch horizontalpod.*; Application chat has it again; .* h has it again$",
        ):
            await owned.pause("i1", *owned.switches(), gone, replace(gone, name="not-tried"))
        assert owned.is_as_before
        assert PAUSED not in marks(owned.home)

    on_a_little_kubernetes(go)


def test_a_pause_whose_answer_was_lost_is_waited_for_and_taken_back() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        owned.api.choose = once("PATCH", "/applications/chat", "reset-after")
        began = time.monotonic()
        with pytest.raises(OutsideError, match="cannot patch applications"):
            await owned.pause("i1")
        assert time.monotonic() - began > 15.0
        assert owned.is_as_before
        assert PAUSED not in marks(owned.home)

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("kind", ["conflict", "reset-after", "reset-before", "error-after"])
def test_a_mark_is_written_whatever_befalls_its_first_write(kind: chaos.Kind) -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        owned.api.choose = once("PATCH", f"/deployments/{HOME}", kind)
        await owned.pause("i1")
        assert [entry["kind"] for entry in owned.mark] == ["Application", "HorizontalPodAutoscaler"]
        owned.api.choose = once("PATCH", f"/deployments/{HOME}", kind)
        await owned.back("i1")
        assert owned.is_as_before
        assert PAUSED not in marks(owned.home)

    on_a_little_kubernetes(go)


def test_two_that_pause_at_once_do_not_lose_each_others_marks() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        (chat, hpa) = owned.switches()

        def meanwhile(method: str, path: str) -> chaos.Kind | None:
            if method == "PATCH" and f"/deployments/{HOME}" in path and not owned.mark:
                other = {
                    "kind": "Kustomization",
                    "namespace": "flux",
                    "name": "apps",
                    "resume": {"spec": {}},
                    "incident": "i0",
                }
                owned.marked(json.dumps([other]))
            return None

        owned.api.choose = meanwhile
        await owned.pause("i1", chat, hpa)
        assert [entry["incident"] for entry in owned.mark] == ["i0", "i1", "i1"]

    on_a_little_kubernetes(go)


def test_an_owner_that_is_no_more_is_noted_no_more() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        await owned.pause("i1")
        del owned.kube.objects["applications", "chat"]
        assert (await owned.back("i1"))[0] == "Application chat is no more"
        assert PAUSED not in marks(owned.home)

    on_a_little_kubernetes(go)


def test_what_fails_to_be_handed_back_stays_noted() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        await owned.pause("i1")
        owned.api.choose = once("PATCH", "/applications/chat", "error")
        assert (await owned.back("i1"))[0].startswith(
            "Application chat is still paused: cannot patch applications.argoproj.io in x"
        )
        assert [entry["kind"] for entry in owned.mark] == ["Application"]
        assert await noted_by(owned.cluster, NAMESPACE, "i1") == [owned.target]
        await owned.back("i1")
        assert owned.is_as_before

    on_a_little_kubernetes(go)


def test_a_rollback_that_is_done_hands_back_whom_its_incident_paused() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        await owned.pause("i1")
        rollback = found.plan(id="i2", lever=ROLLBACK, because=taking_back("i1"))
        await owned.campaign.owners_back(State(rollback, "RolledBack", revision=9))
        assert len(owned.mark) == 2
        await owned.campaign.owners_back(State(rollback, "Done", revision=9))
        assert owned.is_as_before

    on_a_little_kubernetes(go)


def test_resume_of_an_incident_hands_back_its_own_and_those_without_one() -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        (chat, hpa) = owned.switches()
        await owned.pause("i0", hpa)
        await owned.pause("i1", chat)
        assert (
            "Application chat stays paused"
            in (await owned.campaign.owners_back(State(found.plan(), "Done", revision=9))).told
        )
        assert len(owned.mark) == 2
        await owned.campaign.owners_back(State(found.plan(), "Done", revision=9), everyone=True)
        assert [entry["incident"] for entry in owned.mark] == ["i0"]
        owned.marked(
            json.dumps(
                [
                    {key: value for key, value in entry.items() if key != "incident"}
                    for entry in owned.mark
                ]
            )
        )
        await owned.campaign.owners_back(State(found.plan(), "Done", revision=9), everyone=True)
        assert owned.is_as_before

    on_a_little_kubernetes(go)


def test_what_a_run_without_a_record_paused_is_handed_back_by_its_id(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def go(found: Scene) -> None:
        owned = Owned(found)
        await owned.pause("i1")
        with pytest.raises(InputError, match="there is no such incident"):
            await go_on(owned.campaign, "i7", "")
        assert await go_on(owned.campaign, "i1", "") == 0
        assert owned.is_as_before
        assert PAUSED not in marks(owned.home)
        assert capsys.readouterr().out == "i1: it ended before anything was begun\n"

    on_a_little_kubernetes(go)


def test_who_stays_paused_goes_by_how_the_incident_stands() -> None:
    assert set(GIT_OPS) == {"Application", "Kustomization", "HelmRelease"}
    assert set(SCALING) == {"HorizontalPodAutoscaler", "ScaledObject"}
    assert set(still_paused(State(PLAN, "Draining", revision=3))) == {*GIT_OPS, *SCALING}
    assert still_paused(State(PLAN, "RolledBack", revision=9)) == ()
    assert (
        still_paused(State(PLAN, "Confirming")) == ()
    )  # stopped before there was a record: nothing could resume it
    for phase in ("Confirming", "RolledBack", "Done"):
        assert set(still_paused(State(PLAN, phase, superseded=True))) == {
            *GIT_OPS,
            *SCALING,
        }  # another run needs them paused
    back = replace(PLAN, lever=ROLLBACK, because=taking_back("vllm-3f9a1c"))
    assert still_paused(State(back, "Done", revision=9)) == ()
    assert (back.undoes, PLAN.undoes) == ("vllm-3f9a1c", "")
    assert (
        how_it_ended(State(PLAN, "Planned"), "x", stopped=True)
        == f"{PLAN.id}: stopped before anything was begun"
    )
    assert "barostat incident resume" in how_it_ended(
        State(PLAN, "Draining", revision=3), "x", stopped=True
    )
