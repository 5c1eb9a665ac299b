"""Argo Rollout.

Arguments: `spec.template`, or the template of the Deployment that `spec.workloadRef` names, which the
controller scales to 0. Rolls: by `strategy.canary.steps` (25 %/25 % a step by default) or blue-green,
which starts every replica again beside those that run. Back: the former template; the controller goes
back to its stable ReplicaSet without the steps (`kubectl argo rollouts abort` does the same).
Source: argoproj.io/v1alpha1; pkg/apis/rollouts/v1alpha1/types.go of Argo Rollouts v1.9.1.
"""

from __future__ import annotations

from barostat.platform.objects import Object, count, mapping, text
from barostat.platform.workloads._kind import (
    Api,
    WorkloadKind,
    surge_of,
    unavailable_of,
)

_DEPLOYMENT = Api("Deployment", "deployments", "apps", "v1", "deploy")
_HASH = "rollouts-pod-template-hash"


class Rollout(WorkloadKind):
    """Pods belong to its ReplicaSets; the controller shifts requests by steps."""

    api = Api("Rollout", "rollouts", "argoproj.io", "v1alpha1", "ro")
    pod_suffix = "-[a-z0-9]+-[a-z0-9]{5}"
    reads = ("replicasets",)
    fixed_labels = (_HASH,)
    by_hand = (
        "the Rollout's own steps are the proof: change its template, watch the canary with "
        "`barostat diagnose`, then `kubectl argo rollouts promote NAME`, or `abort NAME` if it is worse"
    )
    without_surge = "Set strategy.canary.maxSurge to 0 and maxUnavailable to 1 first."
    reverts = "the Rollout controller owns the ReplicaSets below it"

    def held_in(self, item: Object) -> tuple[Api, str] | None:
        """The Deployment that `spec.workloadRef` names."""
        reference = mapping(item, "spec", "workloadRef")
        named = text(reference, "name")
        return (_DEPLOYMENT, named) if named and text(reference, "kind") == "Deployment" else None

    def surge(self, item: Object) -> int:
        """All replicas again for blue-green, else as a Deployment's."""
        if mapping(item, "spec", "strategy", "blueGreen"):
            return self.replicas(item)
        return surge_of({"rollingUpdate": _canary(item)}, self.replicas(item))

    def unavailable(self, item: Object) -> int:
        """None for blue-green, else as a Deployment's."""
        if mapping(item, "spec", "strategy", "blueGreen"):
            return 0
        return unavailable_of({"rollingUpdate": _canary(item)}, self.replicas(item))

    def rolled_out(self, item: Object) -> bool:
        """True where the steps are over and the stable ReplicaSet is the present one."""
        status = mapping(item, "status")
        current = text(status, "currentPodHash")
        updated = count(status, "updatedReplicas") or 0
        return text(status, "stableRS") == current and updated >= self.replicas(item)


def _canary(item: Object) -> Object:
    return mapping(item, "spec", "strategy", "canary")


KIND = Rollout()
