"""VLLMRuntime of vLLM's production stack.

Arguments: `spec.vllmConfig.extraArgs` and fields of their own (`spec.model.maxModelLen`, ...). Rolls:
the operator writes a Deployment, `spec.deploymentConfig.deploymentStrategy` RollingUpdate (25 %/25 %)
or Recreate; no unit goes first. Back: the former spec. Reverts: the operator compares field by field,
and writes the number of replicas at every look.
Source: production-stack.vllm.ai/v1alpha1; operator/api/v1alpha1/vllmruntime_types.go.
"""

from __future__ import annotations

from typing import Any

from barostat.platform.objects import Object, text
from barostat.platform.workloads._flat import FlatKind
from barostat.platform.workloads._kind import Api, surge_of, unavailable_of

_CONFIG, _MODEL = ("spec", "vllmConfig"), ("spec", "model")
_DEPLOYMENT = ("spec", "deploymentConfig")


class VLLMRuntime(FlatKind):
    """Found by the Deployment that it owns."""

    api = Api("VLLMRuntime", "vllmruntimes", "production-stack.vllm.ai", "v1alpha1", "vr")
    selector_path = ()
    words_path = (*_CONFIG, "extraArgs")
    variables_path = (*_CONFIG, "env")
    flags = {  # noqa: RUF012 - never written
        "--max-model-len": (*_MODEL, "maxModelLen"),
        "--max-num-seqs": (*_MODEL, "maxNumSeqs"),
        "--dtype": (*_MODEL, "dtype"),
        "--tensor-parallel-size": (*_CONFIG, "tensorParallelSize"),
        "--gpu-memory-utilization": (*_CONFIG, "gpuMemoryUtilization"),
        "--enable-chunked-prefill": (*_CONFIG, "enableChunkedPrefill"),
        "--enable-prefix-caching": (*_CONFIG, "enablePrefixCaching"),
        "--max-loras": (*_CONFIG, "maxLoras"),
    }
    source_path = ("spec",)
    replicas_path = (*_DEPLOYMENT, "replicas")
    reads = ("replicasets", "deployments")
    pod_suffix = "-[a-z0-9]+-[a-z0-9]{5}"
    by_hand = (
        "its operator writes the Deployment again from the VLLMRuntime and replaces the pods by "
        "itself: apply the patch to the VLLMRuntime, then `barostat diagnose`; the former spec takes "
        "it back"
    )
    without_surge = (
        "Set spec.deploymentConfig.deploymentStrategy to Recreate first: all replicas then stop before "
        "the new ones start."
    )
    reverts = "the operator writes the Deployment again, the number of replicas included"

    def resources(self, item: Object) -> Object:
        """GPUs are a number of its own."""
        gpus: Any = text(item, *_DEPLOYMENT, "resources", "gpu")
        return {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}

    def surge(self, item: Object) -> int:
        """Return maxSurge of its Deployment strategy."""
        return surge_of(_strategy(item), self.replicas(item))

    def unavailable(self, item: Object) -> int:
        """Return maxUnavailable of its Deployment strategy."""
        return unavailable_of(_strategy(item), self.replicas(item))

    def ready(self, item: Object) -> int | None:
        """The status has no count of Ready pods."""
        return None


def _strategy(item: Object) -> Object:
    return {"type": text(item, *_DEPLOYMENT, "deploymentStrategy")}


KIND = VLLMRuntime()
