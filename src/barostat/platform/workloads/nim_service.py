"""NVIDIA NIMService.

Arguments: `spec.args` and `spec.env` (the container's own variables are named NIM_*). Rolls: a
Deployment with 25 % unavailable and no surge, so a replica is gone before its successor is Ready; with
`spec.multiNode` a LeaderWorkerSet, 1/0. Back: the former spec. Reverts: the operator owns the
Deployment, the LeaderWorkerSet or the InferenceService.
Source: apps.nvidia.com/v1alpha1; api/apps/v1alpha1/nimservice_types.go, manifests/deployment.yaml of
k8s-nim-operator.
"""

from __future__ import annotations

from barostat.platform.objects import Object
from barostat.platform.workloads._flat import FlatKind
from barostat.platform.workloads._kind import Api


class NIMService(FlatKind):
    """Found by the object that it owns."""

    api = Api("NIMService", "nimservices", "apps.nvidia.com", "v1alpha1")
    selector_path = ()
    words_path = ("spec", "args")
    variables_path = ("spec", "env")
    source_path = ("spec",)
    reads = ("replicasets", "deployments")
    by_hand = (
        "its operator writes the Deployment again and replaces the pods by itself, without a surge: "
        "have two replicas, apply the patch to the NIMService, then `barostat diagnose`; the former "
        "spec takes it back"
    )
    reverts = "the NIM operator writes what it owns again from the NIMService"

    def ready(self, item: Object) -> int | None:
        """The status has no count that is always there."""
        return None

    def unavailable(self, item: Object) -> int:
        """25 %, rounded down; one replica is replaced in place."""
        return max(1, self.replicas(item) // 4)


KIND = NIMService()
