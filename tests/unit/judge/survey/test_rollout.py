"""Whether a workload serves through its next rollout."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.judge.survey.rollout import Room, rollout
from barostat.platform.placing import used_by
from barostat.platform.workloads import kind_named

CONTAINER = {
    "name": "vllm",
    "image": "vllm/vllm-openai:v0.32.0",
    "args": ["Qwen/Qwen3-8B"],
    "resources": {"limits": {"nvidia.com/gpu": "1"}},
}


def workload(replicas: int = 1, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "llm"}}, "spec": {"containers": [CONTAINER]}}
    whole = {"replicas": replicas, "template": template, **spec}
    return {"metadata": {"name": "llm", "namespace": "a"}, "spec": whole}


def room(gpus: int, taken: int) -> Room:
    amounts = {"nvidia.com/gpu": str(gpus), "pods": "10"}
    node = {
        "metadata": {"name": "n"},
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    pod = {"spec": {"nodeName": "n", "containers": [CONTAINER]}, "status": {"phase": "Running"}}
    return Room([node], used_by([pod] * taken))


def outcome(kind: str, item: dict[str, Any], where: Room | None) -> tuple[str, str]:
    found = kind_named(kind)
    assert found is not None
    made = rollout(found, item, where)
    return made.outcome, made.because


def test_a_surge_needs_a_free_gpu() -> None:
    assert outcome("Deployment", workload(), room(2, 1))[0] == "serves"
    what, why = outcome("Deployment", workload(), room(1, 1))
    assert what == "stuck"
    assert "needs 1 more GPU" in why
    assert "n: has 0 nvidia.com/gpu free" in why


def test_without_every_node_a_surge_is_unknown() -> None:
    what, why = outcome("Deployment", workload(), None)
    assert (what, why) == ("unknown", "needs 1 more GPU; not every node and pod could be read")


@pytest.mark.parametrize(
    ("kind", "item", "expected"),
    [
        ("Deployment", workload(3, strategy={"type": "Recreate"}), "outage"),
        ("Deployment", workload(1, strategy={"rollingUpdate": {"maxSurge": 0}}), "outage"),
        ("Deployment", workload(2, strategy={"rollingUpdate": {"maxSurge": 0}}), "serves"),
        ("StatefulSet", workload(1), "outage"),
        ("StatefulSet", workload(2), "serves"),
        ("Deployment", workload(0), "serves"),
    ],
)
def test_without_a_surge_the_only_replica_is_an_outage(
    kind: str, item: dict[str, Any], expected: str
) -> None:
    assert outcome(kind, item, room(1, 1))[0] == expected
