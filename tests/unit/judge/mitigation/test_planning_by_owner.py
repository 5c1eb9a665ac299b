"""Which plan there is for a workload that its owner rolls by itself."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from tests.support.planning_scenes import ranked_once, scene

from barostat.core.limits import LimitsSpec, RemedyLimits, ServingLimits
from barostat.judge.mitigation import planning
from barostat.judge.mitigation.facts import facts
from barostat.judge.mitigation.planning import NoRemedy, Planned, Wish, plan_for
from barostat.judge.mitigation.prepared import hinderers
from barostat.judge.mitigation.target_snapshot import TargetSnapshot
from barostat.platform.workloads import Api
from barostat.remedy.plan import RemedyPlan, lint
from barostat.remedy.precheck import refusals
from barostat.shells.cli.mitigate.lever_option import requested

SURGE_0 = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
NAMED = "serving.kserve.io/inferenceservice"


@pytest.fixture(autouse=True)
def rank_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "with_ranked_steps", ranked_once)


def inference_service(
    *, gpus: str = "3", replicas: int = 2, annotations: Any = None, **predictor: Any
) -> TargetSnapshot:
    """The Deployment of the scene as KServe's, of an InferenceService with its container."""
    seen = scene(gpus=gpus, replicas=replicas)
    made: dict[str, Any] = copy.deepcopy(dict(seen.home))
    labels = {"app": "isvc.vllm-predictor", NAMED: "vllm"}
    template = made["spec"]["template"]
    containers = [{**one, "args": list(one["args"])} for one in template["spec"]["containers"]]
    home = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "vllm", "namespace": "chat", "uid": "i-1"},
        "spec": {"predictor": {"minReplicas": replicas, "containers": containers, **predictor}},
    }
    made["metadata"] |= {
        "name": "vllm-predictor",
        "ownerReferences": [{"uid": "i-1", "controller": True}],
    }
    made["spec"]["selector"] = {"matchLabels": {"app": labels["app"]}}
    template["metadata"] = {"labels": labels, "annotations": annotations or {}}
    services: list[Any] = [
        {"metadata": {"name": "chat"}, "spec": {"selector": {"app": labels["app"]}}}
    ]
    return replace(
        seen, home=home, lists={**seen.lists, "deployments": [made], "services": services}
    )


def planned(seen: TargetSnapshot, limits: RemedyLimits | None = None, **wish: Any) -> RemedyPlan:
    found = answered(seen, limits, **wish)
    assert isinstance(found, Planned), found
    assert lint(found.plan) == ()
    return found.plan


def answered(
    seen: TargetSnapshot, limits: RemedyLimits | None = None, **wish: Any
) -> Planned | NoRemedy:
    held = ServingLimits(LimitsSpec(remedy=limits)) if limits is not None else None
    return plan_for(seen, Wish("i1", requested("max-num-seqs=2"), **wish), held)


def against(seen: TargetSnapshot, plan: RemedyPlan) -> tuple[str, ...]:
    return refusals(facts(seen, plan, [], RemedyLimits()), plan)


def test_a_spare_proves_it_where_a_gpu_is_free_also_for_the_owners_surge() -> None:
    seen = inference_service()
    plan = planned(seen, autonomy="act")
    assert (plan.strategy, plan.rolls, plan.surge, plan.unavailable) == ("spare", "owner", 1, 0)
    assert (plan.units_needed, plan.starts, plan.kept_in_rotation) == (1, 3, 2)
    assert not plan.spare_stays
    assert hinderers(seen, plan.strategy) == ()
    assert against(seen, plan) == ()


def test_the_spare_stays_where_the_owner_takes_one_away_first() -> None:
    plan = planned(inference_service(deploymentStrategy=SURGE_0))
    assert (plan.strategy, plan.surge, plan.unavailable) == ("spare", 0, 1)
    assert plan.spare_stays


def test_without_a_gpu_the_owners_surge_would_wait() -> None:
    found = answered(inference_service(gpus="2"))
    assert isinstance(found, NoRemedy)
    assert "1 GPU more, and they are not free" in found.why
    assert "maxSurge 0 and maxUnavailable 1" in found.why


@pytest.mark.parametrize(
    ("seen", "wish"),
    [
        (inference_service(gpus="2", deploymentStrategy=SURGE_0), {}),
        (inference_service(), {"in_place": True}),
    ],
    ids=["no GPU", "asked for"],
)
def test_without_a_spare_a_person_has_to_agree(seen: TargetSnapshot, wish: dict[str, Any]) -> None:
    plan = planned(seen, **wish)
    assert (plan.strategy, plan.proved_first) == ("rolling", False)
    assert against(seen, plan) == ()
    (why,) = against(seen, replace(plan, autonomy="act"))
    assert "all 2 replicas get it from the owner before the load proves it" in why


def test_the_floor_is_kept_while_the_owner_rolls() -> None:
    seen = inference_service(deploymentStrategy=SURGE_0)
    found = answered(seen, RemedyLimits(floor_replicas=2))
    assert isinstance(found, NoRemedy)
    assert "takes 1 replica away at a time, so 1 would serve, and the floor is 2" in found.why


def test_a_pod_that_its_webhook_has_to_know_is_no_spare_where_a_service_selects_on_its_name() -> (
    None
):
    marked = {"internal.serving.kserve.io/storage-initializer-sourceuri": "s3://m"}
    seen = inference_service(annotations=marked)
    assert planned(seen).strategy == "spare"
    seen.lists["services"] = [{"metadata": {"name": "chat"}, "spec": {"selector": {NAMED: "vllm"}}}]
    assert planned(seen).strategy == "rolling"


@pytest.mark.parametrize("form", ["v1", "v1alpha2"])
def test_an_inference_pool_that_would_find_the_spare_too_early_leaves_no_spare(form: str) -> None:
    seen = inference_service()
    for labels, strategy in (
        ({"app": "isvc.vllm-predictor"}, "spare"),
        ({NAMED: "vllm"}, "rolling"),
    ):
        selector = {"matchLabels": labels} if form == "v1" else labels
        pool = {"metadata": {"name": "pool"}, "spec": {"selector": selector}}
        seen.lists["inferencepools.inference.networking.k8s.io"] = [pool]
        assert planned(seen).strategy == strategy
    found = answered(seen, autonomy="act")
    assert isinstance(found, NoRemedy)
    assert "InferencePool pool would send requests to it before it joins" in found.why


def test_a_rollout_that_the_owner_has_not_begun_is_under_way() -> None:
    seen = inference_service()
    seen.home["spec"]["predictor"]["containers"][0]["args"].append("--enforce-eager")
    found = answered(seen)
    assert isinstance(found, NoRemedy)
    assert "a rollout is under way" in found.why


def test_a_template_that_others_use_is_for_a_person() -> None:
    config = Api("LLMInferenceServiceConfig", "x", "serving.kserve.io", "v1alpha2")
    seen = replace(inference_service(), held=(config, "base"))
    plan = planned(seen)
    (owner,) = hinderers(seen, plan.strategy)
    assert "its template is in the LLMInferenceServiceConfig base" in owner.because


def test_a_replica_more_is_for_a_person() -> None:
    (owner,) = hinderers(inference_service(), "scale-out")
    assert "KServe, or its autoscaler, adds the replica" in owner.because
