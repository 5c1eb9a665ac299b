"""`verify` and `rollback` mean the change in force: what was refused or taken back is neither
verified nor taken back once more.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import pytest
from tests.support.little_kubernetes import NAMESPACE, NEW, OLD
from tests.support.owned_workload import Owned, once
from tests.support.remedy_runs import Scene, on_a_little_kubernetes

from barostat.core.change import ConfigChange
from barostat.core.errors import InputError
from barostat.io.mitigation.campaign import Campaign
from barostat.io.mitigation.store import Store
from barostat.remedy.plan import ROLLBACK, GatewayRef, LiveEdge, taking_back
from barostat.remedy.state import State, WriteRecord
from barostat.remedy.step import Phase
from barostat.shells.cli.mitigate.incident import go_on
from barostat.shells.cli.mitigate.rollback import take_back
from barostat.shells.cli.mitigate.verify import hold_against


async def campaign(found: Scene, *incidents: tuple[str, Phase, str]) -> Campaign:
    """A target with these incidents, the oldest first: (id, how it ended, whose change it took
    back).
    """
    made = Owned(found).campaign
    for at, (name, phase, undoes) in enumerate(incidents):
        plan = replace(found.plan(), id=name, made_at=float(at))
        plan = replace(plan, lever=ROLLBACK, because=taking_back(undoes)) if undoes else plan
        state = State(plan, phase, revision=1, why="as it was")
        await Store(made.cluster, NAMESPACE).write(WriteRecord("k", 1, state), "")
    return made


def words(target: str) -> argparse.Namespace:
    return argparse.Namespace(
        target=target,
        yes=True,
        dry_run=False,
        in_place=False,
        for_s=10.0,
        interval_s=5.0,
        sustained_s=20.0,
        namespace=NAMESPACE,
        output="text",
        pause_owner=False,
    )


@pytest.mark.parametrize(
    ("incidents", "target", "why"),
    [
        ([("a", "Refused", "")], "a", "ended Refused"),
        ([("a", "Refused", "")], "deploy/vllm", "the last incident, a, ended Refused"),
        (
            [("a", "Draining", "")],
            "deploy/vllm",
            "not over .Draining.: barostat incident resume a -n x, or abort a -n x",
        ),
        ([("a", "Done", ""), ("b", "Done", "a")], "a", "was taken back by b"),
    ],
)
def test_what_is_not_in_force_is_not_verified(
    incidents: list[tuple[str, Phase, str]], target: str, why: str
) -> None:
    async def go(found: Scene) -> None:
        with pytest.raises(InputError, match=why):
            await hold_against(await campaign(found, *incidents), words(target))

    on_a_little_kubernetes(go)


def test_what_somebody_has_changed_since_is_neither_verified_nor_taken_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def go(found: Scene) -> None:
        made = await campaign(found, ("a", "Done", ""))
        before = len(found.api.writes)
        with pytest.raises(
            InputError,
            match="--max-num-seqs is 64 now, and a left it at 16: somebody has changed it since",
        ):
            await hold_against(made, words("a"))
        found.kube.home["spec"]["template"]["spec"]["containers"][0]["args"][-1] = "32"
        assert await take_back(made, words("a")) == 5
        assert found.api.writes[before:] == []

    on_a_little_kubernetes(go)
    assert "refused: --max-num-seqs is 32 now, and a left it at 16" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("incidents", "target", "told"),
    [
        (
            [("a", "Done", ""), ("b", "Done", "a")],
            "deploy/vllm",
            "no change of ours is in force on deploy/vllm: b: done",
        ),
        ([("a", "Done", ""), ("b", "Done", "a")], "a", "a was taken back already, by b"),
        (
            [("a", "Done", ""), ("b", "RolledBack", "")],
            "b",
            "b changed nothing that is still there (RolledBack); in force is a",
        ),
    ],
)
def test_what_is_not_in_force_is_not_taken_back_again(
    incidents: list[tuple[str, Phase, str]],
    target: str,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def go(found: Scene) -> None:
        made = await campaign(found, *incidents)
        before = len(found.api.writes)
        assert await take_back(made, words(target)) == 0
        assert found.api.writes[before:] == []

    on_a_little_kubernetes(go)
    assert told in capsys.readouterr().out


def test_the_change_in_force_is_meant_although_a_later_attempt_was_taken_back() -> None:
    async def go(found: Scene) -> None:
        made = await campaign(found, ("a", "Done", ""), ("b", "RolledBack", ""))
        state, _ = await made.change_in_force("deploy/vllm")
        assert state is not None
        assert state.plan.id == "a"

    on_a_little_kubernetes(go)


def test_what_is_in_force_is_not_aborted(capsys: pytest.CaptureFixture[str]) -> None:
    async def go(found: Scene) -> None:
        assert await go_on(await campaign(found, ("a", "Done", "")), "a", "a person ended it") == 5

    on_a_little_kubernetes(go)
    assert "barostat rollback a -n x" in capsys.readouterr().out


def test_a_limit_that_was_only_held_is_not_taken_back_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def go(found: Scene) -> None:
        made = await campaign(found)
        limit = ConfigChange("limits", "request.maxOutputTokens", None, "300")
        plan = found.plan(
            "edge-live", change=limit, edge=LiveEdge((GatewayRef("URL", "http://gateway:8081"),))
        )
        await Store(made.cluster, NAMESPACE).write(
            WriteRecord("k", 1, State(plan, "Done", revision=1)), ""
        )
        assert await take_back(made, words("i1")) == 0

    on_a_little_kubernetes(go)
    assert (
        "i1 changed nothing that is still there: request.maxOutputTokens: absent -> 300 was held"
        in capsys.readouterr().out
    )


def test_an_owner_that_could_not_be_handed_back_is_no_success(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def go(found: Scene) -> None:
        made = await campaign(found, ("a", "Done", ""))
        owned = Owned(found)
        await owned.pause("a")
        owned.api.choose = once("PATCH", "/applications/chat", "error")
        assert await go_on(made, "a", "") == 4
        assert "Application chat is still paused: cannot patch" in capsys.readouterr().err
        assert await go_on(made, "a", "") == 0
        assert owned.is_as_before

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_dry_run_shows_what_the_server_would_make_of_taking_it_back(
    output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def go(found: Scene) -> None:
        found.kube.floor = 1
        made = await campaign(found, ("a", "Done", ""))
        home = found.kube.home
        home["spec"]["template"]["spec"]["containers"][0]["args"][-1] = NEW
        home["metadata"]["generation"], home["status"] = (
            1,
            {"observedGeneration": 1, "updatedReplicas": 2, "replicas": 2},
        )
        asked = words("a")
        asked.yes, asked.dry_run, asked.in_place, asked.output = False, True, True, output
        await take_back(made, asked)
        assert f"-    - '{NEW}'" in (said := capsys.readouterr().out), said
        assert f"+    - '{OLD}'" in said

    on_a_little_kubernetes(go, replicas=2)
