"""The names in a cluster that a shell offers while one types."""

from __future__ import annotations

import asyncio

from barostat.core.errors import InputError, OutsideError
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import find_access
from barostat.io.kubernetes.client.resources import NAMESPACES, Resource, resource_of
from barostat.platform.objects import name_of
from barostat.platform.workloads import kinds

PATIENCE_S = 1.5
"""Longest wait for completions, because the user waits for the key."""


def cluster_names(
    of_namespaces: bool, namespace: str | None, context: str | None, kubeconfig: str | None
) -> list[str]:
    """Namespaces, or the workloads of one as `deploy/NAME`, `sts/NAME` and so on; none if the
    cluster does not answer in time.
    """
    try:
        cluster = Cluster(find_access(kubeconfig, context))
        return asyncio.run(_names(cluster, of_namespaces, namespace or cluster.access.namespace))
    except (InputError, OutsideError, TimeoutError):
        return []


async def _names(cluster: Cluster, of_namespaces: bool, namespace: str) -> list[str]:
    async def listed(resource: Resource, within: str | None, prefix: str) -> list[str]:
        found = await cluster.list(resource, within)
        return (
            []
            if isinstance(found, RequestFailed)
            else [f"{prefix}{name_of(item)}" for item in found.items]
        )

    try:
        async with asyncio.timeout(PATIENCE_S):
            if of_namespaces:
                return await listed(NAMESPACES, None, "")
            found = await asyncio.gather(
                *(
                    listed(resource_of(kind), namespace, f"{kind.api.word}/")
                    for kind in kinds()
                    if kind.api.kind not in ("Pod", "ReplicaSet")
                )
            )
            return [name for names in found for name in names]
    finally:
        await cluster.close()
