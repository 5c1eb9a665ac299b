"""The workload of a pod: desired replicas, Ready replicas, and pods waiting for a node.

Source: owner references of core/v1 and apps/v1; the `pod-template-hash` label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from barostat.core.object_reference import ObjectReference
from barostat.core.signal import Signal
from barostat.platform.objects import (
    Object,
    condition,
    fact,
    items,
    mapping,
    name_of,
    objects,
    text,
)
from barostat.platform.pod_status import unschedulable
from barostat.platform.pods import looks_like_vllm, starts_engine
from barostat.platform.workloads import WorkloadKind, kind_named, kinds

_MOST_OWNERS = 6
"""An owner reference that leads back to itself ends the search."""
_OF_DEPLOYMENT = re.compile(r"(.+)-[a-z0-9]{8,10}-[a-z0-9]{5}")
_OF_STATEFUL_SET = re.compile(r"([a-z0-9.-]+)-\d{1,3}")
_MADE = ("ReplicaSet", "RayCluster")
"""Kinds that stand for themselves only where nothing is known to own them."""
_ALONE = ("ReplicaSet", "Pod")
"""Kinds that ask for no pods by themselves."""


@dataclass(frozen=True, slots=True)
class Workload:
    """An object that owns a pod. `document` is empty if only its name is known; `replica_set` is
    the pod's own, where there is one.
    """

    kind: str
    name: str
    namespace: str = ""
    document: Object | None = None
    replica_set: Object | None = None


def workload_of(documents: Mapping[str, Any], pod: Object | None) -> Workload | None:
    """The workload that asks for the pod; the only one in the documents where the pod is not known;
    else None.

    A ReplicaSet or a RayCluster stands for itself only where nothing is known to own it; a group's pods
    belong to what makes groups, and not to the StatefulSets below that.
    """
    if pod is not None and (found := _nearest(documents, pod)):
        return found
    known = [
        (kind, item)
        for kind in kinds()
        if kind.api.kind not in _ALONE
        for item in items(documents.get(kind.api.plural))
    ]
    above = {_owner(item) for _, item in known}
    lowest = [found for found in known if (found[0].api.kind, name_of(found[1])) not in above]
    if pod is None and len(lowest) == 1:
        kind, item = lowest[0]
        return _workload(kind.api.kind, name_of(item), item)
    return None


def workload_reference(documents: Mapping[str, Any], pod: Object | None) -> ObjectReference | None:
    """The pod's workload as kubectl names it, by its owners or else by the pod's name; None if
    neither tells.
    """
    found = workload_of(documents, pod)
    if found is not None and found.kind not in _ALONE and kind_named(found.kind) is not None:
        namespace = found.namespace or text(pod, "metadata", "namespace")
        return ObjectReference(found.kind.lower(), found.name, namespace)
    return (
        None
        if pod is None
        else workload_by_pod_name(name_of(pod), text(pod, "metadata", "namespace"))
    )


def workload_by_pod_name(name: str, namespace: str) -> ObjectReference | None:
    """The workload whose controller gives its pods such names."""
    if match := _OF_DEPLOYMENT.fullmatch(name):
        return ObjectReference("deployment", match[1], namespace)
    if match := _OF_STATEFUL_SET.fullmatch(name):
        return ObjectReference("statefulset", match[1], namespace)
    return None


def belongs_to(documents: Mapping[str, Any], pod: Object, kind: WorkloadKind, name: str) -> bool:
    """True if that object owns the pod, directly or through others."""
    return any(
        (found.kind, found.name) == (kind.api.kind, name) for found in _owners(documents, pod)
    )


def declared_args(documents: Mapping[str, Any], pod: Object | None) -> tuple[str, ...]:
    """Arguments of the pod's engine that an owner declares outside of the pod's template; empty where
    the container starts the engine.
    """
    if pod is None or starts_engine(pod):
        return ()
    for owner in _owners(documents, pod):
        kind = kind_named(owner.kind)
        if kind is not None and owner.document is not None:
            declared = kind.engine_args(owner.document)
            if declared:
                return declared
    return ()


def _nearest(documents: Mapping[str, Any], pod: Object) -> Workload | None:
    found = list(_owners(documents, pod))
    of_groups = [one for one in found if _makes_groups(one.kind)]
    if of_groups:
        return of_groups[0]
    if not found:
        return None
    first = found[0]
    if first.kind not in _MADE or len(found) == 1:
        return first
    second = found[1]
    made = first.document if first.kind == "ReplicaSet" else None
    return Workload(second.kind, second.name, second.namespace, second.document, made)


def _makes_groups(kind: str) -> bool:
    known = kind_named(kind)
    return known is not None and known.unit == "group"


def _owners(documents: Mapping[str, Any], pod: Object) -> Iterator[Workload]:
    """Yield the pod's owners, the nearest first; then workloads named only by its labels."""
    namespace = text(pod, "metadata", "namespace")
    seen: set[tuple[str, str]] = set()
    item: Object | None = pod
    while item is not None and len(seen) < _MOST_OWNERS:
        kind, name = _owner(item)
        if not name or (kind, name) in seen:
            break
        seen.add((kind, name))
        item = _document(documents, kind, name, namespace)
        yield _workload(kind, name, item, namespace)
        if item is None and kind == "ReplicaSet":
            ending = "-" + text(pod, "metadata", "labels", "pod-template-hash")
            if len(ending) > 1 and name.endswith(ending):
                above = name.removesuffix(ending)
                seen.add(("Deployment", above))
                item = _document(documents, "Deployment", above, namespace)
                yield _workload("Deployment", above, item, namespace)
    for known in kinds():
        name = known.name_for(pod)
        if name and (known.api.kind, name) not in seen:
            yield _workload(
                known.api.kind,
                name,
                _document(documents, known.api.kind, name, namespace),
                namespace,
            )


def _workload(kind: str, name: str, document: Object | None, namespace: str = "") -> Workload:
    named = text(document, "metadata", "namespace") if document is not None else ""
    return Workload(
        kind, name, named or namespace, document, document if kind == "ReplicaSet" else None
    )


def _document(documents: Mapping[str, Any], kind: str, name: str, namespace: str) -> Object | None:
    known = kind_named(kind)
    if known is None:
        return None
    for item in items(documents.get(known.api.plural)):
        if (
            name_of(item) == name
            and (not namespace or text(item, "metadata", "namespace") in ("", namespace))
            and text(item, "kind") in ("", kind)
        ):
            return item
    return None


def _owner(item: Object) -> tuple[str, str]:
    owners = objects(item, "metadata", "ownerReferences")
    main = next(
        (owner for owner in owners if owner.get("controller") is True), owners[0] if owners else {}
    )
    return text(main, "kind"), text(main, "name")


def pods_of(documents: Mapping[str, Any], workload: Workload | None) -> list[Object]:
    """The workload's pods; the vLLM-like ones where the workload is not known."""
    owned = (
        pods_by_workload(documents).get((workload.kind, workload.name), [])
        if workload is not None
        else []
    )
    return owned or [item for item in items(documents.get("pods")) if looks_like_vllm(item)]


def pods_by_workload(documents: Mapping[str, Any]) -> dict[tuple[str, str], list[Object]]:
    """The pods of each workload, by its kind and name."""
    labelled = [kind for kind in kinds() if kind.name_label]
    known: dict[tuple[str, ...], Workload | None] = {}  # many pods have the same owner
    owned: dict[tuple[str, str], list[Object]] = {}
    for item in items(documents.get("pods")):
        labels = mapping(item, "metadata", "labels")
        key = (
            *_owner(item),
            text(item, "metadata", "namespace"),
            text(labels, "pod-template-hash"),
            *(kind.name_for(item) for kind in labelled),
        )
        if key not in known:
            known[key] = _nearest(documents, item)
        if (workload := known[key]) is not None:
            owned.setdefault((workload.kind, workload.name), []).append(item)
    return owned


def ready_replicas(workload: Workload | None) -> int | None:
    """Return the number of Ready units; None if there is no status."""
    kind = kind_named(workload.kind) if workload is not None else None
    if workload is None or workload.document is None or kind is None:
        return None
    return kind.ready(workload.document)


def signals(documents: Mapping[str, Any], workload: Workload | None, at: float) -> list[Signal]:
    """Return the signals replicas_wanted, replicas_ready and pods_unschedulable."""
    made: list[Signal] = []
    kind = kind_named(workload.kind) if workload is not None else None
    if workload is not None and workload.document is not None and kind is not None:
        source = f"{workload.kind} {workload.name}"
        if mapping(workload.document, "spec"):
            wanted = float(kind.replicas(workload.document))
            made += fact("replicas_wanted", wanted, at, source)
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
