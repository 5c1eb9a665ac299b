"""Selects the cluster objects that concern one replica, so that judging a fleet of hundreds does
not read every pod for every replica.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from barostat.judge.evidence.recording import Recording, ReplicaRecording
from barostat.platform.objects import Object, items, mapping, name_of, shape_problem, text
from barostat.platform.workload import pods_by_workload

FEW = 8
"""Up to this number of replicas, each is judged with the whole recording."""

Nearby = Callable[[ReplicaRecording], Recording]


def nearby(recording: Recording) -> Nearby:
    """Return a function that reduces the recording to one replica: objects of its pod's namespace,
    the pods of its workload, its node, and events not about other pods or nodes. The recording is
    not reduced if the pod is not found by its full name.
    """
    if len(recording.replicas) <= FEW:
        return lambda _: recording
    documents = recording.kubernetes
    names = {text(pod, "metadata", "namespace") for pod in items(documents.get("pods"))}
    namespaces = {name: _of_namespace(documents, name) for name in names}
    pods = {
        f"{text(pod, 'metadata', 'namespace')}/{name_of(pod)}": pod
        for pod in items(documents.get("pods"))
    }
    siblings = {
        id(pod): group
        for around in namespaces.values()
        for group in pods_by_workload(around).values()
        for pod in group
    }
    about_pods, about_nodes, others = _events(documents)
    nodes = {name_of(node): node for node in items(documents.get("nodes"))}

    def of(replica: ReplicaRecording) -> Recording:
        pod = pods.get(replica.name)
        if pod is None:
            return recording
        namespace, node = text(pod, "metadata", "namespace"), text(pod, "spec", "nodeName")
        around = dict(namespaces[namespace])
        around["pods"] = siblings.get(id(pod), [pod])
        if node in nodes:
            around["nodes"] = [nodes[node]]
        if others is not None:
            around["events"] = [
                *about_pods[name_of(pod)],
                *about_nodes[node],
                *others,
            ]
        return replace(recording, kubernetes=around)

    return of


def _of_namespace(documents: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """Return the objects of the namespace and cluster-scoped ones. Invalid documents are kept, so
    that they are reported.
    """
    return {
        kind: document
        if kind == "events" or shape_problem(kind, document)
        else [
            item
            for item in items(document)
            if mapping(item, "metadata").get("namespace", namespace) in (namespace, "")
        ]
        for kind, document in documents.items()
    }


def _events(
    documents: Mapping[str, Any],
) -> tuple[Mapping[str, list[Object]], Mapping[str, list[Object]], list[Object] | None]:
    """Return events about pods and about nodes by name, and all other events; None for those if the
    recording has no valid events.
    """
    about: dict[str, defaultdict[str, list[Object]]] = {
        "Pod": defaultdict(list),
        "Node": defaultdict(list),
    }
    document = documents.get("events")
    if document is None or shape_problem("events", document):
        return about["Pod"], about["Node"], None
    others = []
    for event in items(document):
        target = event.get("involvedObject") or event.get("regarding")
        kind = target.get("kind") if isinstance(target, dict) else None
        if isinstance(kind, str) and kind in about:
            about[kind][text(target, "name")].append(event)
        else:
            others.append(event)
    return about["Pod"], about["Node"], others
