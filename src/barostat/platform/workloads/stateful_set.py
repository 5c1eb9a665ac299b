"""StatefulSet.

Arguments: `spec.template`. Rolls: one pod at a time from the highest ordinal, no surge, undrained;
`updateStrategy.rollingUpdate.partition` holds back the ordinals below it; OnDelete changes a pod when
it is deleted. Back: the former template; a pod of a bad revision that never got Ready has to be
deleted. Reverts: whoever keeps the manifest.
Source: apps/v1 StatefulSet, ControllerRevision; "Forced rollback" and "Partitions" in Kubernetes'
documentation; pkg/controller/statefulset of Kubernetes 1.34.
"""

from __future__ import annotations

from barostat.platform.objects import Object, count, text
from barostat.platform.workloads._kind import Api, WorkloadKind


class StatefulSet(WorkloadKind):
    """Pods are numbered; a pod that is released keeps its name, so none is made beside it."""

    api = Api("StatefulSet", "statefulsets", "apps", "v1", "sts")
    pod_suffix = "-[0-9]+"
    by_hand = "set it in spec.template; pods are replaced one at a time from the highest ordinal"

    def rolled_out(self, item: Object) -> bool:
        """True where the controller has seen the present template and every pod runs it."""
        seen = (count(item, "status", "observedGeneration") or 0) >= (
            count(item, "metadata", "generation") or 0
        )
        same = text(item, "status", "currentRevision") == text(item, "status", "updateRevision")
        return seen and same

    def surge(self, item: Object) -> int:
        """None: a pod is deleted before the next one of its name is made."""
        return 0


KIND = StatefulSet()
