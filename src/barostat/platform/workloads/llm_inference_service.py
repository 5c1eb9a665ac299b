"""KServe LLMInferenceService.

Arguments: `spec.template.containers[name=main].args`, or the variable `VLLM_ADDITIONAL_ARGS` that
the presets' command reads; prefill has its own `spec.prefill.template`; `spec.worker` makes groups.
Rolls: Deployment 25 %/25 %, LeaderWorkerSet 1/0. Reverts: the controller owns the Deployment
`NAME-kserve`; presets come in by `baseRefs`, so that an edit may belong to an LLMInferenceServiceConfig.
Source: serving.kserve.io/v1alpha2; pkg/controller/v1alpha2/llmisvc of kserve v0.20.0.
"""

from __future__ import annotations

from barostat.platform.workloads._kind import Api, Place, WorkloadKind


class LLMInferenceService(WorkloadKind):
    """Decode pods stand in `spec`, prefill pods in `spec.prefill`."""

    api = Api(
        "LLMInferenceService", "llminferenceservices", "serving.kserve.io", "v1alpha2", "llmisvc"
    )
    places = (
        Place(
            ("spec", "template"),
            "pod-spec",
            several=("spec", "worker"),
            parallel=("spec", "parallelism"),
        ),
        Place(("spec", "worker"), "pod-spec", "worker", several=("spec", "worker")),
        Place(
            ("spec", "prefill", "template"),
            "pod-spec",
            "prefill",
            units=("spec", "prefill", "replicas"),
            several=("spec", "prefill", "worker"),
            parallel=("spec", "prefill", "parallelism"),
        ),
        Place(
            ("spec", "prefill", "worker"),
            "pod-spec",
            "prefill worker",
            units=("spec", "prefill", "replicas"),
            several=("spec", "prefill", "worker"),
        ),
    )
    source_path = ("spec",)
    name_label = "app.kubernetes.io/name"
    other_labels = {  # noqa: RUF012 - never written
        "app.kubernetes.io/part-of": "llminferenceservice",
    }
    role_label = "llm-d.ai/role"
    pod_suffix = "-kserve.*"
    whole = False
    default_replicas = None
    by_hand = (
        "set it in spec.template of the LLMInferenceService, or in the variable "
        "VLLM_ADDITIONAL_ARGS of its container main"
    )
    reverts = "KServe writes the Deployment again from the LLMInferenceService"


KIND = LLMInferenceService()
