"""A Deployment: its pods by its ReplicaSets, its revisions, whether it has rolled out."""

from __future__ import annotations

from typing import Any

from tests.support.kind_samples import Sample, head, replica_set, template

from barostat.platform.workloads.deployment import KIND

SAMPLE = Sample(
    {
        **head("Deployment"),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "chat"}},
            "template": template(app="chat"),
        },
        "status": {"updatedReplicas": 1, "replicas": 1},
    },
    {"app": "chat"},
    (replica_set(),),
)


def test_a_rollout_is_over_when_the_newest_revision_owns_every_pod() -> None:
    done: dict[str, Any] = {
        "metadata": {"generation": 2},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2},
    }
    assert KIND.rolled_out(done, {})
    assert not KIND.rolled_out({**done, "spec": {"replicas": 2, "paused": True}}, {})
    assert not KIND.rolled_out({**done, "status": {**done["status"], "replicas": 3}}, {})
    assert not KIND.rolled_out({**done, "metadata": {"generation": 3}}, {})
