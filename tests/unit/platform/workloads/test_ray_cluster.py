"""RayCluster: found and diagnosed; what it runs was submitted to it."""

from __future__ import annotations

from tests.support.kind_samples import Sample, container, head

_GROUP = {
    "groupName": "gpu",
    "replicas": 2,
    "template": {"spec": {"containers": [container([], command=["ray", "start"], image="ray")]}},
}
SAMPLE = Sample(
    {**head("RayCluster"), "spec": {"workerGroupSpecs": [_GROUP]}},
    {"ray.io/cluster": "chat", "ray.io/group": "gpu"},
    role="gpu",
    says="engine_kwargs",
)


def test_its_replicas_are_workers() -> None:
    assert SAMPLE.kind.replicas(SAMPLE.item) == 2
