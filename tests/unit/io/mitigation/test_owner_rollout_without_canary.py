"""A remedy of a kind that its owner rolls: a spare proves the change, then home is written and its
owner replaces the units. Nothing below home is written.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.little_kubernetes import NEW, OLD
from tests.support.little_owner import MADE, LittleInferenceService
from tests.support.little_ray import LittleRayService
from tests.support.remedy_runs import ACCESS, Mortal, Scene, marks, on_a_little_kubernetes

from barostat.core.change import ConfigChange
from barostat.remedy.annotations import CLAIM, ENDED, PATCHED
from barostat.remedy.state import State

SURGE: dict[str, Any] = {"surge": 1}


def _values(scene: Scene) -> set[str]:
    return {pod["spec"]["containers"][0]["args"][-1] for pod in scene.kube.all("pods")}


def _written(scene: Scene) -> set[str]:
    """What was written but for records and Events, without names."""
    aside = ("configmaps", "events")
    return {write for write in scene.api.writes if not any(f" {one}/" in write for one in aside)}


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_spare_proves_the_change_and_the_owner_gives_it_to_all(replicas: int) -> None:
    async def go(scene: Scene) -> None:
        plan = scene.plan(**SURGE)
        ended = await scene.run(State(plan))
        assert ended is not None
        assert ended.phase == "Done", ended.why
        assert (scene.value, scene.kube.broken) == (NEW, [])
        assert await scene.left() == []
        assert _values(scene) == {NEW}
        home = "inferenceservices/vllm"
        written = _written(scene)
        assert {one for one in written if " inferenceservices" in one} == {
            f"PATCH {home}/status",
            f"PUT {home}",
        }
        assert not any(MADE in one for one in written)
        assert marks(scene.kube.home) == {}
        assert (scene.marks[ENDED], CLAIM in scene.marks) == ("i1", False)

    on_a_little_kubernetes(go, replicas, make=LittleInferenceService)


def test_a_change_that_does_not_help_never_reaches_home() -> None:
    async def go(scene: Scene) -> None:
        change = ConfigChange("argument", "--max-num-seqs", OLD, "63")
        ended = await scene.run(State(scene.plan(change=change, **SURGE)))
        assert ended is not None
        assert ended.phase == "RolledBack"
        assert await scene.left() == []
        assert (scene.value, _values(scene)) == (OLD, {OLD})
        assert not [one for one in scene.api.writes if one.startswith("PUT inference")]

    on_a_little_kubernetes(go, 2, make=LittleInferenceService)


@pytest.mark.parametrize("help_", ["16", "63"], ids=["better", "worse"])
def test_without_a_spare_the_owner_rolls_and_what_does_not_help_is_taken_back(help_: str) -> None:
    async def go(scene: Scene) -> None:
        change = ConfigChange("argument", "--max-num-seqs", OLD, help_)
        plan = scene.plan("rolling", change=change, autonomy="recommend", **SURGE)
        ended = await scene.run(State(plan, approved=True))
        assert ended is not None
        assert ended.phase == ("Done" if help_ == NEW else "RolledBack"), ended.why
        assert await scene.left() == []
        now = NEW if help_ == NEW else OLD
        assert (scene.value, _values(scene)) == (now, {now})
        assert (PATCHED in scene.marks) is (help_ == NEW)
        assert not [one for one in scene.api.writes if one.startswith("POST deployments")]

    on_a_little_kubernetes(go, 2, make=LittleInferenceService)


def test_a_rollout_without_a_gpu_for_its_surge_is_taken_back() -> None:
    async def go(scene: Scene) -> None:
        plan = scene.plan("rolling", autonomy="recommend", **SURGE)
        ended = await scene.run(State(plan, approved=True))
        assert ended is not None
        assert ended.phase == "RolledBack"
        assert await scene.left() == []
        assert (scene.value, _values(scene)) == (OLD, {OLD})

    on_a_little_kubernetes(go, 1, gpus=1, make=LittleInferenceService)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("abort", ["", "a person"], ids=["resumed", "aborted"])
@pytest.mark.parametrize("dies_at", range(1, 9))
def test_a_run_that_is_killed_at_a_write_is_taken_up(dies_at: int, abort: str, late: bool) -> None:
    async def go(scene: Scene) -> None:
        state = State(scene.plan(**SURGE))
        ended = await scene.taken_up(state, Mortal(ACCESS, dies_at, late=late), abort)
        assert ended.phase == ("Done" if not abort or ended.committed else "RolledBack"), ended.why
        assert await scene.left() == []
        assert _values(scene) == {scene.value}
        assert scene.kube.broken == []

    on_a_little_kubernetes(go, 1, make=LittleInferenceService)


def test_what_somebody_else_writes_meanwhile_is_left_alone() -> None:
    async def go(scene: Scene) -> None:
        container = scene.kube.home["spec"]["predictor"]["containers"][0]
        plan = scene.plan(**SURGE)
        container["args"] = [*container["args"][:-1], "48"]
        scene.kube.touch(scene.kube.home)
        ended = await scene.run(State(plan))
        assert ended is not None
        assert ended.phase == "Refused"
        assert await scene.left() == []
        assert scene.value == "48"

    on_a_little_kubernetes(go, 1, make=LittleInferenceService)


@pytest.mark.parametrize("value", [NEW, "63"], ids=["better", "worse"])
def test_ray_serve_rolls_its_text_and_what_does_not_help_is_taken_back(value: str) -> None:
    async def go(scene: Scene) -> None:
        text = scene.kube.home["spec"]["serveConfigV2"]
        change = ConfigChange("argument", "--max-num-seqs", OLD, value)
        more: dict[str, Any] = {"autonomy": "recommend", "unavailable": 1, "floor": 1}
        plan = scene.plan("rolling", change=change, **more)
        ended = await scene.run(State(plan, approved=True))
        assert ended is not None
        assert ended.phase == ("Done" if value == NEW else "RolledBack"), ended.why
        assert await scene.left() == []
        wanted = text.replace(OLD, NEW) if value == NEW else text
        assert scene.kube.home["spec"]["serveConfigV2"] == wanted
        assert (CLAIM in scene.marks, scene.marks[ENDED]) == (False, "i1")
        home = "rayservices/vllm"
        assert _written(scene) == {f"PATCH {home}", f"PUT {home}"}

    on_a_little_kubernetes(go, 2, make=LittleRayService)
