"""Every node of a cluster and what all its pods request: whether a rollout finds room."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import find_access
from barostat.io.kubernetes.client.resources import NODES, PODS
from barostat.platform.placing import Used, used_by


@dataclass(frozen=True, slots=True)
class ClusterRoom:
    """`used`: what pods request of each node."""

    nodes: tuple[Object, ...]
    used: Used


def cluster_room(kubeconfig: str | None, context: str | None) -> ClusterRoom | str:
    """The nodes and what is requested of them, or why they could not be read.

    Errors: InputError, OutsideError for a kubeconfig that cannot be used.
    """
    return asyncio.run(_read(Cluster(find_access(kubeconfig, context))))


async def _read(cluster: Cluster) -> ClusterRoom | str:
    try:
        nodes, pods = await asyncio.gather(cluster.list(NODES), cluster.list(PODS))
    finally:
        await cluster.close()
    for listed in (nodes, pods):
        if isinstance(listed, RequestFailed):
            return listed.why
    assert not isinstance(nodes, RequestFailed)
    assert not isinstance(pods, RequestFailed)
    return ClusterRoom(nodes.items, used_by(pods.items))
