"""The workload of a pod as kubectl names it."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.core.object_reference import ObjectReference
from barostat.platform.workload import workload_reference


def pod(name: str, *owners: dict[str, Any], **labels: str) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "chat",
        "ownerReferences": list(owners),
        "labels": labels,
    }
    return {"kind": "Pod", "metadata": metadata}


def test_owners_count_more_than_the_pods_name() -> None:
    owner = {"kind": "ReplicaSet", "name": "chat-6d5c7b9f8d", "controller": True}
    replica_set = {
        "kind": "ReplicaSet",
        "metadata": {
            "name": "chat-6d5c7b9f8d",
            "namespace": "chat",
            "ownerReferences": [{"kind": "Deployment", "name": "chat", "controller": True}],
        },
    }
    documents = {"replicasets": {"items": [replica_set]}}
    named_otherwise = pod("engine-0", owner)
    assert workload_reference(documents, named_otherwise) == ObjectReference(
        "deployment", "chat", "chat"
    )


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("vllm-6d5c7b9f8d-x2x4z", ObjectReference("deployment", "vllm", "chat")),
        ("vllm-0", ObjectReference("statefulset", "vllm", "chat")),
        ("vllm", None),
    ],
)
def test_without_owners_the_name_tells(name: str, reference: ObjectReference | None) -> None:
    assert workload_reference({}, pod(name)) == reference


def test_without_a_pod_the_only_workload_is_meant() -> None:
    deployment = {"kind": "Deployment", "metadata": {"name": "chat", "namespace": "chat"}}
    documents = {"deployments": {"items": [deployment]}}
    assert workload_reference(documents, None) == ObjectReference("deployment", "chat", "chat")
    assert workload_reference({}, None) is None
