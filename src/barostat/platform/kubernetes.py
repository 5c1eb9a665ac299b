"""Everything that a bundle's kubernetes/ documents say about one replica, as signals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barostat.core.signal import Signal
from barostat.platform import autoscaler, nodes, pod_status, rollout, workload
from barostat.platform.events import about, read_events
from barostat.platform.objects import Object, items, mapping, name_of, shape_problem, text
from barostat.platform.pods import engine_container, find_pod


def signals(documents: Mapping[str, Any], pod: str, at: float) -> tuple[list[Signal], list[str]]:
    """Return the replica's pod_*, node_*, replicas_*, hpa_* and rollout signals, and the problems
    of the documents.

    `documents`: decoded `kubectl get -o json` by kind (pods, events, nodes, replicasets,
    deployments, statefulsets, hpas). `pod`: the replica's name; if no pod has this name, the only
    pod that looks like vLLM is used.
    """
    problems = [
        problem for kind in documents if (problem := shape_problem(str(kind), documents[kind]))
    ]
    found = find_pod(documents, pod)
    known = items(documents.get("pods"))
    if found is not None and text(found, "metadata", "namespace"):
        documents = {kind: _within(str(kind), documents[kind], found) for kind in documents}
    if found is None and known:
        named = ", ".join(name_of(item) for item in known[:5])
        problems.append(
            f"kubernetes pods: none is called {pod!r} (there are {len(known)}: {named})"
        )
    events = read_events(documents)
    owner = workload.workload_of(documents, found)
    made: list[Signal] = []
    if found is not None:
        container = engine_container(found)
        own_events = about(
            events,
            "Pod",
            name_of(found),
            text(found, "metadata", "namespace"),
            text(found, "metadata", "uid"),
        )
        made += pod_status.signals(found, container, own_events, at, "events" in documents)
        if node := text(found, "spec", "nodeName"):
            made += nodes.signals(documents, node, events, at)
    made += workload.signals(documents, owner, at)
    made += autoscaler.signals(documents, owner, at)
    newest = rollout.newest_replica_set(documents, owner.name) if owner else ""
    made += autoscaler.scale_in_signals(events, owner, newest, at)
    made += rollout.signals(rollout.last_rollout(documents, pod, at), at)
    return made, problems


def _within(kind: str, document: Any, pod: Object) -> list[Object]:
    """The objects that can matter to this pod: of its namespace or of none, as two namespaces may
    have a workload of one name each.

    Of the events those about other pods and other nodes are left out: most of what a fleet of
    hundreds has.
    """
    namespace, name, node = (
        text(pod, "metadata", "namespace"),
        name_of(pod),
        text(pod, "spec", "nodeName"),
    )
    found = [
        item
        for item in items(document)
        if mapping(item, "metadata").get("namespace", namespace) in (namespace, "")
        or kind == "events"
    ]
    if kind != "events":
        return found
    kept = []
    for item in found:
        about_it = item.get("involvedObject") or item.get("regarding")
        if not isinstance(about_it, dict):
            kept.append(item)
        elif about_it.get("kind") in ("Pod", "Node"):
            if about_it.get("name") == (name if about_it["kind"] == "Pod" else node):
                kept.append(item)
        elif about_it.get("namespace", namespace) == namespace:
            kept.append(item)
    return kept
