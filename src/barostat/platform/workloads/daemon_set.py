"""DaemonSet: one engine on each node.

Arguments: `spec.template`. Rolls: RollingUpdate, `maxUnavailable` 1 and no surge by default, node by
node and undrained; OnDelete: each pod that is deleted. No partition, so no unit goes first. Back: the
former template (ControllerRevisions). Reverts: whoever keeps the manifest.
Source: apps/v1 DaemonSet, Kubernetes 1.34.
"""

from __future__ import annotations

from barostat.platform.objects import Object, count, mapping, value
from barostat.platform.workloads._kind import Api, WorkloadKind, share


class DaemonSet(WorkloadKind):
    """Found, diagnosed and advised on."""

    api = Api("DaemonSet", "daemonsets", "apps", "v1", "ds")
    pod_suffix = "-[a-z0-9]{5}"
    default_replicas = None
    by_hand = (
        "a DaemonSet has no partition, so no pod of it can prove a change before the others get "
        "it: set updateStrategy to OnDelete, change the template, and delete one drained pod at "
        "a time"
    )

    def replicas(self, item: Object) -> int:
        """Return the number of nodes it is scheduled to."""
        return count(item, "status", "desiredNumberScheduled") or 0

    def ready(self, item: Object) -> int | None:
        """Its status calls them otherwise."""
        return count(item, "status", "numberReady") if mapping(item, "status") else None

    def surge(self, item: Object) -> int:
        """Return maxSurge; 0 by default."""
        written = value(item, "spec", "updateStrategy", "rollingUpdate", "maxSurge")
        return share(0 if written is None else written, self.replicas(item))


KIND = DaemonSet()
