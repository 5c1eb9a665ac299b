"""The workload that a pod belongs to: what it asks for, what is Ready, what waits for a node.

Source: apps/v1 Deployment, ReplicaSet and StatefulSet; the `pod-template-hash` label;
leaderworkerset.x-k8s.io/v1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barostat.core.object_reference import ObjectReference
from barostat.core.signal import Signal
from barostat.platform.objects import (
    Object,
    condition,
    count,
    fact,
    items,
    mapping,
    name_of,
    objects,
    text,
)
from barostat.platform.pod_status import unschedulable
from barostat.platform.pods import looks_like_vllm

IN_SET, PLACE_IN_GROUP = (
    "leaderworkerset.sigs.k8s.io/name",
    "leaderworkerset.sigs.k8s.io/worker-index",
)
"""Labels of a LeaderWorkerSet's pods: its name, and which of its group a pod is; the leader is
0.
"""

_WORKLOAD_KINDS = ("Deployment", "StatefulSet", "LeaderWorkerSet", "DaemonSet")


@dataclass(frozen=True, slots=True)
class Workload:
    """What owns a pod. `document` is empty where only its name is known; `replica_set` is the pod's
    own, where there is one.
    """

    kind: str
    name: str
    namespace: str = ""
    document: Object | None = None
    replica_set: Object | None = None


def workload_of(documents: Mapping[str, Any], pod: Object | None) -> Workload | None:
    """The pod's workload by its owner references; the only one there is where the pod is not known;
    else None.
    """
    if pod is not None and (found := _by_owner(documents, pod)):
        return found
    known = _controllers(documents)
    if pod is None and len(known) == 1:
        return _workload(known[0])
    return None


def workload_reference(documents: Mapping[str, Any], pod: Object | None) -> ObjectReference | None:
    """The pod's workload as kubectl names it, by its owners or else by the pod's name; None where
    neither tells.
    """
    found = workload_of(documents, pod)
    if found is not None and found.kind in _WORKLOAD_KINDS:
        namespace = found.namespace or text(pod, "metadata", "namespace")
        return ObjectReference(found.kind.lower(), found.name, namespace)
    return (
        None
        if pod is None
        else workload_by_pod_name(name_of(pod), text(pod, "metadata", "namespace"))
    )


def workload_by_pod_name(name: str, namespace: str) -> ObjectReference | None:
    """The workload whose controller gives its pods such names."""
    if match := re.fullmatch(r"(.+)-[a-z0-9]{8,10}-[a-z0-9]{5}", name):
        return ObjectReference("deployment", match[1], namespace)
    if match := re.fullmatch(r"([a-z0-9.-]+)-\d{1,3}", name):
        return ObjectReference("statefulset", match[1], namespace)
    return None


def _controllers(documents: Mapping[str, Any]) -> list[Object]:
    return [
        item
        for kind in ("deployments", "statefulsets", "leaderworkersets")
        for item in items(documents.get(kind))
    ]


def _workload(
    item: Object, kind: str = "Deployment", replica_set: Object | None = None
) -> Workload:
    return Workload(
        text(item, "kind") or kind,
        name_of(item),
        text(item, "metadata", "namespace"),
        item,
        replica_set,
    )


def _by_owner(documents: Mapping[str, Any], pod: Object) -> Workload | None:
    namespace = text(pod, "metadata", "namespace")
    kind, owner = _owner(pod)
    if name := text(pod, "metadata", "labels", IN_SET):
        kind, owner = "LeaderWorkerSet", name
    if not owner:
        return None
    replica_set = None
    if kind == "ReplicaSet":
        sets = [
            item
            for item in items(documents.get("replicasets"))
            if name_of(item) == owner and _same(item, namespace)
        ]
        replica_set = sets[0] if sets else None
        kind, name = _owner(replica_set) if replica_set is not None else ("", "")
        if not name:
            ending = "-" + text(pod, "metadata", "labels", "pod-template-hash")
            kind, name = (
                ("Deployment", owner.removesuffix(ending))
                if len(ending) > 1 and owner.endswith(ending)
                else ("ReplicaSet", owner)
            )
        owner = name
    for item in _controllers(documents):
        if name_of(item) == owner and _same(item, namespace) and text(item, "kind") in ("", kind):
            return _workload(item, kind, replica_set)
    return Workload(
        kind, owner, namespace, replica_set if kind == "ReplicaSet" else None, replica_set
    )


def _owner(item: Object | None) -> tuple[str, str]:
    owners = objects(item, "metadata", "ownerReferences")
    main = next(
        (owner for owner in owners if owner.get("controller") is True), owners[0] if owners else {}
    )
    return text(main, "kind"), text(main, "name")


def _same(item: Object, namespace: str) -> bool:
    return not namespace or text(item, "metadata", "namespace") in ("", namespace)


def pods_of(documents: Mapping[str, Any], workload: Workload | None) -> list[Object]:
    """The workload's pods; the vLLM-like ones where the workload is not known."""
    found = items(documents.get("pods"))
    if workload is None:
        return [item for item in found if looks_like_vllm(item)]
    told: dict[
        tuple[str, ...], Workload | None
    ] = {}  # pods of one owner, which are many, have one answer
    owned = []
    for item in found:
        labels = mapping(item, "metadata", "labels")
        key = (
            *_owner(item),
            text(item, "metadata", "namespace"),
            text(labels, "pod-template-hash"),
            text(labels, IN_SET),
        )
        other = told[key] if key in told else told.setdefault(key, _by_owner(documents, item))
        if other is not None and (other.kind, other.name) == (workload.kind, workload.name):
            owned.append(item)
    return owned or [item for item in found if looks_like_vllm(item)]


def ready_replicas(workload: Workload | None) -> int | None:
    """Replicas that are Ready, or None where the status does not tell."""
    if workload is None or workload.document is None or not mapping(workload.document, "status"):
        return None
    return count(workload.document, "status", "readyReplicas") or 0


def signals(documents: Mapping[str, Any], workload: Workload | None, at: float) -> list[Signal]:
    """replicas_wanted, replicas_ready and pods_unschedulable."""
    made: list[Signal] = []
    if workload is not None and workload.document is not None:
        source = f"{workload.kind} {workload.name}"
        if mapping(workload.document, "spec"):
            wanted = count(workload.document, "spec", "replicas")
            made += fact("replicas_wanted", float(1 if wanted is None else wanted), at, source)
        ready = ready_replicas(workload)
        if ready is not None:
            made += fact("replicas_ready", float(ready), at, source, _progress(workload.document))
    if "pods" in documents:
        waiting = [item for item in pods_of(documents, workload) if unschedulable(item)]
        why = text(condition(waiting[0], "PodScheduled"), "message") if waiting else ""
        named = f"{', '.join(name_of(item) for item in waiting[:5])}: {why}" if waiting else ""
        made += fact("pods_unschedulable", float(len(waiting)), at, "pods", named)
    return made


def _progress(document: Object) -> str:
    """Why a Deployment does not get on, where its conditions say so."""
    told = [
        f"{kind}: {text(found, 'reason')} {text(found, 'message')}".strip()
        for kind, bad in (("Progressing", "False"), ("ReplicaFailure", "True"))
        if (found := condition(document, kind)).get("status") == bad
    ]
    return "; ".join(told)
