"""LeaderWorkerSet: a unit is a group of pods that serve as one engine.

Arguments: `spec.leaderWorkerTemplate.{leaderTemplate,workerTemplate}`; without a leader template the
worker's is also the leader's. Rolls: group by group from the highest index, `maxUnavailable` 1 and
`maxSurge` 0 by default; `partition` holds back the groups below it. A surge group would be taken away
in rotation as soon as few enough others are left to change, so a remedy adds a group by `replicas`.
Back: the former template (the same hash, so nothing rolls again). Reverts: the controller writes the
leaders' StatefulSet by server-side apply with force.
Source: leaderworkerset.x-k8s.io/v1; pkg/controllers/leaderworkerset_controller.go
(rollingUpdateParameters, SSAWithStatefulset) and pkg/utils/revision of lws v0.9.0.
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
    text,
    value,
)
from barostat.platform.workloads._kind import (
    Api,
    Found,
    Lists,
    Place,
    Revision,
    owned_by,
    share,
    staying,
)
from barostat.platform.workloads._numbered import Makes, NumberedKind

_DOMAIN = "leaderworkerset.sigs.k8s.io/"
NAME, PLACE_IN_GROUP, GROUP, REVISION = (
    f"{_DOMAIN}name",
    f"{_DOMAIN}worker-index",
    f"{_DOMAIN}group-index",
    f"{_DOMAIN}template-revision-hash",
)
_ROLLING = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")
_SIZE = ("spec", "leaderWorkerTemplate", "size")


class LeaderWorkerSet(NumberedKind):
    """The leader answers for its group."""

    api = Api("LeaderWorkerSet", "leaderworkersets", "leaderworkerset.x-k8s.io", "v1", "lws")
    unit = "group"
    places = (
        Place(("spec", "leaderWorkerTemplate", "leaderTemplate"), role="leader", size=_SIZE),
        Place(("spec", "leaderWorkerTemplate", "workerTemplate"), role="worker", size=_SIZE),
    )
    source_path = ("spec", "leaderWorkerTemplate")
    name_label = NAME
    fixed_labels = (NAME, PLACE_IN_GROUP, GROUP, REVISION)
    pod_suffix = "-[0-9]+(-[0-9]+)?"
    reads = ("statefulsets", "controllerrevisions")
    hold_path = ("spec", "rolloutStrategy")
    reverts = "the LeaderWorkerSet controller overwrites an edit of the StatefulSets below it"

    def labels(self, item: Object) -> Object:
        """Return the leader's labels, with those that the controller adds."""
        return {**super().labels(item), NAME: name_of(item), PLACE_IN_GROUP: "0"}

    def answers(self, pod: Object) -> bool:
        """True for the leader of a group."""
        return text(pod, "metadata", "labels", PLACE_IN_GROUP) in ("", "0")

    def routes(self, item: Object, service: Object) -> bool:
        """False for the headless Service that the controller makes for the groups' own traffic."""
        return not owned_by(service, {text(item, "metadata", "uid")})

    def unit_templates(self, item: Object) -> list[Object]:
        """The leader's, and the worker's for each other pod of the group."""
        leader, worker = self.template(item), self.parts(item)[-1:]
        return [leader, *(part.template for part in worker for _ in range(part.size - 1))]

    def rolled_out(self, item: Object, lists: Lists[Object]) -> bool:
        """True if every group has the present template."""
        del lists
        updated = count(item, "status", "updatedReplicas") or 0
        rolling = condition(item, "UpdateInProgress").get("status") == "True"
        return updated >= self.replicas(item) and not rolling

    def revisions(self, item: Object, lists: Lists[Object]) -> list[Revision]:
        """Its ControllerRevisions; older ones are deleted once a rollout is over."""
        uid = text(item, "metadata", "uid")
        kept = [found for found in lists.get("controllerrevisions", []) if owned_by(found, {uid})]
        present = text(_leaders(item, lists), "metadata", "labels", REVISION)
        kept.sort(key=lambda found: (_hash(found) == present, count(found, "revision") or 0))
        pods = self.own_pods(item, lists)
        return [
            Revision(
                str(count(found, "revision") or 0),
                {
                    key: entry
                    for key, entry in mapping(found, "data", *self.source_path).items()
                    if key != "$patch"
                },
                sum(
                    _hash(pod) == _hash(found) and condition(pod, "Ready").get("status") == "True"
                    for pod in pods
                ),
                text(found, "metadata", "creationTimestamp"),
            )
            for found in kept
        ]

    def newest_pods(self, item: Object, lists: Lists[Found]) -> list[Found]:
        """Leaders with the hash of the present template."""
        present = _hash(_leaders(item, lists)) if self._acted(item, lists) else ""
        pods = staying(lists.get("pods", []))
        return [
            pod
            for pod in pods
            if present
            and self.answers(pod)
            and self.name_for(pod) == name_of(item)
            and _hash(pod) == present
        ]

    def surge(self, item: Object) -> int:
        """Return maxSurge; 0 by default."""
        written = value(item, *_ROLLING, "maxSurge")
        return share(0 if written is None else written, self.replicas(item))

    def partition(self, item: Object) -> int:
        """0 where nothing is said."""
        return count(item, *_ROLLING, "partition") or 0

    def held(self, item: Object, partition: int) -> Mapping[str, Any]:
        """One group at a time, no surge."""
        rolling = {"partition": partition, "maxUnavailable": 1, "maxSurge": 0}
        return {"type": "RollingUpdate", "rollingUpdateConfiguration": rolling}

    def makes(self, item: Object, lists: Lists[Object], place: int) -> Makes:
        """As the leaders' StatefulSet says, once it holds the present template."""
        leaders = _leaders(item, lists)
        if not self._acted(item, lists):
            return "unknown"
        if place >= self.replicas(item):
            asked = count(leaders, "spec", "replicas") or 0
            return "nothing" if place >= asked else "unknown"
        partition = count(leaders, "spec", "updateStrategy", "rollingUpdate", "partition") or 0
        return "present" if place >= partition else "former"

    def unit_pods(self, item: Object, lists: Lists[Found], place: int) -> list[Found]:
        """The pods of that group, the leader first."""
        pods = [
            pod
            for pod in lists.get("pods", [])
            if self.name_for(pod) == name_of(item)
            and text(pod, "metadata", "labels", GROUP) == str(place)
        ]
        return sorted(pods, key=lambda pod: (not self.answers(pod), name_of(pod)))

    def _acted(self, item: Object, lists: Lists[Object]) -> bool:
        """True if the leaders' StatefulSet holds what the present template says, and its
        controller has seen it.
        """
        leaders = _leaders(item, lists)
        seen = count(leaders, "status", "observedGeneration") or 0
        theirs, ours = mapping(leaders, "spec", "template", "spec"), self.template(item).get("spec")
        return seen >= (count(leaders, "metadata", "generation") or 0) and _says(theirs, ours)


def _leaders(item: Object, lists: Lists[Object]) -> Object:
    uid = text(item, "metadata", "uid")
    found = (sts for sts in lists.get("statefulsets", []) if owned_by(sts, {uid}))
    return next(found, {})


def _says(theirs: Any, ours: Any) -> bool:
    """True if all of ours stands there; the API server adds its defaults."""
    if isinstance(ours, Mapping):
        return isinstance(theirs, Mapping) and all(
            _says(theirs.get(key), found) for key, found in ours.items()
        )
    if isinstance(ours, list):
        return (
            isinstance(theirs, list) and len(theirs) == len(ours) and all(map(_says, theirs, ours))
        )
    return bool(theirs == ours)


def _hash(item: Object) -> str:
    return text(item, "metadata", "labels", REVISION)


KIND = LeaderWorkerSet()
