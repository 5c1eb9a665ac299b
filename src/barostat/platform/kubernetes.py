"""Everything that a bundle's kubernetes/ documents say about one replica, as signals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barostat.core.signal import Signal
from barostat.platform import autoscaler, nodes, pod_status, rollout, workload
from barostat.platform.events import about, read_events
from barostat.platform.objects import items, name_of, shape_problem, text
from barostat.platform.pods import engine_container, find_pod


def signals(documents: Mapping[str, Any], pod: str, at: float) -> tuple[list[Signal], list[str]]:
    """The pod_*, node_*, replicas_*, hpa_* and rollout signals of the replica, and what was wrong with the documents.

    `documents`: decoded `kubectl get -o json` by kind (pods, events, nodes, replicasets, deployments, statefulsets, hpas). `pod`: the
    replica's name; where no pod is called so, the only pod that looks like vLLM stands for it.
    """
    problems = [problem for kind in documents if (problem := shape_problem(str(kind), documents[kind]))]
    found = find_pod(documents, pod)
    known = items(documents.get("pods"))
    if found is None and known:
        named = ", ".join(name_of(item) for item in known[:5])
        problems.append(f"kubernetes pods: none is called {pod!r} (there are {len(known)}: {named})")
    events = read_events(documents)
    owner = workload.workload_of(documents, found)
    made: list[Signal] = []
    if found is not None:
        container = engine_container(found)
        own_events = about(events, "Pod", name_of(found), text(found, "metadata", "namespace"))
        made += pod_status.signals(found, container, own_events, at, "events" in documents)
        if node := text(found, "spec", "nodeName"):
            made += nodes.signals(documents, node, events, at)
    made += workload.signals(documents, owner, at)
    made += autoscaler.signals(documents, owner, at)
    newest = rollout.newest_replica_set(documents, owner.name) if owner else ""
    made += autoscaler.scale_in_signals(events, owner, newest, at)
    made += rollout.signals(rollout.last_rollout(documents, pod, at), at)
    return made, problems
