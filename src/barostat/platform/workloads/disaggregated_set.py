"""DisaggregatedSet: a LeaderWorkerSet for each role, prefill and decode.

Arguments: `spec.roles[].spec.leaderWorkerTemplate`. Rolls: its controller moves all roles together; a
partition on a role must not be set, so no group of it goes first. A slice is a whole copy of all
roles. Back: the former spec. Reverts: the controller owns the LeaderWorkerSets.
Source: disaggregatedset.x-k8s.io/v1; api/disaggregatedset of lws v0.10.
"""

from __future__ import annotations

from barostat.platform.objects import Object, count, mapping, objects, value
from barostat.platform.workloads._kind import Api, Place, WorkloadKind, share

_TEMPLATE = ("spec", "roles", "*", "spec", "leaderWorkerTemplate")
_UNITS, _SIZE = ("spec", "replicas"), ("spec", "leaderWorkerTemplate", "size")
_ROLLING = ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge")


class DisaggregatedSet(WorkloadKind):
    """The role under pressure is the one to change."""

    api = Api("DisaggregatedSet", "disaggregatedsets", "disaggregatedset.x-k8s.io", "v1")
    unit = "group"
    places = (
        Place((*_TEMPLATE, "leaderTemplate"), units=_UNITS, size=_SIZE),
        Place((*_TEMPLATE, "workerTemplate"), units=_UNITS, size=_SIZE),
    )
    source_path = ("spec",)
    name_label = "disaggregatedset.x-k8s.io/name"
    role_label = "disaggregatedset.x-k8s.io/role"
    pod_suffix = "-.*"
    default_replicas = None
    by_hand = (
        "its controller rolls all roles together and allows no partition: raise spec.slices by one, "
        "so that a whole copy serves beside the others, and change the template of the role under "
        "pressure then"
    )
    reverts = "the DisaggregatedSet controller owns the LeaderWorkerSets below it"

    def replicas(self, item: Object) -> int:
        """Groups of all roles, in every slice."""
        roles = objects(item, "spec", "roles")
        groups = sum(1 if (found := count(role, *_UNITS)) is None else found for role in roles)
        return groups * (count(item, "spec", "slices") or 1)

    def ready(self, item: Object) -> int | None:
        """Groups of all roles that are Ready."""
        if not mapping(item, "status"):
            return None
        roles = objects(item, "status", "roles") or objects(item, "status", "roleStatuses")
        return sum(count(role, "readyReplicas") or 0 for role in roles)

    def surge(self, item: Object) -> int:
        """Groups of each role beyond those asked for."""
        found = 0
        for role in objects(item, "spec", "roles"):
            written = value(role, *_ROLLING)
            found += share(0 if written is None else written, count(role, *_UNITS) or 1)
        return found

    def answers(self, pod: Object) -> bool:
        """True for the leader of a group."""
        index = mapping(pod, "metadata", "labels").get("leaderworkerset.sigs.k8s.io/worker-index")
        return index in (None, "0")


KIND = DisaggregatedSet()
