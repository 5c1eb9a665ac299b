"""Everything that a plan is made from and judged by, read from the cluster in parallel. What cannot
be read is None, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from barostat.core.errors import OutsideError
from barostat.io.clock import Clock
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import (
    ACCESS_REVIEWS,
    ARGO_APPLICATIONS,
    AUTOSCALERS,
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    ENDPOINT_SLICES,
    FLUX_HELM_RELEASES,
    FLUX_KUSTOMIZATIONS,
    INFERENCE_POOLS,
    NODES,
    PODS,
    RESOURCE_QUOTAS,
    SCALED_OBJECTS,
    SERVICES,
    Resource,
    resource_of,
    workload_resource,
)
from barostat.io.kubernetes.recording.gateway_door import GatewayDoors
from barostat.io.kubernetes.recording.gateway_look import GatewayLook
from barostat.io.kubernetes.recording.live import Options, PodRecorder, Progress
from barostat.io.kubernetes.recording.target import Wanted
from barostat.io.mitigation.owner_pausing import OWNERS
from barostat.io.mitigation.target_reader import ActTiming, patient
from barostat.judge.diagnosis.diagnose import diagnose
from barostat.judge.mitigation.gateways import SeenGateway
from barostat.judge.mitigation.kept_units import RIGHTS
from barostat.judge.mitigation.target_snapshot import ALL_PODS, TargetSnapshot
from barostat.platform.objects import value
from barostat.platform.workloads import Api, CanaryKind, OwnedKind, WorkloadKind
from barostat.remedy.precheck import RIGHT_IS_MISSING

_ALWAYS: tuple[tuple[str, str, str], ...] = (
    ("list", "", "pods"), ("get", "", "pods"), ("patch", "", "pods"), ("delete", "", "pods"),
    ("list", "", "services"), ("list", "discovery.k8s.io", "endpointslices"),
    ("get", "", "configmaps"), ("list", "", "configmaps"), ("create", "", "configmaps"),
    ("update", "", "configmaps"), ("delete", "", "configmaps"),
)  # fmt: skip


_OF_A_SPARE = ("get", "create", "delete")


def needed(kind: WorkloadKind) -> tuple[tuple[str, str, str], ...]:
    """Rights that carrying out any plan for such a workload needs, as verb, group, resource."""
    api = kind.api
    verbs = ("get", "patch", "update", *kind.verbs)
    read = [workload_resource(plural) for plural in kind.reads]
    by_status = isinstance(kind, CanaryKind) or kind.marks_in_status
    status = [("patch", api.group, f"{api.plural}/status")] if by_status else []
    makes = isinstance(kind, OwnedKind) and kind.makes
    spare = [(verb, "apps", "deployments") for verb in _OF_A_SPARE] if makes else []
    return (
        *((verb, api.group, api.plural) for verb in verbs),
        *status,
        *spare,
        *(("list", found.group, found.plural) for found in read),
        *_ALWAYS,
    )


async def see(
    cluster: Cluster, namespace: str, kind: WorkloadKind, name: str, options: Options, clock: Clock, tell: Progress, pace: ActTiming,
    doors: GatewayDoors | None = None, lacking: tuple[str, ...] | None = None,
) -> TargetSnapshot:  # fmt: skip
    """The target as it is now, its engines (and the gateways before them, where there are `doors`)
    over `for_s` seconds. `lacking`: missing rights, where they have just been asked for.

    Transient failures (timeout, 429, 500, reset) are retried for `pace.patience_s` before a fact
    counts as unread.
    Errors: OutsideError, InputError as `PodRecorder.window`; OutsideError where the workload cannot
    be read.
    """
    typed = kind.typed(name)
    watcher = PodRecorder(cluster, Wanted((typed,), namespace=namespace), options, clock, tell)
    listening = GatewayLook(doors, clock, options.interval_s) if doors is not None else None
    try:
        if listening is not None:
            await listening.begin()
        await watcher.window()
        recording = (await watcher.recording()).recording
    except OutsideError as error:
        raise await with_rights(error, cluster, pace, namespace, kind) from error
    finally:
        await watcher.rest()
        if listening is not None:
            await listening.end()
    tell(f"reading what surrounds {typed}")
    home = await patient(lambda: cluster.get(resource_of(kind), name, namespace), pace)
    if isinstance(home, RequestFailed):
        raise home.error()
    home = {"apiVersion": kind.api.api_version, "kind": kind.api.kind, **home}
    held = kind.held_in(home)
    if held is not None:
        home = await _with_held(cluster, pace, kind, home, namespace, *held)
    if listening is not None:
        recording = replace(recording, gateway_pages=tuple(listening.pages))
    report = await asyncio.to_thread(diagnose, recording)
    seen = TargetSnapshot(clock.now(), home, recording, report, held=held)
    own = (
        SERVICES,
        ENDPOINT_SLICES,
        *map(workload_resource, kind.reads),
        PODS,
        RESOURCE_QUOTAS,
        DISRUPTION_BUDGETS,
        AUTOSCALERS,
        CONFIG_MAPS,
    )
    pools = INFERENCE_POOLS if isinstance(kind, OwnedKind) and kind.makes else ()
    absent = (SCALED_OBJECTS, ARGO_APPLICATIONS, FLUX_KUSTOMIZATIONS, FLUX_HELM_RELEASES)
    wide: tuple[tuple[str, Resource], ...] = (("nodes", NODES), (ALL_PODS, PODS))
    await asyncio.gather(
        *(_list(cluster, pace, resource, namespace, resource.plural, seen) for resource in own),
        *(
            _list(cluster, pace, resource, None, resource.plural, seen, may_lack=True)
            for resource in absent
        ),
        *(_list(cluster, pace, resource, None, key, seen) for key, resource in wide),
        *(_list(cluster, pace, pool, namespace, pool.right, seen) for pool in pools),
        _rights(cluster, pace, namespace, kind, seen, lacking),
    )
    await _rights_to_pause(cluster, pace, seen)
    if doors is not None:
        seen.gateways = await _gateways(doors, seen)
    return seen


async def _with_held(
    cluster: Cluster,
    pace: ActTiming,
    kind: WorkloadKind,
    home: Object,
    namespace: str,
    api: Api,
    name: str,
) -> Object:
    """Home with the templates of the object that holds them. Errors: OutsideError."""
    resource = Resource(api.kind, api.plural, api.group, api.version)
    found = await patient(lambda: cluster.get(resource, name, namespace), pace)
    if isinstance(found, RequestFailed):
        raise found.error()
    return kind.with_held(home, found)


async def _gateways(doors: GatewayDoors, seen: TargetSnapshot) -> tuple[SeenGateway, ...]:
    """Return the gateways in front of the target with their limits; none if they could not be
    searched for.
    """
    try:
        return await doors.look(seen.lists.get(ALL_PODS) or seen.lists.get("pods"))
    except OutsideError as error:
        seen.unread["gateways"] = str(error)
        return ()


async def _list(
    cluster: Cluster,
    pace: ActTiming,
    resource: Resource,
    namespace: str | None,
    key: str,
    seen: TargetSnapshot,
    *,
    may_lack: bool = False,
) -> None:
    found = await patient(lambda: cluster.list(resource, namespace), pace)
    if not isinstance(found, RequestFailed):
        seen.lists[key] = list(found.items)
    elif found.kind == "not-found" or (may_lack and found.kind == "forbidden"):
        # a kind that this cluster does not have; or one whose owners are told by the workload's own
        # marks
        seen.lists[key] = []
    elif found.kind == "forbidden":
        seen.unread[key] = RIGHT_IS_MISSING
        seen.cannot_read.append(found.right or found.why)
    else:
        seen.unread[key] = found.why


async def _rights(
    cluster: Cluster,
    pace: ActTiming,
    namespace: str,
    kind: WorkloadKind,
    seen: TargetSnapshot,
    known: tuple[str, ...] | None,
) -> None:
    seen.lacking = known
    if seen.lacking is None:
        seen.lacking = await lacking_rights(cluster, pace, namespace, kind)
    if seen.lacking is None:
        seen.unread["rights"] = "whether every right is there could not be asked"


async def lacking_rights(
    cluster: Cluster, pace: ActTiming, namespace: str, kind: WorkloadKind
) -> tuple[str, ...] | None:
    """Return the missing permissions; None if the check failed."""
    return await _lacking(cluster, pace, namespace, needed(kind))


async def _lacking(
    cluster: Cluster, pace: ActTiming, namespace: str, rights: Sequence[tuple[str, str, str]]
) -> tuple[str, ...] | None:
    answers = await asyncio.gather(*(_may(cluster, pace, namespace, *right) for right in rights))
    if None in answers:
        return None
    return tuple(
        _right(*right, namespace)
        for right, allowed in zip(rights, answers, strict=True)
        if not allowed
    )


async def lacking_to_keep(
    cluster: Cluster, pace: ActTiming, namespace: str
) -> tuple[str, ...] | None:
    """Return the missing permissions to keep a unit of a former version; None if the check failed."""
    return await _lacking(cluster, pace, namespace, RIGHTS)


async def with_rights(
    error: OutsideError, cluster: Cluster, pace: ActTiming, namespace: str, kind: WorkloadKind
) -> OutsideError:
    """The error; where rights are missing, with all that are: who gives the one that it names meets
    the next.
    """
    lacking = None if error.retryable else await lacking_rights(cluster, pace, namespace, kind)
    if not lacking:
        return error
    return OutsideError(
        f"{error}; rights that a remedy needs and that are missing: {', '.join(lacking)}",
        retryable=False,
    )


async def _rights_to_pause(cluster: Cluster, pace: ActTiming, seen: TargetSnapshot) -> None:
    """Which owners of the target may not be paused, for want of the right to patch them."""
    for switch in (owner.switch for owner in seen.writers() if owner.switch is not None):
        kind = OWNERS[switch.kind]
        if await _may(cluster, pace, switch.namespace, "patch", kind.group, kind.plural) is False:
            seen.cannot_pause[switch.kind, switch.namespace, switch.name] = _right(
                "patch", kind.group, kind.plural, switch.namespace
            )


async def _may(
    cluster: Cluster, pace: ActTiming, namespace: str, verb: str, group: str, resource: str
) -> bool | None:
    resource, _, subresource = resource.partition("/")
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {
            "resourceAttributes": {
                "namespace": namespace,
                "verb": verb,
                "group": group,
                "resource": resource,
                "subresource": subresource,
            }
        },
    }
    found = await patient(lambda: cluster.create(ACCESS_REVIEWS, review, harmless=True), pace)
    return None if isinstance(found, RequestFailed) else value(found, "status", "allowed") is True


def _right(verb: str, group: str, resource: str, namespace: str) -> str:
    return f"{verb} {resource}{'.' + group if group else ''} in {namespace}"
