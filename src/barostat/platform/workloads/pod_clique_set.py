"""Grove PodCliqueSet.

Arguments: `spec.template.cliques[].spec.podSpec`. Rolls: `updateStrategy.type` RollingRecreate (one
replica of a clique after the other, deleted first) or OnDelete (each pod that is deleted). Back: the
former template. Reverts: Grove owns PodCliques and pods.
Source: grove.io/v1alpha1; operator/api/core/v1alpha1/podcliqueset.go of grove.
"""

from __future__ import annotations

from barostat.platform.objects import Object, count, mapping
from barostat.platform.workloads._kind import Api, Place, WorkloadKind


class PodCliqueSet(WorkloadKind):
    """Each clique is a role."""

    api = Api("PodCliqueSet", "podcliquesets", "grove.io", "v1alpha1", "pcs")
    places = (
        Place(
            ("spec", "template", "cliques", "*", "spec", "podSpec"),
            "pod-spec",
            units=("spec", "replicas"),
        ),
    )
    source_path = ("spec",)
    name_label = "app.kubernetes.io/part-of"
    other_labels = {  # noqa: RUF012 - never written
        "app.kubernetes.io/managed-by": "grove-operator",
    }
    role_label = "grove.io/podclique"
    pod_suffix = "-[0-9]+-.*"
    by_hand = (
        "Grove deletes a replica before it makes the next: set updateStrategy.type to OnDelete, apply "
        "the patch to the clique, delete one drained pod and `barostat diagnose` it before the others"
    )
    reverts = "Grove makes PodCliques and pods again from the set"

    def ready(self, item: Object) -> int | None:
        """Return the number of available replicas; None without a status."""
        return count(item, "status", "availableReplicas") if mapping(item, "status") else None


KIND = PodCliqueSet()
