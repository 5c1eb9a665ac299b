"""KAITO Workspace.

Arguments: `vllm:` in `inference_config.yaml` of the ConfigMap that `inference.config` names, or the
pod template in `inference.template`. A Workspace has no `spec`. Rolls: a StatefulSet, one pod at a
time. Back: the former configuration. Reverts: the controller owns the StatefulSet, and estimates
max-model-len.
Source: kaito.sh/v1beta1; api/v1beta1/workspace_types.go of kaito.
"""

from __future__ import annotations

from barostat.platform.objects import Object, text
from barostat.platform.workloads._kind import Api, Place, WorkloadKind


class Workspace(WorkloadKind):
    """Found by its pods' label."""

    api = Api("Workspace", "workspaces", "kaito.sh", "v1beta1", "wk")
    places = (Place(("inference", "template"), units=("resource", "count")),)
    source_path = ("inference",)
    replicas_path = ("resource", "count")
    name_label = "kaito.sh/workspace"
    pod_suffix = "-[0-9]+"
    whole = False
    default_replicas = 1
    by_hand = "apply the patch to inference.template of the Workspace, then `barostat diagnose`"
    reverts = "KAITO writes the StatefulSet again from the Workspace"

    def why_not(self, item: Object) -> str:
        """A preset's arguments are in a ConfigMap."""
        if self.parts(item):
            return self.by_hand
        config = text(item, "inference", "config")
        place = (
            f"ConfigMap {config}" if config else "a ConfigMap of yours named in inference.config"
        )
        return (
            f"KAITO takes vLLM's arguments from {place}: set them below `vllm:` in its key "
            "inference_config.yaml, then delete one pod after the other"
        )

    def ready(self, item: Object) -> int | None:
        """The status has no count of Ready pods."""
        return None


KIND = Workspace()
