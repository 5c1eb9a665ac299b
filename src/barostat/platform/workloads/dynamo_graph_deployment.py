"""NVIDIA DynamoGraphDeployment.

Arguments: `spec.services.NAME.extraPodSpec.mainContainer`. Rolls: the Dynamo operator makes a
PodCliqueSet of Grove, or Deployments, and passes a change on at once. Back: the former spec. Reverts:
the operator owns all below it.
Source: nvidia.com/v1alpha1; operator of dynamo, internal/consts.
"""

from __future__ import annotations

from typing import Any

from barostat.platform.objects import Object, count, mapping, objects
from barostat.platform.workloads._kind import Api, Part, Place, WorkloadKind, put

_PLACE = Place(("spec", "services", "*", "extraPodSpec"), "pod-spec", units=("replicas",))
_MAIN = "mainContainer"


class DynamoGraphDeployment(WorkloadKind):
    """Each service is a role: Frontend, prefill and decode workers."""

    api = Api("DynamoGraphDeployment", "dynamographdeployments", "nvidia.com", "v1alpha1", "dgd")
    places = (_PLACE,)
    source_path = ("spec",)
    name_label = "nvidia.com/dynamo-graph-deployment-name"
    role_label = "nvidia.com/dynamo-component"
    pod_suffix = "-.*"
    whole = False
    default_replicas = None
    by_hand = (
        "the Dynamo operator passes a change on to all pods of a service at once: apply the patch to "
        "extraPodSpec.mainContainer of the service under pressure, or set updateStrategy OnDelete on "
        "the PodCliqueSet and delete one pod first"
    )
    reverts = "the Dynamo operator writes all below it again"

    def parts(self, item: Object) -> tuple[Part, ...]:
        """Services whose main container is given; those that start an engine come first."""
        found = []
        for name, service in mapping(item, "spec", "services").items():
            main = mapping(service, "extraPodSpec", _MAIN)
            if main:
                path = ("spec", "services", name, "extraPodSpec", _MAIN)
                container = {"name": "main", **main}
                template = {"spec": {"containers": [container]}}
                units = count(service, "replicas")
                found.append(Part(name, template, path, _PLACE, 1 if units is None else units))
        return tuple(sorted(found, key=lambda part: part.role == "Frontend"))

    def put_template(self, new: dict[str, Any], part: Part, template: Object) -> None:
        """Write the main container, which has no name here."""
        (container,) = objects(template, "spec", "containers")
        put(new, part.path, {key: found for key, found in container.items() if key != "name"})

    def replicas(self, item: Object) -> int:
        """Replicas of all services but the front end."""
        return sum(part.units for part in self.parts(item) if part.role != "Frontend")

    def ready(self, item: Object) -> int | None:
        """The status has no count of Ready pods."""
        return None


KIND = DynamoGraphDeployment()
