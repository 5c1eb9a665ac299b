"""A unit of the former version stays warm after a change: until its time is over, a rollback uses it
or another plan needs its GPU.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.support.little_kubernetes import NAMESPACE, NEW, OLD, LittleKubernetes, Object
from tests.support.remedy_runs import ACCESS, Mortal, Scene, by, on_a_little_kubernetes
from tests.support.virtual_time import WALL_S

from barostat.core.change import Expect
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.mitigation.store import Store
from barostat.remedy.history import kept_until
from barostat.remedy.plan import ROLLBACK, RemedyPlan, taking_back
from barostat.remedy.state import State

KEPT_S, START_S = 1200.0, 60.0
JOB = "i1-previous"
SERVES = (Expect("running_requests", "above", 0.5),)


class Slow(LittleKubernetes):
    """Engines take a minute to start."""

    def __init__(self, replicas: int, gpus: int) -> None:
        super().__init__(replicas, gpus, start_s=START_S)


def now() -> float:
    return asyncio.get_running_loop().time() + WALL_S


def kept_pods(found: Scene) -> list[Object]:
    pods = found.kube.all("pods")
    return [pod for pod in pods if "barostat.dev/previous" in pod["metadata"]["labels"]]


async def done_and_kept(found: Scene) -> State:
    state = await found.run(State(found.plan(keep_previous_s=KEPT_S)))
    assert state is not None
    assert (state.phase, found.value) == ("Done", NEW), found.told
    assert len(kept_pods(found)) == 1, found.told
    return state


def back(found: Scene) -> RemedyPlan:
    """The plan that takes i1 back."""
    plan = found.plan(id="i2", lever=ROLLBACK, because=taking_back("i1"), previous=JOB)
    served = replace(plan.expectation, expects=SERVES)
    return replace(plan, change=plan.change.reversed(), expectation=served)


async def recorded(found: Scene, incident: str) -> State:
    state, _ = await Store(by(Cluster(ACCESS), found.api), NAMESPACE).read(incident)
    return state


def test_it_stays_out_of_rotation_and_ends_by_itself() -> None:
    async def go(found: Scene) -> None:
        state = await done_and_kept(found)
        (pod,) = kept_pods(found)
        assert pod["spec"]["containers"][0]["args"][-1] == OLD
        assert pod["spec"]["restartPolicy"] == "OnFailure"
        assert "app" not in pod["metadata"]["labels"]
        kept, until = state.pod("previous"), kept_until(state)
        assert kept is not None
        assert until is not None
        assert kept.name == pod["metadata"]["name"]
        assert abs(until - now() - KEPT_S) < 60.0
        await asyncio.sleep(KEPT_S - 60.0)
        assert kept_pods(found) == [pod]
        assert not found.kube.is_listed(pod)
        await asyncio.sleep(70.0)
        assert found.kube.all("jobs") == []
        assert await found.left() == []
        assert found.kube.broken == []

    on_a_little_kubernetes(go, make=Slow)


def test_a_rollback_serves_with_it_at_once_and_starts_one_engine_less() -> None:
    async def go(found: Scene) -> None:
        await done_and_kept(found)
        await asyncio.sleep(2 * START_S)
        (pod,) = kept_pods(found)
        state = await found.run(State(back(found)))
        assert state is not None
        assert (state.phase, found.value) == ("Done", OLD), found.told
        began = next(entry.at for entry in state.timeline if entry.event == "ClaimHome")
        joined = next(entry for entry in state.timeline if entry.event == "JoinRotation")
        assert joined.detail == f"spare-0 ({pod['metadata']['name']})"
        assert joined.at - began < START_S / 6
        assert "POST deployments/i2-s0" not in found.api.writes
        assert await found.left() == []
        assert found.kube.all("jobs") == []
        assert found.kube.broken == []

    on_a_little_kubernetes(go, 2, make=Slow)


def test_a_rollback_whose_first_replica_is_no_better_leaves_nothing() -> None:
    async def go(found: Scene) -> None:
        await done_and_kept(found)
        worse = replace(found.plan().expectation, expects=(Expect("preemptions_per_s", "zero"),))
        state = await found.run(State(replace(back(found), expectation=worse)))
        assert state is not None
        assert (state.phase, found.value) == ("RolledBack", NEW), found.told
        assert await found.left() == []
        assert found.kube.all("jobs") == []

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("left_s", [-30.0, 20.0])
def test_a_rollback_that_comes_too_late_starts_a_spare(left_s: float) -> None:
    async def go(found: Scene) -> None:
        state = await done_and_kept(found)
        until = kept_until(state)
        assert until is not None
        await asyncio.sleep(until - left_s - now() - 5.0)
        state_after = await found.run(State(back(found)))
        assert state_after is not None
        assert (state_after.phase, found.value) == ("Done", OLD), found.told
        assert "POST deployments/i2-s0" in found.api.writes
        assert await found.left() == []
        assert found.kube.all("jobs") == []

    on_a_little_kubernetes(go)


def test_without_a_gpu_the_change_is_in_force_all_the_same() -> None:
    async def go(found: Scene) -> None:
        plan = found.plan("in-place", floor=0, keep_previous_s=KEPT_S)
        found.kube.floor = 0
        state = await found.run(State(plan))
        assert state is not None
        assert (state.phase, found.value) == ("Done", NEW), found.told
        (kept,) = [entry for entry in state.timeline if entry.event == "KeepPrevious"]
        assert kept.detail == "previous: not done: no node takes it: no GPU is free"
        assert kept_until(state) is None
        assert await found.left() == []
        assert found.kube.all("jobs") == []

    on_a_little_kubernetes(go, gpus=1)


def test_it_gives_its_gpu_to_the_next_plan() -> None:
    async def go(found: Scene) -> None:
        await done_and_kept(found)
        plan = found.plan(id="i2", drops=(JOB,))
        change = replace(plan.change, former=NEW, value="17")
        served = replace(plan.expectation, expects=SERVES)
        state = await found.run(State(replace(plan, change=change, expectation=served)))
        assert state is not None
        assert state.phase == "Done", found.told
        events = [entry.event for entry in state.timeline]
        assert events.index("DropPrevious") < events.index("CreateSpare")
        assert await found.left() == []
        assert found.kube.all("jobs") == []

    on_a_little_kubernetes(go)


@pytest.mark.parametrize(
    ("dies_at", "late", "abort"),
    [
        pytest.param(
            dies_at,
            late,
            abort,
            marks=() if dies_at == 2 else pytest.mark.sweep,
        )
        for dies_at in range(1, 9)
        for late in (False, True)
        for abort in ("", "a person ended it")
    ],
)
def test_killed_while_it_is_used_nothing_is_left(dies_at: int, late: bool, abort: str) -> None:
    """The first write takes the Job over, the second marks its pod, the third joins it."""

    async def go(found: Scene) -> None:
        await done_and_kept(found)
        assert (
            await found.run(State(back(found)), cluster=Mortal(ACCESS, dies_at, late=late)) is None
        )
        state = await found.run(await recorded(found, "i2"), abort=abort)
        assert state is not None
        assert state.phase in ("Done", "RolledBack", "Refused"), found.told
        assert found.value == (OLD if state.phase == "Done" else NEW)
        await asyncio.sleep(KEPT_S + 10.0)
        assert await found.left() == []
        assert found.kube.all("jobs") == []
        assert found.kube.broken == []

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("late", [False, True])
def test_killed_while_it_is_made_it_is_made_once(late: bool) -> None:
    async def go(found: Scene) -> None:
        mortal = DiesAtJob(ACCESS, -1, late=late)
        assert await found.run(State(found.plan(keep_previous_s=KEPT_S)), cluster=mortal) is None
        state = await found.run(await found.recorded())
        assert state is not None
        assert (state.phase, found.value) == ("Done", NEW), found.told
        assert len(kept_pods(found)) == len(found.kube.all("jobs")) == 1
        assert state.pod("previous") is not None
        await asyncio.sleep(KEPT_S + 10.0)
        assert await found.left() == []

    on_a_little_kubernetes(go)


class DiesAtJob(Mortal):
    """Dies at the first write of a Job."""

    async def exchange(self, method: str, path: str, **more: Any) -> Any:
        """As the real one, until then."""
        if method == "POST" and path.endswith("/jobs"):
            self.dies_at = self.acts + 1
        return await super().exchange(method, path, **more)
