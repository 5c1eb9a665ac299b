"""Deployment.

Arguments: `spec.template`. Rolls: 25 % surge and 25 % unavailable by default, undrained; so a remedy
makes Deployments of one replica beside it, and writes the template while it has no pod
(docs/decisions/one-replica.md). Back: the former template. Reverts: whoever keeps the manifest.
Source: apps/v1 Deployment and ReplicaSet, Kubernetes 1.27 to 1.34.
"""

from __future__ import annotations

from barostat.core.whole_number import whole_number
from barostat.platform.objects import Object, count, mapping, objects, text, value
from barostat.platform.workloads._kind import (
    Api,
    Found,
    Lists,
    Revision,
    Rolls,
    WorkloadKind,
    owned_by,
    staying,
    surge_of,
    unavailable_of,
)

REVISION = "deployment.kubernetes.io/revision"


class Deployment(WorkloadKind):
    """Pods of a Deployment belong to its ReplicaSets; each ReplicaSet is a revision."""

    api = Api("Deployment", "deployments", "apps", "v1", "deploy")
    rolls: Rolls = "spares"
    pod_suffix = "-[a-z0-9]+-[a-z0-9]{5}"
    reads = ("replicasets",)
    fixed_labels = ("pod-template-hash",)
    verbs = ("create", "delete")

    def surge(self, item: Object) -> int:
        """Return maxSurge; 25 % by default, rounded up."""
        return surge_of(mapping(item, "spec", "strategy"), self.replicas(item))

    def unavailable(self, item: Object) -> int:
        """Return maxUnavailable; 25 % by default, rounded down."""
        return unavailable_of(mapping(item, "spec", "strategy"), self.replicas(item))

    def own_pods(self, item: Object, lists: Lists[Found]) -> list[Found]:
        """The pods whose controller is one of its ReplicaSets."""
        uid = text(item, "metadata", "uid")
        made = {text(found, "metadata", "uid") for found in _sets(uid, lists)}
        return [pod for pod in staying(lists.get("pods", [])) if owned_by(pod, made)]

    def revisions(self, item: Object, lists: Lists[Object]) -> list[Revision]:
        """Its ReplicaSets, by the number that the controller gave each."""
        return [
            Revision(
                str(number),
                mapping(kept, "spec", "template"),
                count(kept, "status", "readyReplicas") or 0,
                text(kept, "metadata", "creationTimestamp"),
            )
            for number, kept in _numbered(text(item, "metadata", "uid"), lists)
        ]

    def newest_pods(self, item: Object, lists: Lists[Found]) -> list[Found]:
        """The pods of the ReplicaSet with the highest revision."""
        numbered = _numbered(text(item, "metadata", "uid"), lists)
        newest = {text(kept, "metadata", "uid") for _, kept in numbered[-1:]}
        return [pod for pod in staying(lists.get("pods", [])) if owned_by(pod, newest)]

    def rolled_out(self, item: Object, lists: Lists[Object]) -> bool:
        """True if the newest revision owns every pod and nothing is paused."""
        del lists
        if self.is_paused(item):
            return False
        seen = (count(item, "status", "observedGeneration") or 0) >= (
            count(item, "metadata", "generation") or 0
        )
        updated = count(item, "status", "updatedReplicas") or 0
        return seen and updated == self.replicas(item) == (count(item, "status", "replicas") or 0)


def _numbered(uid: str, lists: Lists[Found]) -> list[tuple[int, Found]]:
    """Its ReplicaSets with their revisions, the oldest first."""
    found: list[tuple[int, Found]] = []
    for kept in _sets(uid, lists):
        written = value(kept, "metadata", "annotations", REVISION)
        number = whole_number(written) if isinstance(written, str) else None
        if number is not None:
            found.append((number, kept))
    return sorted(found, key=lambda entry: entry[0])


def _sets(uid: str, lists: Lists[Found]) -> list[Found]:
    return [
        found
        for found in lists.get("replicasets", [])
        if any(text(owner, "uid") == uid for owner in objects(found, "metadata", "ownerReferences"))
    ]


KIND = Deployment()
