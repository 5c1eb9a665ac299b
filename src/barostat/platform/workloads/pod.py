"""A pod that nothing owns.

Arguments: its own spec, which cannot be changed while it runs. Rolls: never. Back: by hand.
Source: core/v1 Pod.
"""

from __future__ import annotations

from barostat.platform.objects import Object
from barostat.platform.workloads._kind import Api, Place, WorkloadKind


class Pod(WorkloadKind):
    """A bare Pod: found and diagnosed, not changed."""

    api = Api("Pod", "pods", "", "v1", "po")
    selector_path = ()
    places = (Place(("spec",), "pod-spec"),)
    source_path = ("spec",)
    pod_suffix = ""
    default_replicas = None
    apply = "put it into the manifest, then kubectl replace --force -f MANIFEST"
    by_hand = (
        "the arguments of a pod cannot be changed while it runs: make it again from a changed "
        "manifest, better as a Deployment"
    )

    def replicas(self, item: Object) -> int:
        """A pod is one unit."""
        return 1

    def ready(self, item: Object) -> int | None:
        """The status of a pod has no count."""
        return None


KIND = Pod()
