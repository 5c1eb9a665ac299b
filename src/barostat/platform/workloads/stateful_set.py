"""StatefulSet.

Arguments: `spec.template`. Rolls: one pod at a time from the highest ordinal, no surge, undrained;
`updateStrategy.rollingUpdate.partition` holds back the ordinals below it; OnDelete changes a pod when
it is deleted. Back: the former template; a pod of a bad revision that never got Ready has to be
deleted. Reverts: whoever keeps the manifest.
Source: apps/v1 StatefulSet, ControllerRevision; "Forced rollback" and "Partitions" in Kubernetes'
documentation; pkg/controller/statefulset of Kubernetes 1.34.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barostat.platform.objects import (
    Object,
    condition,
    count,
    mapping,
    name_of,
    sequence,
    text,
)
from barostat.platform.workloads._kind import Api, Found, Lists, Revision, owned_by, staying
from barostat.platform.workloads._numbered import Makes, NumberedKind

REVISION = "controller-revision-hash"
_DIRECTIVE = "$patch"


class StatefulSet(NumberedKind):
    """A pod that is released keeps its name, so none is made beside it."""

    api = Api("StatefulSet", "statefulsets", "apps", "v1", "sts")
    pod_suffix = "-[0-9]+"
    reads = ("controllerrevisions",)
    hold_path = ("spec", "updateStrategy")

    def rolled_out(self, item: Object, lists: Lists[Object]) -> bool:
        """True if the controller has seen the present template and every pod runs it. (OnDelete
        never moves `currentRevision`.)
        """
        del lists
        wanted = self.replicas(item)
        updated = count(item, "status", "updatedReplicas") or 0
        return _seen(item) and updated == wanted == (count(item, "status", "replicas") or 0)

    def revisions(self, item: Object, lists: Lists[Object]) -> list[Revision]:
        """Its ControllerRevisions, the present one last."""
        uid, present = text(item, "metadata", "uid"), text(item, "status", "updateRevision")
        kept = [found for found in lists.get("controllerrevisions", []) if owned_by(found, {uid})]
        kept.sort(key=lambda found: (name_of(found) == present, count(found, "revision") or 0))
        pods = self.own_pods(item, lists)
        return [
            Revision(
                str(count(found, "revision") or 0),
                {
                    key: entry
                    for key, entry in mapping(found, "data", "spec", "template").items()
                    if key != _DIRECTIVE
                },
                sum(_runs(pod, name_of(found)) and _is_ready(pod) for pod in pods),
                text(found, "metadata", "creationTimestamp"),
            )
            for found in kept
        ]

    def newest_pods(self, item: Object, lists: Lists[Found]) -> list[Found]:
        """Pods of the update revision."""
        present = text(item, "status", "updateRevision") if _seen(item) else ""
        return [pod for pod in staying(lists.get("pods", [])) if present and _runs(pod, present)]

    def partition(self, item: Object) -> int:
        """0 where nothing is said."""
        return count(item, *self.hold_path, "rollingUpdate", "partition") or 0

    def held(self, item: Object, partition: int) -> Mapping[str, Any]:
        """RollingUpdate from that partition on."""
        rolling = mapping(item, *self.hold_path, "rollingUpdate")
        return {"type": "RollingUpdate", "rollingUpdate": {**rolling, "partition": partition}}

    def makes(self, item: Object, lists: Lists[Object], place: int) -> Makes:
        """Known once the controller has seen the last write."""
        if not _seen(item):
            return "unknown"
        if place >= self.replicas(item):
            return "nothing"
        return "present" if place >= self.partition(item) else "former"

    def unit_pods(self, item: Object, lists: Lists[Found], place: int) -> list[Found]:
        """The pod of that name."""
        first = count(item, "spec", "ordinals", "start") or 0
        name = f"{name_of(item)}-{first + place}"
        return [pod for pod in lists.get("pods", []) if name_of(pod) == name]

    def is_settling(self, item: Object) -> bool:
        """True of OnDelete, whose `currentRevision` is that of long ago: a pod below a partition
        would be made from it.
        """
        same = text(item, "status", "currentRevision") == text(item, "status", "updateRevision")
        return not (_seen(item) and same)

    def why_no_spare(self, item: Object) -> str:
        """A claim of volumes outlives its pod."""
        if not sequence(item, "spec", "volumeClaimTemplates"):
            return ""
        kept = text(item, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled")
        return "" if kept == "Delete" else "its volume claim would stay behind"


def _seen(item: Object) -> bool:
    seen = count(item, "status", "observedGeneration") or 0
    return seen >= (count(item, "metadata", "generation") or 0)


def _runs(pod: Object, revision: str) -> bool:
    return text(pod, "metadata", "labels", REVISION) == revision


def _is_ready(pod: Object) -> bool:
    return text(condition(pod, "Ready"), "status") == "True"


KIND = StatefulSet()
