"""Everything that a plan is made from and judged by, read from the cluster in parallel. What cannot be read is None, with the reason."""

from __future__ import annotations

import asyncio

from barostat.io.clock import Clock
from barostat.io.kubernetes.cluster import Cluster
from barostat.io.kubernetes.failures import Failed
from barostat.io.kubernetes.live import Options, Progress, Watcher
from barostat.io.kubernetes.resources import (
    ACCESS_REVIEWS,
    ARGO_APPLICATIONS,
    AUTOSCALERS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    DISRUPTION_BUDGETS,
    ENDPOINT_SLICES,
    FLUX_HELM_RELEASES,
    FLUX_KUSTOMIZATIONS,
    NODES,
    PODS,
    REPLICA_SETS,
    RESOURCE_QUOTAS,
    SCALED_OBJECTS,
    SERVICES,
    Resource,
)
from barostat.io.kubernetes.target import Wanted
from barostat.judge.diagnose import diagnose
from barostat.judge.remedy_scene import ALL_PODS, Seen
from barostat.platform.objects import value

NEEDED: tuple[tuple[str, str, str], ...] = (
    ("get", "apps", "deployments"), ("patch", "apps", "deployments"), ("update", "apps", "deployments"), ("create", "apps", "deployments"),
    ("delete", "apps", "deployments"), ("list", "apps", "replicasets"), ("list", "", "pods"), ("get", "", "pods"), ("patch", "", "pods"),
    ("delete", "", "pods"), ("list", "", "services"), ("list", "discovery.k8s.io", "endpointslices"), ("get", "", "configmaps"),
    ("list", "", "configmaps"),
    ("create", "", "configmaps"), ("update", "", "configmaps"), ("delete", "", "configmaps"),
)  # fmt: skip
"""Rights that carrying out any plan needs, as verb, group, resource."""


async def see(cluster: Cluster, namespace: str, name: str, options: Options, clock: Clock, tell: Progress) -> Seen:
    """The target as it is now, its engines over `for_s` seconds.

    Errors: OutsideError, InputError as `Watcher.window`; OutsideError where the Deployment cannot be read.
    """
    watcher = Watcher(cluster, Wanted((f"deploy/{name}",), namespace=namespace), options, clock, tell)
    try:
        await watcher.window()
        recording = (await watcher.recording()).recording
    finally:
        await watcher.rest()
    home = await cluster.get(DEPLOYMENTS, name, namespace)
    if isinstance(home, Failed):
        raise home.error()
    home = {"apiVersion": "apps/v1", "kind": "Deployment", **home}
    seen = Seen(clock.now(), home, recording, diagnose(recording))
    own = (SERVICES, ENDPOINT_SLICES, REPLICA_SETS, PODS, RESOURCE_QUOTAS, DISRUPTION_BUDGETS, AUTOSCALERS, CONFIG_MAPS)
    absent = (SCALED_OBJECTS, ARGO_APPLICATIONS, FLUX_KUSTOMIZATIONS, FLUX_HELM_RELEASES)
    wide: tuple[tuple[str, Resource], ...] = (("nodes", NODES), (ALL_PODS, PODS))
    await asyncio.gather(
        *(_list(cluster, resource, namespace, resource.plural, seen) for resource in own),
        *(_list(cluster, resource, None, resource.plural, seen, may_lack=True) for resource in absent),
        *(_list(cluster, resource, None, key, seen) for key, resource in wide),
        _rights(cluster, namespace, seen),
    )
    return seen


async def _list(cluster: Cluster, resource: Resource, namespace: str | None, key: str, seen: Seen, *, may_lack: bool = False) -> None:
    found = await cluster.list(resource, namespace)
    if not isinstance(found, Failed):
        seen.lists[key] = list(found.items)
    elif found.kind == "not-found" or (may_lack and found.kind == "forbidden"):
        # a kind that this cluster does not have; or one whose owners are told by the workload's own marks
        seen.lists[key] = []
    else:
        seen.unread[key] = found.why


async def _rights(cluster: Cluster, namespace: str, seen: Seen) -> None:
    async def ask(verb: str, group: str, resource: str) -> bool | None:
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"namespace": namespace, "verb": verb, "group": group, "resource": resource}},
        }
        found = await cluster.create(ACCESS_REVIEWS, review, harmless=True)
        return None if isinstance(found, Failed) else value(found, "status", "allowed") is True

    answers = await asyncio.gather(*(ask(*right) for right in NEEDED))
    if None in answers:
        seen.unread["rights"] = "whether every right is there could not be asked"
        return
    lacking = [right for right, allowed in zip(NEEDED, answers, strict=True) if not allowed]
    seen.lacking = tuple(f"{verb} {resource}{'.' + group if group else ''} in {namespace}" for verb, group, resource in lacking)
