"""Remedies of a StatefulSet and of a LeaderWorkerSet on the little Kubernetes: proved, taken back,
killed at every write, refused by what the owner does.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.support.little_kubernetes import NEW, OLD, LittleKubernetes
from tests.support.little_numbered import LittleLeaderWorkerSet, LittleStatefulSet
from tests.support.remedy_runs import ACCESS, Mortal, Scene, on_a_little_kubernetes

from barostat.platform.workloads import NumberedKind
from barostat.remedy.plan import StepLimits, Strategy
from barostat.remedy.state import State

KINDS: list[type[LittleKubernetes]] = [LittleStatefulSet, LittleLeaderWorkerSet]
POD_GPUS: dict[type[LittleKubernetes], int] = {LittleStatefulSet: 1, LittleLeaderWorkerSet: 2}


async def ends_well(found: Scene, state: State | None, phase: str, before: dict[str, Any]) -> None:
    """It ended so, no law was broken, nothing is left, and home is what it was but for the change."""
    assert state is not None
    assert (state.phase, found.kube.broken, await found.left()) == (phase, [], []), found.told
    assert found.value == (NEW if phase == "Done" else OLD)
    kind = found.kind
    assert isinstance(kind, NumberedKind)
    after = copy.deepcopy(found.kube.home["spec"])
    kind.template({"spec": after})["spec"]["containers"][0]["args"][-1] = OLD
    assert after == before


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.kind)
@pytest.mark.parametrize(
    ("replicas", "spare_units", "strategy"),
    [(1, 1, "spare"), (2, 1, "spare"), (2, 0, "in-place"), (1, 0, "in-place")],
)
def test_the_change_is_proved_on_one_unit_and_reaches_all(
    make: type[LittleKubernetes], replicas: int, spare_units: int, strategy: Strategy
) -> None:
    async def go(found: Scene) -> None:
        before = copy.deepcopy(found.kube.home["spec"])
        found.kube.floor -= strategy == "in-place"
        await ends_well(found, await found.run(State(found.plan(strategy))), "Done", before)

    on_a_little_kubernetes(go, replicas, (replicas + spare_units) * POD_GPUS[make], make)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.kind)
@pytest.mark.parametrize("strategy", ["spare", "in-place"])
def test_a_change_that_does_not_help_is_taken_back(
    make: type[LittleKubernetes], strategy: Strategy
) -> None:
    async def go(found: Scene) -> None:
        before = copy.deepcopy(found.kube.home["spec"])
        found.kube.floor -= strategy == "in-place"
        found.kube.metrics = lambda pod: LittleKubernetes.metrics(  # type: ignore[method-assign]
            found.kube, {**pod, "spec": {"containers": [{"args": [OLD]}]}}
        )
        ended = await found.run(State(found.plan(strategy)))
        await ends_well(found, ended, "RolledBack", before)

    on_a_little_kubernetes(go, 2, 3 * POD_GPUS[make], make)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.kind)
def test_a_spare_that_finds_no_gpu_is_taken_back(make: type[LittleKubernetes]) -> None:
    async def go(found: Scene) -> None:
        before = copy.deepcopy(found.kube.home["spec"])
        plan = found.plan(bounds=StepLimits(ready_s=60.0))
        await ends_well(found, await found.run(State(plan)), "RolledBack", before)

    on_a_little_kubernetes(go, 2, 2 * POD_GPUS[make], make)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.kind)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    "dies_at",
    [
        1,
        2,
        3,
        5,
        *(pytest.param(at, marks=pytest.mark.sweep) for at in (4, 6, 7, 8, 9, 10, 11, 12)),
    ],
)
def test_a_run_that_is_killed_at_a_write_is_resumed_to_the_end(
    make: type[LittleKubernetes], dies_at: int, late: bool
) -> None:
    async def go(found: Scene) -> None:
        before = copy.deepcopy(found.kube.home["spec"])
        mortal = Mortal(ACCESS, dies_at, late=late)
        ended = await found.run(State(found.plan()), cluster=mortal)
        if ended is None:
            ended = await found.run(await found.recorded())
        else:
            assert dies_at > mortal.acts
        await ends_well(found, ended, "Done", before)

    on_a_little_kubernetes(go, 1, 2 * POD_GPUS[make], make)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.kind)
def test_a_run_that_is_killed_is_taken_back_by_whoever_aborts_it(
    make: type[LittleKubernetes],
) -> None:
    async def go(found: Scene) -> None:
        before = copy.deepcopy(found.kube.home["spec"])
        assert await found.run(State(found.plan()), cluster=Mortal(ACCESS, 4)) is None
        ended = await found.run(await found.recorded(), abort="a person")
        await ends_well(found, ended, "RolledBack", before)

    on_a_little_kubernetes(go, 2, 3 * POD_GPUS[make], make)


def test_a_unit_is_never_moved_by_an_owner_of_units_on_delete() -> None:
    async def go(found: Scene) -> None:
        found.kube.home["spec"]["updateStrategy"] = {"type": "OnDelete"}
        found.kube.touch(found.kube.home)
        before = copy.deepcopy(found.kube.home["spec"])
        await ends_well(found, await found.run(State(found.plan())), "Done", before)
        assert found.kube.home["spec"]["updateStrategy"] == {"type": "OnDelete"}

    on_a_little_kubernetes(go, 2, 3, LittleStatefulSet)
