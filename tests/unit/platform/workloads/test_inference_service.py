"""KServe InferenceService, in Standard and in Knative mode."""

from __future__ import annotations

import copy

from tests.support.kind_samples import FLAG, NEW, OLD, Sample, head, replica_set

_LABELS = {"serving.kserve.io/inferenceservice": "chat", "app": "isvc.chat-predictor"}
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
    (
        ("deployments", {"kind": "Deployment", "metadata": {"name": "chat-predictor"}}),
        replica_set(),
    ),
    {"spec": {"predictor": {"model": {"args": [FLAG, NEW]}}}},
    says="spec.canary",
)


def test_knative_keeps_the_former_revision() -> None:
    item = copy.deepcopy(SAMPLE.item)
    item["status"] = {"deploymentMode": "Serverless"}
    assert "canaryTrafficPercent 20" in SAMPLE.kind.why_not(item)
    assert SAMPLE.kind.surge(item) == 1


def test_a_predictor_of_several_pods_is_started_twice() -> None:
    item = copy.deepcopy(SAMPLE.item)
    item["spec"]["predictor"] |= {"minReplicas": 3, "deploymentStrategy": {"type": "Recreate"}}
    assert (SAMPLE.kind.surge(item), SAMPLE.kind.unavailable(item)) == (0, 3)
    item["spec"]["predictor"]["workerSpec"] = {"pipelineParallelSize": 2}
    assert (SAMPLE.kind.surge(item), SAMPLE.kind.unavailable(item)) == (3, 0)
