"""LeaderWorkerSet: a remedy changes it, a group at a time."""

from __future__ import annotations

from tests.support.kind_samples import Sample, head, template

SAMPLE = Sample(
    {
        **head("LeaderWorkerSet"),
        "spec": {
            "replicas": 1,
            "leaderWorkerTemplate": {
                "size": 2,
                "leaderTemplate": template(),
                "workerTemplate": template(),
            },
        },
        "status": {"updatedReplicas": 1, "replicas": 1},
    },
    {
        "leaderworkerset.sigs.k8s.io/name": "chat",
        "leaderworkerset.sigs.k8s.io/worker-index": "0",
        "leaderworkerset.sigs.k8s.io/group-index": "0",
    },
)


def test_a_group_needs_the_gpus_of_all_its_pods() -> None:
    assert SAMPLE.kind.unit_gpus(SAMPLE.item) == 2
    assert SAMPLE.kind.why_not(SAMPLE.item) == ""
