"""NIMService: its operator rolls without a surge."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NEW, OLD, Sample, head, replica_set

SAMPLE = Sample(
    {**head("NIMService"), "spec": {"args": [FLAG, OLD], "replicas": 1}},
    {"app": "chat"},
    (("deployments", {"kind": "Deployment", "metadata": {"name": "chat"}}), replica_set()),
    {"spec": {"args": [FLAG, NEW]}},
    says="without a surge",
)


def test_a_replica_is_gone_before_the_next_one_serves() -> None:
    assert (SAMPLE.kind.surge(SAMPLE.item), SAMPLE.kind.unavailable(SAMPLE.item)) == (0, 1)
