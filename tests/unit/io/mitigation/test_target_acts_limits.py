"""The limits file of a target, as a remedy writes it and takes it back: what else somebody keeps
there stays as it is.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from tests.support.little_kubernetes import NAMESPACE, Object
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.limits_held import limits_before
from barostat.io.mitigation.target_acts import claim, write_limits
from barostat.io.mitigation.target_reader import ActTiming, Denied
from barostat.remedy.acts import ClaimHome, Done, WriteLimits
from barostat.remedy.plan import ROLLBACK, RemedyPlan, taking_back
from barostat.remedy.state import Do

OLD_LIMITS, NEW_LIMITS = "spec: {}\n", "spec: {request: {maxOutputTokens: 512}}\n"
HELM: Object = {
    "labels": {"app.kubernetes.io/managed-by": "Helm"},
    "annotations": {"meta.helm.sh/release-name": "chat", "meta.helm.sh/release-namespace": "x"},
}


async def written(found: Scene, plan: RemedyPlan, limits: str, *acts: WriteLimits) -> list[Done]:
    """What these acts of the plan say, of a run that holds the claim."""
    ground = ActContext(by(Cluster(ACCESS), found.api), plan, SteadyClock())
    do = Do(
        f"{plan.id}/1/f0", f"{plan.id}#1#a", ClaimHome(), "any", None, ground.clock.now() + 90.0
    )
    await claim(ground, do)
    return [
        await write_limits(
            ground, Do(f"{plan.id}/1/f{at}", do.claim, act, "any", None, do.until), act, limits
        )
        for at, act in enumerate(acts)
    ]


def kept(item: Object) -> dict[str, Any]:
    """All of a ConfigMap that is not its version or a mark of ours."""
    metadata = item["metadata"]
    marks = {
        name: {k: v for k, v in metadata[name].items() if "barostat" not in k}
        for name in ("labels", "annotations")
    }
    return {**marks, "data": item["data"]}


@pytest.mark.parametrize(
    "before", [{"limits.yaml": OLD_LIMITS, "keys.txt": "a"}, {"keys.txt": "a"}]
)
def test_what_somebody_else_keeps_beside_the_limits_stays(before: dict[str, str]) -> None:
    """A chart's own ConfigMap that lost its marks would be refused at the next upgrade; other files
    in it are other people's.
    """

    async def go(found: Scene) -> None:
        item = found.kube.add(
            "configmaps",
            {"metadata": {"name": "vllm-limits", **copy.deepcopy(HELM)}, "data": dict(before)},
        )
        await written(found, found.plan(), NEW_LIMITS, WriteLimits())
        assert item["data"]["limits.yaml"] == NEW_LIMITS
        assert (item["data"]["keys.txt"], item["metadata"]["labels"]["barostat.dev/incident"]) == (
            "a",
            "i1",
        )
        assert kept(item) == {**HELM, "data": item["data"]}
        await written(found, found.plan(), NEW_LIMITS, WriteLimits(back=True))
        assert kept(found.kube.objects["configmaps", "vllm-limits"]) == {**HELM, "data": before}
        assert "barostat.dev/incident" not in item["metadata"]["labels"]

    on_a_little_kubernetes(go)


def test_limits_that_a_remedy_has_made_go_with_it() -> None:
    async def go(found: Scene) -> None:
        await written(found, found.plan(), NEW_LIMITS, WriteLimits())
        assert found.kube.objects["configmaps", "vllm-limits"]["data"] == {
            "limits.yaml": NEW_LIMITS
        }
        await written(found, found.plan(), NEW_LIMITS, WriteLimits(back=True))
        assert ("configmaps", "vllm-limits") not in found.kube.objects

    on_a_little_kubernetes(go)


async def taken_back(found: Scene, *acts: WriteLimits) -> list[Done]:
    """The same for the plan that takes i1 back, with the limits that a person would see in its
    preview.
    """
    found.kube.home["metadata"]["annotations"] = {}
    first = found.plan(strategy="edge-only")
    plan = replace(first, id="i2", lever=ROLLBACK, because=taking_back("i1"))
    before = await limits_before(
        by(Cluster(ACCESS), found.api), NAMESPACE, first, NEW_LIMITS, ActTiming()
    )
    return await written(found, plan, before, *acts)


@pytest.mark.parametrize("before", [{"limits.yaml": OLD_LIMITS}, {}])
def test_a_rollback_takes_back_the_limits_of_its_incident(before: dict[str, str]) -> None:
    """Else gateways went on to refuse what a change asked for that is no more."""

    async def go(found: Scene) -> None:
        if before:
            found.kube.add(
                "configmaps", {"metadata": {"name": "vllm-limits"}, "data": dict(before)}
            )
        await written(found, found.plan(), NEW_LIMITS, WriteLimits())
        await taken_back(found, WriteLimits())
        item = found.kube.objects["configmaps", "vllm-limits"]
        assert item["data"] == {**before, "limits-before.yaml": NEW_LIMITS}
        await taken_back(found, WriteLimits(), WriteLimits(back=True))
        former = {"limits-before.yaml": OLD_LIMITS} if before else {}
        assert item["data"] == {"limits.yaml": NEW_LIMITS, **former}
        assert item["metadata"]["labels"]["barostat.dev/incident"] == "i1"

    on_a_little_kubernetes(go)


def test_limits_that_somebody_has_changed_since_are_left_alone() -> None:
    async def go(found: Scene) -> None:
        await written(found, found.plan(), NEW_LIMITS, WriteLimits())
        data = found.kube.objects["configmaps", "vllm-limits"]["data"]
        data["limits.yaml"] = OLD_LIMITS
        with pytest.raises(Denied, match="is not as i1 has left it: somebody changed the limits"):
            await taken_back(found, WriteLimits())
        assert data == {"limits.yaml": OLD_LIMITS}

    on_a_little_kubernetes(go)
