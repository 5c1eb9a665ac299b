"""A remedy of an Argo Rollout: its own canary proves the change, then it is told to go on."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.little_kubernetes import NEW, OLD
from tests.support.little_rollout import LittleRollout
from tests.support.remedy_runs import ACCESS, Mortal, Scene, on_a_little_kubernetes

from barostat.core.change import ConfigChange
from barostat.remedy.state import State

CANARY: dict[str, Any] = {"rolls": "canary", "canary": "live", "surge": 1}


def _values(scene: Scene) -> set[str]:
    return {pod["spec"]["containers"][0]["args"][-1] for pod in scene.kube.all("pods")}


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_canary_proves_the_change_and_all_get_it(replicas: int) -> None:
    async def go(scene: Scene) -> None:
        ended = await scene.run(State(scene.plan("canary", **CANARY)))
        assert ended is not None
        assert ended.phase == "Done", ended.why
        assert (scene.value, scene.kube.broken) == (NEW, [])
        assert await scene.left() == []
        assert _values(scene) == {NEW}
        assert {write.split("/")[0] for write in scene.api.writes if "rollouts" in write} == {
            "PATCH rollouts",
            "PUT rollouts",
        }

    on_a_little_kubernetes(go, replicas, make=LittleRollout)


def test_a_change_that_does_not_help_is_taken_back_before_the_others_get_it() -> None:
    async def go(scene: Scene) -> None:
        change = ConfigChange("argument", "--max-num-seqs", OLD, "63")
        ended = await scene.run(State(scene.plan("canary", change=change, **CANARY)))
        assert ended is not None
        assert ended.phase == "RolledBack"
        assert scene.value == OLD
        assert await scene.left() == []
        assert _values(scene) == {OLD}

    on_a_little_kubernetes(go, 2, make=LittleRollout)


def test_a_canary_that_finds_no_gpu_is_taken_back() -> None:
    async def go(scene: Scene) -> None:
        ended = await scene.run(State(scene.plan("canary", **CANARY)))
        assert ended is not None
        assert ended.phase == "RolledBack"
        assert await scene.left() == []
        assert (scene.value, _values(scene)) == (OLD, {OLD})

    on_a_little_kubernetes(go, 1, gpus=1, make=LittleRollout)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("abort", ["", "a person"], ids=["resumed", "aborted"])
@pytest.mark.parametrize("dies_at", [1, 2, 3])
def test_a_run_that_is_killed_at_a_write_is_taken_up(dies_at: int, abort: str, late: bool) -> None:
    async def go(scene: Scene) -> None:
        state = State(scene.plan("canary", **CANARY))
        ended = await scene.taken_up(state, Mortal(ACCESS, dies_at, late=late), abort)
        assert ended.phase == ("Done" if not abort or ended.committed else "RolledBack"), ended.why
        assert await scene.left() == []
        assert _values(scene) == {scene.value}

    on_a_little_kubernetes(go, 1, make=LittleRollout)
