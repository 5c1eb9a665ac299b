"""Remedies under way on the workloads that are looked at: their records and pods are read only
where a workload is claimed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from barostat.core.diagnosis import RunningRemedy
from barostat.core.errors import OutsideError
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import CONFIG_MAPS, EVENTS, PODS
from barostat.io.kubernetes.recording.gateway_door import GatewayDoors
from barostat.judge.mitigation.gateways import SeenGateway
from barostat.judge.mitigation.running_remedies import claimed, keeping, may_keep, running
from barostat.platform.objects import name_of, objects, text
from barostat.platform.workloads import kind_of_plural, marks
from barostat.remedy.annotations import CLAIM, INCIDENT, PREVIOUS, TARGET, read_claim
from barostat.remedy.record import record_name


async def running_remedies(
    cluster: Cluster, documents: Mapping[str, Any], named: Iterable[Object] = ()
) -> tuple[RunningRemedy, ...]:
    """Return the remedies that have claimed a workload, and those that are over and keep a former
    version of one warm. What of them cannot be read is left out.

    `documents`: `kubectl get` lists by plural. `named`: workloads that the target named: while only
    a spare serves, nothing among the documents leads to them.
    """
    workloads = [
        {"kind": kind.api.kind, **item}
        for plural, document in documents.items()
        if (kind := kind_of_plural(plural)) is not None
        for item in objects(document, "items")
    ]
    by_claim = {text(marks(item), CLAIM): item for item in claimed([*workloads, *named])}
    by_uid = {text(item, "metadata", "uid"): item for item in may_keep([*workloads, *named])}
    under_way, kept = await asyncio.gather(
        asyncio.gather(*(_running(cluster, item) for item in by_claim.values())),
        asyncio.gather(*(_keeping(cluster, item) for item in by_uid.values())),
    )
    return (*under_way, *chain.from_iterable(kept))


async def _keeping(cluster: Cluster, item: Mapping[str, Any]) -> list[RunningRemedy]:
    selector = f"{PREVIOUS},{TARGET}={name_of(item)[:63]}"
    pods = await cluster.list(PODS, text(item, "metadata", "namespace"), labels=selector)
    return [] if isinstance(pods, RequestFailed) else keeping(item, pods.items)


async def _running(cluster: Cluster, item: Mapping[str, Any]) -> RunningRemedy:
    namespace = text(item, "metadata", "namespace")
    claim = read_claim(text(marks(item), CLAIM))
    record, events, pods = await asyncio.gather(
        cluster.get(CONFIG_MAPS, record_name(claim.incident), namespace),
        cluster.list(EVENTS, namespace, labels=INCIDENT),
        cluster.list(PODS, namespace),
    )
    return running(
        item,
        None if isinstance(record, RequestFailed) else record,
        () if isinstance(events, RequestFailed) else events.items,
        () if isinstance(pods, RequestFailed) else pods.items,
    )


async def held_at(doors: GatewayDoors) -> tuple[SeenGateway, ...]:
    """Return the gateways before the target with what they hold; none where they cannot be asked."""
    try:
        return await doors.look(None)
    except OutsideError:
        return ()
    finally:
        await doors.close()
