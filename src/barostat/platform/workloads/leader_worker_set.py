"""LeaderWorkerSet: a unit is a group of pods that serve as one engine.

Arguments: `spec.leaderWorkerTemplate.{leaderTemplate,workerTemplate}`; without a leader template the
worker's is also the leader's. Rolls: group by group from the highest index, `maxUnavailable` 1 and
`maxSurge` 0 by default; `partition` holds back the groups below it. Back: the former template.
Reverts: the controller writes the leaders' StatefulSet by server-side apply with force.
Source: leaderworkerset.x-k8s.io/v1; pkg/controllers/leaderworkerset_controller.go of lws v0.9.0.
"""

from __future__ import annotations

from barostat.platform.objects import Object, count, mapping, text, value
from barostat.platform.workloads._kind import Api, Part, Place, WorkloadKind, share

NAME = "leaderworkerset.sigs.k8s.io/name"
PLACE_IN_GROUP = "leaderworkerset.sigs.k8s.io/worker-index"
_ROLLING = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")


class LeaderWorkerSet(WorkloadKind):
    """The leader answers for its group."""

    api = Api("LeaderWorkerSet", "leaderworkersets", "leaderworkerset.x-k8s.io", "v1", "lws")
    unit = "group"
    places = (
        Place(
            ("spec", "leaderWorkerTemplate", "leaderTemplate"),
            role="leader",
            size=("spec", "leaderWorkerTemplate", "size"),
        ),
        Place(
            ("spec", "leaderWorkerTemplate", "workerTemplate"),
            role="worker",
            size=("spec", "leaderWorkerTemplate", "size"),
        ),
    )
    source_path = ("spec", "leaderWorkerTemplate")
    name_label = NAME
    pod_suffix = "-[0-9]+(-[0-9]+)?"
    by_hand = "set it in spec.leaderWorkerTemplate; groups are replaced from the highest index"
    reverts = "the LeaderWorkerSet controller overwrites an edit of the StatefulSets below it"

    def labels(self, item: Object) -> Object:
        """Those of the leader, with what the controller adds."""
        own = super().labels(item)
        return {**own, NAME: text(item, "metadata", "name"), PLACE_IN_GROUP: "0"}

    def answers(self, pod: Object) -> bool:
        """True for the leader of a group."""
        return text(pod, "metadata", "labels", PLACE_IN_GROUP) in ("", "0")

    def unit_templates(self, item: Object) -> list[Object]:
        """The leader's, and the worker's for each other pod of the group."""
        leader, worker = self.template(item), self.parts(item)[-1:]
        return [leader, *(part.template for part in worker for _ in range(part.size - 1))]

    def rolled_out(self, item: Object) -> bool:
        """True where the controller has seen the present template and every group runs it."""
        wanted = self.replicas(item)
        done = (count(item, "status", "updatedReplicas") or 0, self.ready(item) or 0)
        return all(found >= wanted for found in done) and not _partition(item)

    def surge(self, item: Object) -> int:
        """None by default."""
        written = value(item, *_ROLLING, "maxSurge")
        return share(0 if written is None else written, self.replicas(item))


def _partition(item: Object) -> int:
    return count(item, *_ROLLING, "partition") or 0


def roles(item: Object) -> tuple[Part, ...]:
    """Leader and worker of one LeaderWorkerSet."""
    return KIND.parts(item) if mapping(item, "spec") else ()


KIND = LeaderWorkerSet()
