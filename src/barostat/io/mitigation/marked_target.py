"""The object that a remedy changes, read with the marks that remedies leave on it."""

from __future__ import annotations

from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import Resource, resource_of
from barostat.platform.workloads import WorkloadKind, kind_named
from barostat.remedy.plan import Target


def kind_of_target(target: Target) -> WorkloadKind:
    """The target's kind. Errors: KeyError for one that is not known (our bug)."""
    found = kind_named(target.kind)
    if found is None:
        raise KeyError(target.kind)
    return found


def target_resource(target: Target) -> Resource:
    """How the API server is asked for the target."""
    return resource_of(kind_of_target(target))


async def read_home(cluster: Cluster, target: Target) -> Object | RequestFailed:
    """The target as it is now."""
    return await cluster.get(target_resource(target), target.name, target.namespace)


def typed(target: Target) -> str:
    """The target as a person types it, with its namespace."""
    return f"{kind_of_target(target).typed(target.name)} in {target.namespace}"
