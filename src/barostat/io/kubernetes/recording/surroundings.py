"""The surroundings of an engine in its cluster, as `kubectl get -o json` would print them: events,
nodes, ReplicaSets, workloads and whatever keeps those, autoscalers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from barostat.io.kubernetes.client.cluster import Cluster, Listed, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import (
    AUTOSCALERS,
    DEPLOYMENTS,
    EVENTS,
    NODES,
    REPLICA_SETS,
    resource_of,
)
from barostat.platform.objects import mapping, name_of, objects, text
from barostat.platform.workloads import WorkloadKind, kind_named, kinds

MOST_NODES = 12
"""Up to here each node is got by name; above, the list of all is shorter."""
_MOST_LEVELS = 4
"""Owners above a pod's ReplicaSet or Deployment: StatefulSet, LeaderWorkerSet, its own keeper."""
NODE_EVENTS = "default"
"""The namespace in which events about nodes are kept."""

TELLS: tuple[tuple[str, str], ...] = (
    ("pods/proxy", "what the engine itself measures: every kind of KV pressure"),
    ("pods/portforward", "what the engine itself measures, where the pod proxy does not reach it"),
    ("pods/log", "failures at start, out-of-memory, and the pool that the engine resolved"),
    ("pods/exec", "the state of the cards (nvidia-smi, amd-smi)"),
    ("events", "evictions, failed probes, scheduling and scale-ins"),
    ("nodes", "whether the node is under pressure, unhealthy or cordoned"),
    ("replicasets.apps", "whether a rollout came before the harm, and what it changed"),
    ("deployments.apps", "how many replicas are wanted, and whether a rollout is stuck"),
    *(
        (kind.api.plural, "how many replicas are wanted, and which object keeps the arguments")
        for kind in kinds()
        if kind.api.kind not in ("Deployment", "ReplicaSet", "Pod")
    ),
    ("horizontalpodautoscalers", "whether the autoscaler is at its maximum"),
    (
        "configmaps",
        (
            "the settings that come from a ConfigMap: variables, an entrypoint script, the "
            "file behind --config"
        ),
    ),
    ("pods", "the state of the pods, and the cards' exporters"),
)


@dataclass(slots=True)
class Surroundings:
    """Documents by kind, as a bundle holds them; rights that are missing, as `verb resource in
    namespace`; other trouble.
    """

    documents: dict[str, Any] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def take(
        self, kind: str, found: Listed | RequestFailed, wanted: Iterable[Object] | None = None
    ) -> None:
        """Keeps the objects of a list (or those of them that are `wanted`), or notes why there are
        none.
        """
        if isinstance(found, RequestFailed):
            self.trouble(found)
            return
        kept = list(found.items if wanted is None else wanted)
        self.documents.setdefault(kind, {"apiVersion": "v1", "kind": "List", "items": []})[
            "items"
        ] += kept

    def trouble(self, failed: RequestFailed) -> None:
        """Notes a failure: a missing right by itself, anything else as a problem."""
        if failed.kind == "forbidden":
            self.lacking.append(failed.right)
        elif failed.kind != "not-found":  # an API that this cluster does not have
            self.problems.append(failed.why)


def missing(lacking: Iterable[str]) -> tuple[str, ...]:
    """Return each missing right once, with the information lost without it."""
    return tuple(
        (
            f"cannot {right}: that would have told "
            f"{next((tells for part, tells in TELLS if part in right.split(' in ')[0]), 'more')}"
        )
        for right in dict.fromkeys(lacking)
    )


async def surroundings(cluster: Cluster, pods: list[Object]) -> Surroundings:
    """Read everything around these pods in parallel; unreadable parts are reported and stop
    nothing.
    """
    around = Surroundings()
    around.documents["pods"] = {"apiVersion": "v1", "kind": "List", "items": list(pods)}
    namespaces = sorted({text(pod, "metadata", "namespace") for pod in pods})
    await asyncio.gather(
        *(_namespace(cluster, namespace, pods, around) for namespace in namespaces),
        _nodes(cluster, pods, around),
    )
    return around


async def _namespace(
    cluster: Cluster, namespace: str, pods: list[Object], around: Surroundings
) -> None:
    own = [pod for pod in pods if text(pod, "metadata", "namespace") == namespace]
    events, sets, deployments, hpas = await asyncio.gather(
        cluster.list(EVENTS, namespace),
        cluster.list(REPLICA_SETS, namespace),
        cluster.list(DEPLOYMENTS, namespace),
        cluster.list(AUTOSCALERS, namespace),
    )
    owners = {
        text(owner, "name") for pod in own for owner in objects(pod, "metadata", "ownerReferences")
    }
    names = {name_of(pod) for pod in own} | owners
    if not isinstance(sets, RequestFailed):
        above = {
            text(owner, "name")
            for item in sets.items
            if name_of(item) in owners
            for owner in objects(item, "metadata", "ownerReferences")
        }
        names |= above
        kept = [item for item in sets.items if name_of(item) in owners or _owned_by(item, above)]
        names |= {name_of(item) for item in kept}
        around.take("replicasets", sets, kept)
    else:
        names |= {_before_hash(name) for name in owners}
        around.take("replicasets", sets)
    around.take(
        "deployments",
        deployments,
        None
        if isinstance(deployments, RequestFailed)
        else [one for one in deployments.items if name_of(one) in names],
    )
    names |= await _keepers(cluster, namespace, own, around)
    if isinstance(hpas, RequestFailed):
        around.take("hpas", hpas)
    else:
        scaling = [
            item
            for item in hpas.items
            if text(mapping(item, "spec", "scaleTargetRef"), "name") in names
        ]
        names |= {name_of(item) for item in scaling}
        around.take("hpas", hpas, scaling)
    around.take(
        "events",
        events,
        None
        if isinstance(events, RequestFailed)
        else [event for event in events.items if _about(event) in names],
    )


_LISTED = ("Pod", "ReplicaSet", "Deployment")


async def _keepers(
    cluster: Cluster, namespace: str, own: list[Object], around: Surroundings
) -> set[str]:
    """Read the other workloads that own these pods, level by level, and those that their labels
    name. Returns the names that were asked for.
    """
    below = [*own, *_taken(around, "replicasets"), *_taken(around, "deployments")]
    asked: set[tuple[str, str]] = set()
    wanted = {
        (kind.api.kind, name) for pod in own for kind in kinds() if (name := kind.name_for(pod))
    }
    for _ in range(_MOST_LEVELS):
        wanted |= {
            (text(owner, "kind"), text(owner, "name"))
            for item in below
            for owner in objects(item, "metadata", "ownerReferences")
        }
        new = {
            pair
            for pair in wanted - asked
            if pair[0] not in _LISTED and kind_named(pair[0]) is not None
        }
        if not new:
            break
        asked |= new
        below = []
        for name in sorted({kind for kind, _ in new}):
            kind = kind_named(name)
            assert kind is not None
            names = {found for of, found in new if of == name}
            below += await _workloads(cluster, kind, namespace, names, around)
    return {name for _, name in asked}


def _taken(around: Surroundings, plural: str) -> list[Object]:
    found: list[Object] = around.documents.get(plural, {}).get("items", [])
    return found


async def _workloads(
    cluster: Cluster, kind: WorkloadKind, namespace: str, names: set[str], around: Surroundings
) -> list[Object]:
    found = await cluster.list(resource_of(kind), namespace)
    if isinstance(found, RequestFailed):
        around.take(kind.api.plural, found)
        return []
    kept = [item for item in found.items if name_of(item) in names]
    around.take(kind.api.plural, found, kept)
    return kept


async def _nodes(cluster: Cluster, pods: list[Object], around: Surroundings) -> None:
    names = sorted({text(pod, "spec", "nodeName") for pod in pods} - {""})
    if not names:
        return
    fields = "involvedObject.kind=Node" + (
        f",involvedObject.name={names[0]}" if len(names) == 1 else ""
    )
    events = asyncio.create_task(cluster.list(EVENTS, NODE_EVENTS, fields=fields))
    if len(names) <= MOST_NODES:
        for found in await asyncio.gather(*(cluster.get(NODES, name) for name in names)):
            around.take("nodes", found if isinstance(found, RequestFailed) else Listed((found,)))
    else:
        listed = await cluster.list(NODES)
        around.take(
            "nodes",
            listed,
            None
            if isinstance(listed, RequestFailed)
            else [node for node in listed.items if name_of(node) in names],
        )
    told = await events
    around.take(
        "events",
        told,
        None
        if isinstance(told, RequestFailed)
        else [event for event in told.items if _about(event) in names],
    )


def _about(event: Object) -> str:
    return text(event, "involvedObject", "name") or text(event, "regarding", "name")


def _owned_by(item: Object, owners: set[str]) -> bool:
    return any(
        text(owner, "name") in owners for owner in objects(item, "metadata", "ownerReferences")
    )


def _before_hash(replica_set: str) -> str:
    return replica_set.rpartition("-")[0] or replica_set
