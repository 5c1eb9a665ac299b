"""Finds other writers of a workload (Helm, Argo CD, Flux, an operator, an autoscaler), whether they
would revert a direct write, and how to pause them.

The evidence is in the workload's owner references, labels, annotations and managed fields. The
owner's own object, if available, shows whether it corrects drift and whether it is paused.

Source: Helm 3 (meta.helm.sh annotations), Argo CD 2.7 to 3.5 (resource tracking, skip-reconcile,
syncPolicy.automated), Flux 2 (kustomize-controller, helm-controller v2: suspend, driftDetection),
KEDA 2.x (autoscaling.keda.sh/paused), Kubernetes autoscaling/v2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from barostat.platform.objects import Object, count, mapping, name_of, objects, text, value

Kind = Literal[
    "helm",
    "argo-cd",
    "flux-kustomization",
    "flux-helm-release",
    "operator",
    "own-controller",
    "hpa",
    "keda",
    "tool",
]
Reverts = Literal["at-once", "at-next-deploy", "no", "unknown"]
Reach = Literal["everything", "replicas"]

_INSTANCE = ("argocd.argoproj.io/instance",)
_TRACKING = "argocd.argoproj.io/tracking-id"
ARGO_SKIP = "argocd.argoproj.io/skip-reconcile"
KEDA_PAUSED = "autoscaling.keda.sh/paused"
_KEDA_HELD = "autoscaling.keda.sh/paused-replicas"
_DIRECTIONS, _OFF = ("scaleUp", "scaleDown"), "Disabled"
_OWN_KINDS = ("apps", "batch", "")
_TOOLS: tuple[tuple[str, str, str], ...] = (
    ("terraform", "Terraform", "the Terraform configuration"),
    ("hashicorp", "Terraform", "the Terraform configuration"),
    ("pulumi", "Pulumi", "the Pulumi program"),
    ("kapp", "kapp", "the manifests that kapp deploys"),
    ("fleet", "Rancher Fleet", "the GitRepo that Fleet deploys"),
    ("configsync", "Config Sync", "the repository that Config Sync syncs"),
)


@dataclass(frozen=True, slots=True)
class Switch:
    """How to pause and resume an owner: a merge patch of its own object, and its undo."""

    api_version: str
    kind: str
    namespace: str
    name: str
    pause: Mapping[str, Any]
    resume: Mapping[str, Any]
    note: str = ""

    def __str__(self) -> str:
        return (
            f"{self.kind.lower()}/{self.name} in {self.namespace}"
            if self.namespace
            else f"{self.kind.lower()}/{self.name}"
        )


@dataclass(frozen=True, slots=True)
class Owner:
    """Another writer of the workload.

    `over`: what it writes (an autoscaler: replicas only). `reverts`: what happens to a direct
    write. `source`: where to make the change. `paused`: it is suspended for this workload.
    `switch`: None if there is no known way to pause it.
    """

    kind: Kind
    name: str
    namespace: str
    over: Reach
    reverts: Reverts
    because: str
    source: str
    paused: bool = False
    switch: Switch | None = None

    def hinders(self, what: Reach) -> bool:
        """True if a direct write would be reverted, or may be."""
        return self.reverts != "no" and (self.over == "everything" or what == self.over)


def owners(
    workload: Object,
    *,
    hpas: Iterable[Object] = (),
    scaled_objects: Iterable[Object] = (),
    applications: Iterable[Object] = (),
    flux: Iterable[Object] = (),
    paused: Collection[tuple[str, str, str]] = (),
) -> tuple[Owner, ...]:
    """Return all other writers of this Deployment or StatefulSet, those that revert writes first.

    `applications`: Argo CD Applications; `flux`: Kustomizations and HelmReleases, as far as
    readable. `paused`: kind, namespace and name of the owners that the workload's annotation lists
    as paused.
    """
    found: list[Owner] = []
    found += _operators(workload)
    found += _argo(workload, list(applications), paused)
    found += _flux(workload, list(flux))
    if not any(owner.kind in ("argo-cd", "flux-helm-release") for owner in found):
        found += _helm(workload)
    found += _tools(workload) if not found else []
    found += _autoscalers(workload, list(hpas), list(scaled_objects))
    order = {"at-once": 0, "unknown": 1, "at-next-deploy": 2, "no": 3}
    return tuple(sorted(found, key=lambda owner: order[owner.reverts]))


def _operators(workload: Object) -> list[Owner]:
    found = []
    for entry in objects(workload, "metadata", "ownerReferences"):
        group = text(entry, "apiVersion").rpartition("/")[0]
        if group in _OWN_KINDS:
            continue
        kind, name, namespace = (
            text(entry, "kind"),
            text(entry, "name"),
            text(workload, "metadata", "namespace"),
        )
        sure = entry.get("controller") is True
        because = (
            f"it is made by {kind} {name} ({group}), whose operator "
            f"{'writes' if sure else 'may write'} it again from there"
        )
        found.append(
            Owner(
                "operator",
                name,
                namespace,
                "everything",
                "at-once" if sure else "unknown",
                because,
                f"{kind} {name} in {namespace}",
            )
        )
    return found


def _argo(
    workload: Object, applications: list[Object], paused: Collection[tuple[str, str, str]]
) -> list[Owner]:
    tracked = text(workload, "metadata", "annotations", _TRACKING).partition(":")[0]
    labelled = next(
        (found for key in _INSTANCE if (found := text(workload, "metadata", "labels", key))), ""
    )
    named = tracked or labelled
    namespace, _, name = named.rpartition("_")
    if not name and (managers := _managers(workload, "argocd")):
        instance = text(workload, "metadata", "labels", "app.kubernetes.io/instance")
        name = instance or "(unnamed)"
        because = f"the field manager {managers[0]} wrote it"
    elif not name:
        return []
    else:
        because = f"it is tracked by Argo CD application {name}"
    application = next(
        (
            item
            for item in applications
            if name_of(item) == name and namespace in ("", text(item, "metadata", "namespace"))
        ),
        None,
    )
    if application is None:
        where = f"the Git source of Argo CD application {name}"
        return [
            Owner(
                "argo-cd",
                name,
                namespace,
                "everything",
                "unknown",
                f"{because}; whether it heals drift could not be read",
                where,
            )
        ]
    namespace = text(application, "metadata", "namespace")
    automated = mapping(application, "spec", "syncPolicy", "automated")
    on = (
        "automated" in mapping(application, "spec", "syncPolicy")
        and automated.get("enabled") is not False
    )
    heals = on and automated.get("selfHeal") is True
    skipped = text(application, "metadata", "annotations", ARGO_SKIP) == "true"
    # Its automated sync was switched off for us; what is synced by hand from the start is not paused by that.
    skipped = skipped or (not on and ("Application", namespace, name) in paused)
    if skipped:
        because += ", which is paused"
    else:
        because += (
            ", which undoes drift by itself (selfHeal)"
            if heals
            else ", which undoes it at the next sync"
        )
    return [
        Owner(
            "argo-cd", name, namespace, "everything", "no" if skipped else "at-once" if heals else "at-next-deploy", because,
            _argo_source(application), paused=skipped, switch=_argo_switch(application, namespace, name, automated, on=on),
        )
    ]  # fmt: skip


def _argo_source(application: Object) -> str:
    source = mapping(application, "spec", "source") or next(
        iter(objects(application, "spec", "sources")), {}
    )
    place = text(source, "path") or text(source, "chart")
    return (
        f"{text(source, 'repoURL')}, {place} at {text(source, 'targetRevision') or 'HEAD'}"
        if source
        else f"application {name_of(application)}"
    )


def _argo_switch(
    application: Object, namespace: str, name: str, automated: Object, *, on: bool
) -> Switch:
    """Return the switch that disables auto-sync, which every version supports; the annotation if an
    ApplicationSet or a parent application would restore the policy.
    """
    made = any(
        text(entry, "kind") == "ApplicationSet"
        for entry in objects(application, "metadata", "ownerReferences")
    )
    labels, annotations = (
        mapping(application, "metadata", "labels"),
        mapping(application, "metadata", "annotations"),
    )
    child = _TRACKING in annotations or any(
        key in labels for key in (*_INSTANCE, "app.kubernetes.io/instance")
    )
    if on and not made and not child:
        pause: Mapping[str, Any] = {"spec": {"syncPolicy": {"automated": None}}}
        resume: Mapping[str, Any] = {"spec": {"syncPolicy": {"automated": dict(automated)}}}
        return Switch(
            "argoproj.io/v1alpha1",
            "Application",
            namespace,
            name,
            pause,
            resume,
            "automated sync is switched off",
        )
    former = annotations.get(ARGO_SKIP)
    note = (
        "an ApplicationSet owns the application, and may take the annotation away"
        if made
        else "reconciliation is skipped (Argo CD 2.7 and later)"
    )
    pause = {"metadata": {"annotations": {ARGO_SKIP: "true"}}}
    return Switch(
        "argoproj.io/v1alpha1",
        "Application",
        namespace,
        name,
        pause,
        {"metadata": {"annotations": {ARGO_SKIP: former}}},
        note,
    )


def _flux(workload: Object, known: list[Object]) -> list[Owner]:
    labels, annotations = (
        mapping(workload, "metadata", "labels"),
        mapping(workload, "metadata", "annotations"),
    )
    found: list[Owner] = []
    for kind, group, version, ours in (
        ("HelmRelease", "helm.toolkit.fluxcd.io", "v2", "flux-helm-release"),
        ("Kustomization", "kustomize.toolkit.fluxcd.io", "v1", "flux-kustomization"),
    ):
        name, namespace = text(labels, f"{group}/name"), text(labels, f"{group}/namespace")
        if not name:
            continue
        item = next(
            (
                one
                for one in known
                if text(one, "kind") == kind
                and name_of(one) == name
                and text(one, "metadata", "namespace") == namespace
            ),
            None,
        )
        suspended = value(item, "spec", "suspend") is True
        left = (
            annotations.get(f"{group}/reconcile") == "disabled"
            or annotations.get(f"{group}/driftDetection") == "disabled"
        )
        if suspended or left:
            reverts: Reverts = "no"
            told = "which is suspended" if suspended else "which is told to leave it alone"
        elif kind == "Kustomization":
            reverts, told = "at-once", "which applies its source again at every interval"
        elif item is None:
            reverts, told = "unknown", "and whether that corrects drift could not be read"
        else:
            corrects = text(item, "spec", "driftDetection", "mode") == "enabled"
            reverts = "at-once" if corrects else "at-next-deploy"
            told = "which corrects drift" if corrects else "which undoes it at the next upgrade"
        switch = Switch(
            f"{group}/{version}",
            kind,
            namespace,
            name,
            {"spec": {"suspend": True}},
            {"spec": {"suspend": value(item, "spec", "suspend")}},
        )
        source = _flux_source(item, kind, name)
        kind_of: Kind = "flux-helm-release" if ours == "flux-helm-release" else "flux-kustomization"
        found.append(
            Owner(
                kind_of,
                name,
                namespace,
                "everything",
                reverts,
                f"it belongs to Flux {kind} {namespace}/{name}, {told}",
                source,
                suspended or left,
                switch,
            )
        )
    return found


def _flux_source(item: Object | None, kind: str, name: str) -> str:
    if kind == "HelmRelease":
        chart = text(item, "spec", "chart", "spec", "chart")
        return f"spec.values of HelmRelease {name}" + (f" (chart {chart})" if chart else "")
    source = mapping(item, "spec", "sourceRef")
    path = text(item, "spec", "path")
    return (
        f"{text(source, 'kind')} {text(source, 'name')}, {path or './'}"
        if source
        else f"the source of Kustomization {name}"
    )


def _helm(workload: Object) -> list[Owner]:
    annotations, labels = (
        mapping(workload, "metadata", "annotations"),
        mapping(workload, "metadata", "labels"),
    )
    release = text(annotations, "meta.helm.sh/release-name")
    if (
        not release
        and labels.get("app.kubernetes.io/managed-by") != "Helm"
        and not _managers(workload, "helm")
    ):
        return []
    name = release or text(labels, "app.kubernetes.io/instance") or "(unnamed)"
    namespace = text(annotations, "meta.helm.sh/release-namespace") or text(
        workload, "metadata", "namespace"
    )
    chart = text(labels, "helm.sh/chart")
    source = f"the values of release {name}" + (f" (chart {chart})" if chart else "")
    return [
        Owner(
            "helm",
            name,
            namespace,
            "everything",
            "at-next-deploy",
            f"it belongs to Helm release {name}: the next upgrade writes the chart's value again",
            source,
        )
    ]


def _tools(workload: Object) -> list[Owner]:
    names = [
        *_managers(workload),
        text(workload, "metadata", "labels", "app.kubernetes.io/managed-by"),
    ]
    names += [
        str(key)
        for key in (
            *mapping(workload, "metadata", "annotations"),
            *mapping(workload, "metadata", "labels"),
        )
    ]
    for mark, tool, source in _TOOLS:
        if any(
            mark in name.lower().replace("-", "").replace("configmanagement.gke", "configsync")
            for name in names
        ):
            return [
                Owner(
                    "tool",
                    tool,
                    "",
                    "everything",
                    "at-next-deploy",
                    f"it is written by {tool}",
                    source,
                )
            ]
    return []


def _autoscalers(workload: Object, hpas: list[Object], scaled: list[Object]) -> list[Owner]:
    kind, name, namespace = (
        text(workload, "kind") or "Deployment",
        name_of(workload),
        text(workload, "metadata", "namespace"),
    )
    found: list[Owner] = []
    by_keda: set[str] = set()
    for item in scaled:
        target = mapping(item, "spec", "scaleTargetRef")
        if (
            text(target, "name") != name
            or text(target, "kind") not in ("", kind)
            or text(item, "metadata", "namespace") != namespace
        ):
            continue
        own = name_of(item)
        by_keda.add(own)
        annotations = mapping(item, "metadata", "annotations")
        paused = annotations.get(KEDA_PAUSED) == "true" or _KEDA_HELD in annotations
        pause = {"metadata": {"annotations": {KEDA_PAUSED: "true"}}}
        resume = {"metadata": {"annotations": {KEDA_PAUSED: annotations.get(KEDA_PAUSED)}}}
        switch = Switch(
            "keda.sh/v1alpha1",
            "ScaledObject",
            namespace,
            own,
            pause,
            resume,
            "KEDA keeps the replicas that there are",
        )
        because = f"ScaledObject {own} {'is paused' if paused else 'sets the replicas by itself'}"
        source = f"minReplicaCount and maxReplicaCount of ScaledObject {own}"
        found.append(
            Owner(
                "keda",
                own,
                namespace,
                "replicas",
                "no" if paused else "at-once",
                because,
                source,
                paused,
                switch,
            )
        )
    for item in hpas:
        target = mapping(item, "spec", "scaleTargetRef")
        if (
            text(target, "name") != name
            or text(target, "kind") not in ("", kind)
            or text(item, "metadata", "namespace") not in ("", namespace)
        ):
            continue
        keda = next(
            (
                text(entry, "name")
                for entry in objects(item, "metadata", "ownerReferences")
                if text(entry, "kind") == "ScaledObject"
            ),
            "",
        )
        if keda and keda in by_keda:
            continue
        found.append(_autoscaler(workload, item, keda))
    return found


def _autoscaler(workload: Object, item: Object, keda: str) -> Owner:
    name, namespace = name_of(item), text(item, "metadata", "namespace")
    switch: Switch | None = None
    if keda:  # its ScaledObject could not be read: a write to the HPA would not last either
        because = f"HPA {name} of KEDA's ScaledObject {keda} sets the replicas by itself"
        pause: Mapping[str, Any] = {"metadata": {"annotations": {KEDA_PAUSED: "true"}}}
        switch = Switch(
            "keda.sh/v1alpha1",
            "ScaledObject",
            namespace,
            keda,
            pause,
            {"metadata": {"annotations": {KEDA_PAUSED: None}}},
        )
        return Owner(
            "keda",
            keda,
            namespace,
            "replicas",
            "at-once",
            because,
            f"ScaledObject {keda}",
            switch=switch,
        )
    least, most = count(item, "spec", "minReplicas"), count(item, "spec", "maxReplicas")
    now = count(workload, "spec", "replicas")
    because = (
        f"HPA {name} sets the replicas by itself, between {1 if least is None else least} and "
        f"{most}"
    )
    held = now == 0 or _is_held(item, now)
    if held:
        because = (
            f"HPA {name} "
            f"{'is off while the workload asks for 0 replicas' if now == 0 else 'is told to leave the replicas alone'}"
        )
    if now:
        switch = _hpa_switch(item, namespace, name, now)
    return Owner(
        "hpa",
        name,
        namespace,
        "replicas",
        "no" if held else "at-once",
        because,
        f"minReplicas and maxReplicas of HPA {name}",
        held,
        switch,
    )


def _hpa_switch(item: Object, namespace: str, name: str, now: int) -> Switch:
    """Return the switch that disables scaling in both directions and widens the bounds so that one
    replica more or less stays within them: bounds apply without metrics.

    At 0 replicas the HPA is off by itself.
    """
    least, most = count(item, "spec", "minReplicas"), count(item, "spec", "maxReplicas")
    behavior = value(item, "spec", "behavior")
    former = (
        {key: behavior.get(key) for key in _DIRECTIONS} if isinstance(behavior, Mapping) else None
    )
    pause = {
        "minReplicas": 1,
        "maxReplicas": max(most or 1, now + 1),
        "behavior": {key: {"selectPolicy": _OFF} for key in _DIRECTIONS},
    }
    resume = {"minReplicas": least, "maxReplicas": most, "behavior": former}
    note = "it scales neither up nor down"
    return Switch(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        namespace,
        name,
        {"spec": pause},
        {"spec": resume},
        note,
    )


def _is_held(item: Object, now: int | None) -> bool:
    """True if the HPA cannot act with one replica fewer or more than now."""
    off = all(text(item, "spec", "behavior", key, "selectPolicy") == _OFF for key in _DIRECTIONS)
    least, most = count(item, "spec", "minReplicas"), count(item, "spec", "maxReplicas")
    return off and least in (None, 1) and now is not None and most is not None and most > now


def _managers(workload: Object, beginning: str = "") -> list[str]:
    """Field managers that have written the workload (not its status), by the beginning of their
    names.
    """
    names = [
        text(entry, "manager")
        for entry in objects(workload, "metadata", "managedFields")
        if text(entry, "subresource") != "status"
    ]
    return [name for name in names if name.lower().startswith(beginning)]
