"""KServe InferenceService.

Arguments: `spec.predictor.model.args` and `.env` (the runtime brings the container), or
`spec.predictor.containers[]`. Rolls: Standard mode writes a Deployment (25 %/25 %, or
`predictor.deploymentStrategy`; a multi-node predictor is forced to 100 % surge); Serverless makes a
Knative revision. Reverts: the whole spec of the Deployment is compared and written again.
Source: serving.kserve.io/v1beta1; reconcilers/deployment of kserve v0.20.0.
"""

from __future__ import annotations

from barostat.platform.workloads._kind import Api, Place, WorkloadKind


class InferenceService(WorkloadKind):
    """KServe makes a Deployment (or a Knative Service) of its predictor."""

    api = Api("InferenceService", "inferenceservices", "serving.kserve.io", "v1beta1", "isvc")
    places = (
        Place(
            ("spec", "predictor"),
            "pod-spec",
            units=("spec", "predictor", "minReplicas"),
            several=("spec", "predictor", "workerSpec"),
            model="model",
        ),
    )
    source_path = ("spec", "predictor")
    name_label = "serving.kserve.io/inferenceservice"
    pod_suffix = "-.*predictor-.*"
    whole = False
    default_replicas = None
    by_hand = (
        "set it in spec.predictor of the InferenceService: KServe writes the Deployment from there"
    )
    reverts = "KServe writes the whole spec of the Deployment again"


KIND = InferenceService()
