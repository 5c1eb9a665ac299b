"""AIBrix StormService.

Arguments: `spec.template.spec.roles[].template`. Rolls: RoleSets by `updateStrategy` (RollingUpdate
with `maxSurge` and `maxUnavailable`, or InPlaceUpdate), within one the roles in `upgradeOrder`. One
first: `spec.paused: true` after the first RoleSet. Back: the former template (ControllerRevisions).
Reverts: StormService owns RoleSets, RoleSet owns pods.
Source: orchestration.aibrix.ai/v1alpha1; pkg/controller/stormservice/sync.go of aibrix v0.7.0.
"""

from __future__ import annotations

from barostat.platform.objects import Object, mapping, value
from barostat.platform.workloads._kind import Api, Place, WorkloadKind, share


class StormService(WorkloadKind):
    """Each role has a template of its own: `prefill`, `decode`."""

    api = Api("StormService", "stormservices", "orchestration.aibrix.ai", "v1alpha1")
    places = (
        Place(
            ("spec", "template", "spec", "roles", "*", "template"),
            units=("replicas",),
            size=("podGroupSize",),
        ),
    )
    source_path = ("spec",)
    name_label = "storm-service-name"
    role_label = "role-name"
    pod_suffix = "-roleset-.*"
    by_hand = (
        "a StormService has no partition: change the template of the role in "
        "spec.template.spec.roles, set spec.paused to true once the first RoleSet runs it, and set it "
        "back to false when `barostat diagnose` shows that it helps"
    )
    reverts = "the StormService controller makes the RoleSets again from its template"

    def surge(self, item: Object) -> int:
        """RoleSets beyond those asked for: none where nothing is said."""
        strategy = mapping(item, "spec", "updateStrategy")
        written = value(strategy, "maxSurge")
        return share(0 if written is None else written, self.replicas(item))


KIND = StormService()
