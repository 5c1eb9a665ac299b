"""Every node of a cluster and what all its pods request: whether a rollout finds room."""

from __future__ import annotations

import asyncio

from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import find_access
from barostat.io.kubernetes.client.resources import NODES, PODS
from barostat.judge.survey.rollout import Room
from barostat.platform.placing import used_by


def cluster_room(kubeconfig: str | None, context: str | None) -> Room | str:
    """Return the nodes and their requested resources, or why they could not be read.

    Errors: InputError, OutsideError for an unusable kubeconfig.
    """
    return asyncio.run(_read(Cluster(find_access(kubeconfig, context))))


async def _read(cluster: Cluster) -> Room | str:
    try:
        nodes, pods = await asyncio.gather(cluster.list(NODES), cluster.list(PODS))
    finally:
        await cluster.close()
    if isinstance(nodes, RequestFailed):
        return nodes.why
    if isinstance(pods, RequestFailed):
        return pods.why
    return Room(nodes.items, used_by(pods.items))
