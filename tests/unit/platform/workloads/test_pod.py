"""A pod that nothing owns: found, diagnosed, advised on."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NAME, NEW, Sample, container, head, pod

SAMPLE = Sample(
    {**pod({"app": "chat"}, NAME), **head("Pod")},
    patch={"spec": {"containers": [container([FLAG, NEW])]}},
    says="cannot be changed while it runs",
)
SAMPLE.item["metadata"]["labels"] = {"app": "chat"}


def test_it_is_one_replica() -> None:
    assert SAMPLE.kind.replicas(SAMPLE.item) == 1
