"""Builds the patch for the owner's source when a direct write would be reverted; a person applies
it.

Chart values are used only if the chart is certain from its objects; otherwise the manifest is
patched.

Source: the chart of vLLM's production stack (deployment-vllm-multi: names, labels, vllmConfig),
autoscaling/v2, KEDA ScaledObject v1alpha1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from barostat.catalog.settings.table import SETTINGS, canonical_name
from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.config_change import changed_template
from barostat.judge.manifest_edit.flag_surgery import NotChanged, Surgery
from barostat.judge.manifest_edit.pod_spec_change import with_pod_spec
from barostat.platform.objects import Object, mapping, name_of, objects, text
from barostat.platform.owner import Owner
from barostat.platform.pods import engine_container
from barostat.platform.workloads import Api, WorkloadKind, kind_named

Form = Literal["values", "manifest", "autoscaler"]


@dataclass(frozen=True, slots=True)
class SourcePatch:
    """A change of the owner's source: what to change, where, and how it is deployed.

    `document`: an excerpt of values, a strategic merge patch of the manifest, or one of the
    autoscaler. `certain`: False if the place in the source had to be left to the person.
    """

    form: Form
    where: str
    document: Mapping[str, Any]
    then: str
    certain: bool


def source_patch(owner: Owner, workload: Object, surgery: Surgery) -> SourcePatch:
    """Return the patch of an engine setting for the owner of the workload's manifest."""
    if (
        owner.kind in ("helm", "flux-helm-release")
        and (values := _stack_values(workload, surgery)) is not None
    ):
        return SourcePatch("values", owner.source, values, _then(owner), certain=True)
    config_map = surgery.patch.kind == "ConfigMap"
    identity = {
        "apiVersion": "v1" if config_map else text(workload, "apiVersion") or "apps/v1",
        "kind": "ConfigMap" if config_map else text(workload, "kind") or "Deployment",
        "metadata": {
            "name": surgery.patch.name if config_map else name_of(workload),
            "namespace": text(workload, "metadata", "namespace"),
        },
    }
    return SourcePatch(
        "manifest",
        owner.source,
        {**identity, **surgery.patch.strategic},
        _then(owner),
        certain=owner.kind in ("argo-cd", "flux-kustomization"),
    )


def manifest_patch(owner: Owner, workload: Object, change: ConfigChange) -> SourcePatch | None:
    """Return the patch of a pod-spec change for the owner's manifest; None if it does not change
    the template.
    """
    before = mapping(workload, "spec", "template")
    after = with_pod_spec(change, before)
    container = engine_container(before)
    if isinstance(after, NotChanged) or container is None:
        return None
    old, new = (
        {text(item, "name"): item for item in objects(found, "spec", "containers")}[container.name]
        for found in (before, after)
    )
    pod = _changed(mapping(before, "spec"), mapping(after, "spec"), but="containers")
    if inner := _changed(old, new):
        pod = {"containers": [{"name": container.name, **inner}], **pod}
    identity = {
        "apiVersion": text(workload, "apiVersion") or "apps/v1",
        "kind": text(workload, "kind") or "Deployment",
    }
    metadata = {"name": name_of(workload), "namespace": text(workload, "metadata", "namespace")}
    document = {**identity, "metadata": metadata, "spec": {"template": {"spec": pod}}}
    return SourcePatch(
        "manifest",
        owner.source,
        document,
        _then(owner),
        certain=owner.kind in ("argo-cd", "flux-kustomization"),
    )


def _changed(before: Object, after: Object, but: str = "") -> dict[str, Any]:
    """Return the keys that differ with their new values; null for removed keys."""
    return {
        key: after.get(key)
        for key in dict.fromkeys([*after, *before])
        if key != but and after.get(key) != before.get(key)
    }


def own_patch(
    kind: WorkloadKind,
    item: Object,
    change: ConfigChange,
    replicas: int = 1,
    held: tuple[Api, str] | None = None,
) -> SourcePatch | None:
    """Return the change as a merge patch of the object, or of the object that holds its templates
    (`held`); None if the object has no field for it.
    """
    api, name = held or (kind.api, name_of(item))
    namespace = text(item, "metadata", "namespace")
    if change.kind == "replicas":
        patch: Mapping[str, Any] = kind.with_replicas(item, replicas + 1)
    else:
        new = kind.edited(item, lambda template: changed_template(change, template))
        patch = {} if isinstance(new, NotChanged) else merge_patch(item, new)
    if not patch:
        return None
    identity = {"apiVersion": api.api_version, "kind": api.kind}
    document = {**identity, "metadata": {"name": name, "namespace": namespace}, **patch}
    resource = f"{api.plural}.{api.group}" if api.group else api.plural
    patched = f"kubectl patch {resource} {name} -n {namespace} --type merge --patch-file FILE"
    then = kind.apply or patched
    where = f"{api.kind} {name} in {namespace}"
    return SourcePatch("manifest", where, document, then, certain=True)


def merge_patch(before: Object, after: Object) -> dict[str, Any]:
    """Return the JSON merge patch (RFC 7386) from one to the other: lists as a whole, null for
    removed keys.
    """
    found: dict[str, Any] = {}
    for key in dict.fromkeys([*after, *before]):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        both = isinstance(old, Mapping) and isinstance(new, Mapping)
        found[key] = merge_patch(mapping(old), mapping(new)) if both else new
    return found


def former_release(owner: Owner) -> str:
    """Return how to roll back with the owner's own tool."""
    match owner.kind:
        case "helm":
            return f"helm rollback {owner.name} -n {owner.namespace}"
        case "argo-cd" | "flux-kustomization" | "flux-helm-release":
            return (
                f"revert the last change in {owner.source}; "
                f"{_then(owner).replace('commit it, then ', 'then ')}"
            )
        case _:
            return f"go back to the former version in {owner.source} and deploy as usual"


def least_replicas(owner: Owner, replicas: int) -> SourcePatch | None:
    """Return the patch that raises the autoscaler's minimum; None if the owner is no autoscaler."""
    field = {"hpa": "minReplicas", "keda": "minReplicaCount"}.get(owner.kind)
    if field is None:
        return None
    kind = "ScaledObject" if owner.kind == "keda" else "HorizontalPodAutoscaler"
    version = "keda.sh/v1alpha1" if owner.kind == "keda" else "autoscaling/v2"
    document = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": owner.name, "namespace": owner.namespace},
        "spec": {field: replicas},
    }
    return SourcePatch(
        "autoscaler", owner.source, document, "it adds the replicas by itself", certain=True
    )


def _stack_values(workload: Object, surgery: Surgery) -> Mapping[str, Any] | None:
    """Return values for vLLM's production-stack chart if the object's name and labels show that
    chart; else None.
    """
    labels = mapping(workload, "metadata", "labels")
    release, model = text(labels, "helm-release-name"), text(labels, "model")
    if (
        not release
        or not model
        or name_of(workload) != f"{release}-{model}-deployment-vllm"
        or surgery.change.kind != "argument"
    ):
        return None
    setting = SETTINGS.get(canonical_name(surgery.change.name))
    if setting is None or not setting.chart or surgery.change.value is None:
        return None  # extraArgs is a list: one entry cannot be set without the others
    return {
        "servingEngineSpec": {
            "modelSpec": [
                {"name": model, "vllmConfig": {setting.chart: _typed(surgery.change.value)}}
            ]
        }
    }


def _typed(written: str) -> int | float | bool | str:
    if written in ("true", "false"):
        return written == "true"
    for kind in (int, float):
        try:
            return kind(written)
        except ValueError:
            continue
    return written


def _then(owner: Owner) -> str:
    match owner.kind:
        case "helm":
            return f"helm upgrade {owner.name} -n {owner.namespace} with these values"
        case "argo-cd":
            return f"commit it, then argocd app sync {owner.name}"
        case "flux-kustomization":
            return (
                f"commit it, then flux reconcile kustomization {owner.name} -n "
                f"{owner.namespace} --with-source"
            )
        case "flux-helm-release":
            return (
                f"commit it, then flux reconcile helmrelease {owner.name} -n {owner.namespace} "
                "--with-source"
            )
        case "operator":
            kind = kind_named(owner.source.partition(" ")[0])
            ask = (
                ""
                if kind is None
                else (
                    f": barostat mitigate {kind.typed(owner.name)} -n {owner.namespace} prints the patch"
                )
            )
            return f"set it in {owner.source}; its operator writes the workload from there{ask}"
        case _:
            return f"set it in {owner.source} and deploy as usual"
