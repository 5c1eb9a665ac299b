"""KAITO InferenceSet: Workspaces of one template.

Arguments: as a Workspace's, in `spec.template.inference`. Rolls: `updateStrategy` of the set, one
Workspace at a time. Back: the former configuration. Reverts: the set owns its Workspaces.
Source: kaito.sh/v1alpha1; api/v1alpha1/inferenceset_types.go of kaito.
"""

from __future__ import annotations

from barostat.platform.objects import Object, text
from barostat.platform.workloads._kind import Api, Place, WorkloadKind


class InferenceSet(WorkloadKind):
    """Found by the Workspaces that it owns."""

    api = Api("InferenceSet", "inferencesets", "kaito.sh", "v1alpha1")
    selector_path = ()
    places = (Place(("spec", "template", "inference", "template")),)
    source_path = ("spec",)
    reads = ("statefulsets", "workspaces")
    pod_suffix = "-.*-[0-9]+"
    whole = False
    by_hand = "apply the patch to spec.template.inference of the set, then `barostat diagnose`"
    reverts = "the InferenceSet controller owns its Workspaces"

    def why_not(self, item: Object) -> str:
        """A preset's arguments are in a ConfigMap."""
        if self.parts(item):
            return self.by_hand
        config = text(item, "spec", "template", "inference", "config")
        place = f"ConfigMap {config}" if config else "a ConfigMap of yours"
        return (
            f"KAITO takes vLLM's arguments from {place}, named in spec.template.inference.config: set "
            "them below `vllm:` in its key inference_config.yaml, then delete one pod after the other"
        )


KIND = InferenceSet()
