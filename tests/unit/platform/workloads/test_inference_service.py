"""KServe InferenceService, in Standard and in Knative mode."""

from __future__ import annotations

import copy
from typing import Any

from tests.support.kind_samples import (
    FLAG,
    NEW,
    OLD,
    Sample,
    container,
    deployment,
    head,
    replica_set,
)

from barostat.platform.workloads import marks
from barostat.platform.workloads.inference_service import KIND

_LABELS = {"serving.kserve.io/inferenceservice": "chat", "app": "isvc.chat-predictor"}
_MADE = container(["--model_name=chat", FLAG, OLD], name="kserve-container")
"""The runtime's arguments come first."""
SAMPLE = Sample(
    {
        **head("InferenceService"),
        "spec": {
            "predictor": {
                "minReplicas": 1,
                "model": {
                    "modelFormat": {"name": "huggingface"},
                    "args": [FLAG, OLD],
                    "resources": {"limits": {"nvidia.com/gpu": "1"}},
                },
            }
        },
    },
    _LABELS,
    (deployment("chat-predictor", _LABELS, _MADE), replica_set()),
    {"spec": {"predictor": {"model": {"args": [FLAG, NEW]}}}},
)


def test_knative_keeps_the_former_revision() -> None:
    item = copy.deepcopy(SAMPLE.item)
    item["status"] = {"deploymentMode": "Serverless"}
    assert "canaryTrafficPercent 20" in SAMPLE.kind.why_not(item)
    assert SAMPLE.kind.surge(item) == 1


def _lists(made: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """KServe's Deployment of the sample with that container."""
    _, document = deployment("chat-predictor", _LABELS, made)
    document["metadata"]["ownerReferences"] = [{"uid": "u", "controller": True}]
    return {"deployments": [document]}


def _item(**container: Any) -> dict[str, Any]:
    item = copy.deepcopy(SAMPLE.item)
    item["metadata"]["uid"] = "u"
    item["spec"]["predictor"]["model"] |= container
    return item


def test_a_spare_is_what_kserve_would_make_of_the_change() -> None:
    kind = KIND
    old = _item(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "1"}])
    new = _item(args=[FLAG, NEW, "--more"], env=[{"name": "B", "value": "2"}])
    runtimes = {"name": "HOME", "value": "/"}
    made = copy.deepcopy(_MADE)
    made["env"] = [runtimes, *old["spec"]["predictor"]["model"]["env"]]
    found = kind.spare_template(old, new, _lists(made))
    assert found is not None
    (engine,) = found["spec"]["containers"]
    assert engine["args"][-4:] == ["--model_name=chat", FLAG, NEW, "--more"]
    assert engine["env"] == [runtimes, {"name": "B", "value": "2"}]
    assert found["metadata"]["labels"] == _LABELS


def test_no_spare_is_made_of_what_kserve_has_not_seen_or_changes_itself() -> None:
    old, new = _item(), _item(args=[FLAG, NEW])
    other = copy.deepcopy(_MADE)
    other["args"] = [FLAG, "32"]
    assert KIND.spare_template(old, new, _lists(other)) is None
    assert KIND.spare_template(old, new, {}) is None
    more = copy.deepcopy(new)
    more["spec"]["predictor"]["volumes"] = [{"name": "shm"}]
    assert KIND.spare_template(old, more, _lists(_MADE)) is None
    resized = _item(resources={"limits": {"nvidia.com/gpu": "2"}})
    assert KIND.spare_template(old, resized, _lists(_MADE)) is not None
    limited = {**_MADE, "resources": {"limits": {"nvidia.com/gpu": "4"}}}
    assert KIND.spare_template(old, resized, _lists(limited)) is None


def test_kserve_has_seen_what_its_containers_end_with() -> None:
    assert KIND.has_seen(_item(), _lists(_MADE))
    assert not KIND.has_seen(_item(args=[FLAG, NEW]), _lists(_MADE))
    assert not KIND.has_seen(_item(args=["--model_name=chat"]), _lists(_MADE))
    assert not KIND.has_seen(_item(env=[{"name": "A", "value": "1"}]), _lists(_MADE))
    assert not KIND.has_seen(_item(), {})


def test_a_spare_is_none_of_its_pods_and_a_gateway_finds_it_only_while_it_serves() -> None:
    labels = {"serving.kserve.io/inferenceservice": "chat"}
    assert KIND.name_for({"metadata": {"labels": labels}}) == "chat"
    assert KIND.name_for({"metadata": {"labels": {**labels, "barostat.dev/spare": "0"}}}) == ""
    assert "app=isvc.chat-predictor" in KIND.query("chat", SAMPLE.item)
    assert "app=" not in KIND.query("chat", None)


def test_its_marks_are_where_kserve_does_not_pass_them_on() -> None:
    item = {**SAMPLE.item, "status": {"annotations": {"barostat.dev/claim": "i1"}}}
    assert marks(item) == {"barostat.dev/claim": "i1"}
    assert marks({**item, "kind": "Deployment"}) == {}


def test_a_predictor_of_several_pods_is_started_twice() -> None:
    item = copy.deepcopy(SAMPLE.item)
    item["spec"]["predictor"] |= {"minReplicas": 3, "deploymentStrategy": {"type": "Recreate"}}
    assert (SAMPLE.kind.surge(item), SAMPLE.kind.unavailable(item)) == (0, 3)
    item["spec"]["predictor"]["workerSpec"] = {"pipelineParallelSize": 2}
    assert "twice their GPUs" in SAMPLE.kind.why_not(item)
    assert (SAMPLE.kind.surge(item), SAMPLE.kind.unavailable(item)) == (3, 0)
