"""The object that a remedy changes, read with the marks that remedies leave on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import Resource, resource_of
from barostat.platform.workloads import WorkloadKind, kind_named
from barostat.remedy.plan import Target

Patched = tuple[dict[str, Any], str]


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
    found = await cluster.get(target_resource(target), target.name, target.namespace)
    return found if isinstance(found, RequestFailed) else {**found, "kind": target.kind}


def marks_patch(kind: WorkloadKind, version: str, marks: Mapping[str, str | None]) -> Patched:
    """(the merge patch of the object of that resourceVersion that sets these marks, the subresource
    that it is sent to).
    """
    body: dict[str, Any] = {"metadata": {"resourceVersion": version}}
    first, key = kind.marks_path
    body.setdefault(first, {})[key] = dict(marks)
    return body, first if kind.marks_in_status else ""


def typed(target: Target) -> str:
    """The target as a person types it, with its namespace."""
    return f"{kind_of_target(target).typed(target.name)} in {target.namespace}"
