"""ReplicaSet without a Deployment.

Arguments: `spec.template`. Rolls: never; its pods keep the template that they were made from.
Source: apps/v1 ReplicaSet.
"""

from __future__ import annotations

from barostat.platform.workloads._kind import Api, WorkloadKind


class ReplicaSet(WorkloadKind):
    """A ReplicaSet without a Deployment: found and diagnosed, not changed."""

    api = Api("ReplicaSet", "replicasets", "apps", "v1", "rs")
    pod_suffix = "-[a-z0-9]{5}"
    default_replicas = None
    by_hand = (
        "a ReplicaSet does not roll a changed template out: change the Deployment that owns it, or "
        "put it into one"
    )


KIND = ReplicaSet()
