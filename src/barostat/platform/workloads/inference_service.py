"""KServe InferenceService.

Arguments: `spec.predictor.model.args` and `.env` (the runtime brings the container), or
`spec.predictor.containers[]`. Rolls: Standard mode writes a Deployment (25 %/25 %, or
`predictor.deploymentStrategy`; a multi-node predictor is forced to 100 % surge); Knative mode makes a
revision. One first: `spec.canary[]` in Standard mode of v0.20, `canaryTrafficPercent` in Knative mode.
Back: the canary's entry removed; else the former predictor. Reverts: the whole spec of the Deployment
is compared and written again.
Source: serving.kserve.io/v1beta1; reconcilers/deployment of kserve v0.20.0.
"""

from __future__ import annotations

from barostat.platform.objects import Object, mapping, text
from barostat.platform.workloads._kind import Api, Place, surge_of, unavailable_of
from barostat.platform.workloads._owned import OwnedKind

_PREDICTOR = ("spec", "predictor")
_MODE = "serving.kserve.io/deploymentMode"
_KNATIVE = ("Serverless", "Knative")


class InferenceService(OwnedKind):
    """KServe makes a Deployment (or a Knative Service) of its predictor, and passes the annotations of
    the object on to the pods.
    """

    api = Api("InferenceService", "inferenceservices", "serving.kserve.io", "v1beta1", "isvc")
    places = (
        Place(
            _PREDICTOR,
            "pod-spec",
            units=(*_PREDICTOR, "minReplicas"),
            several=(*_PREDICTOR, "workerSpec"),
            model="model",
        ),
    )
    source_path = _PREDICTOR
    name_label = "serving.kserve.io/inferenceservice"
    pod_suffix = "-.*predictor-.*"
    whole = False
    replicas_path = (*_PREDICTOR, "minReplicas")
    default_replicas = None
    reads = ("replicasets", "deployments")
    makes = "-predictor"
    internal_annotations = "internal.serving.kserve.io/"
    marks_path = ("status", "annotations")
    scale_by_hand = "apply the patch: KServe, or its autoscaler, adds the replica"
    reverts = "KServe writes the whole spec of the Deployment again"
    without_surge = (
        "Set spec.predictor.deploymentStrategy to a rollingUpdate with maxSurge 0 and maxUnavailable 1 "
        "first."
    )

    def why_not(self, item: Object) -> str:
        """Knative keeps revisions and shifts requests between them."""
        if self.is_knative(item):
            return (
                "Knative makes a revision of a changed predictor: apply the patch together with "
                "spec.predictor.canaryTrafficPercent 20, watch the new revision with `barostat "
                "diagnose`, then set 100; 0 gives all requests back to the former revision"
            )
        if mapping(item, *_PREDICTOR, "workerSpec"):
            return (
                "KServe starts all pods of a predictor with workerSpec again beside those that run, "
                "which takes twice their GPUs: apply the patch when they are free, then `barostat "
                "diagnose`; the former predictor takes it back"
            )
        return super().why_not(item)

    def query(self, name: str, item: Object | None) -> str:
        """By the label of the Deployment's selector, too: a spare has it only while it serves."""
        named = super().query(name, item)
        return f"{named},app=isvc.{name}-predictor" if item and not self.is_knative(item) else named

    def is_knative(self, item: Object) -> bool:
        """True if Knative runs its pods."""
        asked = text(item, "metadata", "annotations", _MODE)
        return (asked or text(item, "status", "deploymentMode")) in _KNATIVE

    def labels(self, item: Object) -> Object:
        """Return the labels that KServe gives its pods."""
        return {}

    def surge(self, item: Object) -> int:
        """All replicas again where one is several pods, or where Knative starts a revision."""
        if self.is_knative(item) or mapping(item, *_PREDICTOR, "workerSpec"):
            return self.replicas(item)
        return surge_of(mapping(item, *_PREDICTOR, "deploymentStrategy"), self.replicas(item))

    def unavailable(self, item: Object) -> int:
        """None if all replicas are started again."""
        if self.is_knative(item) or mapping(item, *_PREDICTOR, "workerSpec"):
            return 0
        return unavailable_of(mapping(item, *_PREDICTOR, "deploymentStrategy"), self.replicas(item))

    def ready(self, item: Object) -> int | None:
        """The status does not count pods."""
        return None


KIND = InferenceService()
