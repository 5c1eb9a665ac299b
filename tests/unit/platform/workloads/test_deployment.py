"""A Deployment: its pods by its ReplicaSets, its revisions, whether it has rolled out."""

from __future__ import annotations

from typing import Any

from barostat.platform.workloads.deployment import KIND


def test_a_rollout_is_over_when_the_newest_revision_owns_every_pod() -> None:
    done: dict[str, Any] = {
        "metadata": {"generation": 2},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2},
    }
    assert KIND.rolled_out(done)
    assert not KIND.rolled_out({**done, "spec": {"replicas": 2, "paused": True}})
    assert not KIND.rolled_out({**done, "status": {**done["status"], "replicas": 3}})
    assert not KIND.rolled_out({**done, "metadata": {"generation": 3}})
