"""KubeAI Model.

Arguments: `spec.args`, `spec.env`. Rolls: surge pods (`modelRollouts.surge` of the system's
configuration, 1), then one out-of-date Ready pod at a time; those that are not Ready at once. No unit
goes first: all pods follow the hash of the pod spec. Back: the former arguments. Reverts: the
controller owns the pods directly.
Source: kubeai.org/v1; internal/modelcontroller/pod_plan.go of kubeai v0.22.1.
"""

from __future__ import annotations

from barostat.platform.objects import Object, text
from barostat.platform.workloads._flat import FlatKind
from barostat.platform.workloads._kind import Api


class Model(FlatKind):
    """Found by its pods' label."""

    api = Api("Model", "models", "kubeai.org", "v1")
    words_path = ("spec", "args")
    variables_path = ("spec", "env")
    variables_by_name = True
    source_path = ("spec",)
    name_label = "model"
    other_labels = {"app.kubernetes.io/managed-by": "kubeai"}  # noqa: RUF012 - never written
    pod_suffix = "-.*"
    by_hand = (
        "KubeAI replaces every pod whose hash differs, one after the other, and no pod proves the "
        "change first: apply the patch to a second Model and compare the two, or to this one and "
        "`barostat diagnose` it; the former spec takes it back"
    )
    reverts = "KubeAI makes its pods again from the Model"

    def resources(self, item: Object) -> Object:
        """`resourceProfile` is a profile's name and a count of its unit."""
        name, _, number = text(item, "spec", "resourceProfile").partition(":")
        return {"limits": {"nvidia.com/gpu": number or "1"}} if "gpu" in name else {}

    def ready(self, item: Object) -> int | None:
        """Return the number of Ready pods; None if the status does not say."""
        ready = item.get("status", {}).get("replicas", {}).get("ready") if item.get("status") else 0
        return ready if isinstance(ready, int) else None

    def surge(self, item: Object) -> int:
        """One, unless the system's configuration says otherwise."""
        return 1

    def unavailable(self, item: Object) -> int:
        """None: a pod goes once all others are Ready."""
        return 0


KIND = Model()
