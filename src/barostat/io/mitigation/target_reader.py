"""The target of one plan as the cluster holds it now: every look is patient, and what cannot be had
becomes the act's answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from barostat.catalog.polling import INTERVAL_S
from barostat.io.clock import Clock
from barostat.io.kubernetes.client.cluster import TRY_S, WRITE_S, Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import (
    ENDPOINT_SLICES,
    PODS,
    SERVICES,
    Resource,
    resource_of,
    workload_resource,
)
from barostat.io.mitigation.marked_target import kind_of_target, read_home
from barostat.judge.manifest_edit.config_change import digest
from barostat.judge.manifest_edit.flag_surgery import NotChanged
from barostat.judge.mitigation.changed_source import changed_source
from barostat.judge.mitigation.measurements import Key, Look
from barostat.judge.mitigation.rotation import rotation_labels, routing_services
from barostat.judge.mitigation.target_objects import behind
from barostat.platform.objects import condition, is_going, objects, text
from barostat.platform.workloads import OwnedKind, Revision, WorkloadKind, marks
from barostat.remedy.acts import Conflict, Lost, Refused
from barostat.remedy.acts import Failed as Failure
from barostat.remedy.annotations import PATCHED, written_patch
from barostat.remedy.plan import RemedyPlan

Read = TypeVar("Read")
MOST_ASKED_S = 30.0
"""A server that is too busy is left alone for as long as it asks, up to this."""


@dataclass(frozen=True, slots=True)
class ActTiming:
    """How long is waited for what. Units: seconds.

    `poll_s`: between two looks. `write_s`: the server's own time for a write; `late_s`: beyond it,
    it may take this long to give one up. `look_s`: what an answer says may be so old when it comes;
    `fresh_s`: and so much older when a write is sent. `routed_s`: every kube-proxy hears of the
    EndpointSlices by itself, and for so long a new connection may still come to a pod that has left
    them. `quiet_s`: a pod is drained when so long no request was there and none came (vLLM closes a
    connection that is idle for 5 s). `pooled_s`: a pod that still gets requests so long after it
    left them has clients that keep their connections. `settle_s`: what was asked of a replica
    before it took part counts for nothing: its first requests find an empty cache and no company.
    `interval_s`: between two scrapes of it. `patience_s`: for so long a look is tried again where
    the API server is away, which changes nothing and harms nobody. `stray_s`: after it nothing is
    on its way any more of a run that looked at the claim before, as it is the look, the pause after
    it, the write, and how late a server may be with it.
    """

    poll_s: float = 1.0
    write_s: float = WRITE_S
    late_s: float = 2.0
    look_s: float = TRY_S
    fresh_s: float = 5.0
    routed_s: float = 5.0
    quiet_s: float = 6.0
    pooled_s: float = 60.0
    settle_s: float = 10.0
    interval_s: float = INTERVAL_S
    patience_s: float = 60.0
    stray_s: float = TRY_S + 5.0 + WRITE_S + 2.0


class Denied(Exception):
    """The act ends here with that answer. Never leaves this package."""

    def __init__(self, answer: Refused | Conflict | Failure | Lost) -> None:
        super().__init__(answer.why)
        self.answer = answer


@dataclass(slots=True)
class TargetReader:
    """The cluster as one plan sees it. `looks`: what this run has measured so far, for people."""

    cluster: Cluster
    plan: RemedyPlan
    clock: Clock
    pace: ActTiming = field(default_factory=ActTiming)
    looks: dict[Key, Look] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """Namespace of the target."""
        return self.plan.target.namespace

    @property
    def kind(self) -> WorkloadKind:
        """The target's kind."""
        return kind_of_target(self.plan.target)

    @property
    def resource(self) -> Resource:
        """How the API server is asked for the target."""
        return resource_of(self.kind)

    async def got(self, resource: Resource, name: str) -> Object | None:
        """Return the object, or None if it does not exist. Errors: Denied."""
        return await self._found(lambda: self.cluster.get(resource, name, self.namespace))

    async def _found(self, look: Callable[[], Awaitable[Object | RequestFailed]]) -> Object | None:
        found = await patient(look, self.pace)
        if isinstance(found, RequestFailed):
            if found.kind == "not-found":
                return None
            raise Denied(await no(found))
        return found

    async def listed(self, resource: Resource, labels: str = "") -> list[Object]:
        """The objects of the target's namespace. Errors: Denied."""
        found = await patient(
            lambda: self.cluster.list(resource, self.namespace, labels=labels), self.pace
        )
        if isinstance(found, RequestFailed):
            raise Denied(await no(found))
        return list(found.items)

    async def home(self) -> Object:
        """The object that the plan is for. Errors: Denied, where it is gone or another one of that
        name.
        """
        found = await self._found(lambda: read_home(self.cluster, self.plan.target))
        if found is None or text(found, "metadata", "uid") != self.plan.target.uid:
            raise Denied(Conflict(f"{self.plan.target} is not the one that the plan is for"))
        return found

    def digest(self, home: Object) -> str:
        """The digest of the part of home that a change edits."""
        return digest(self.kind.source(home))

    def is_patched(self, home: Object) -> bool:
        """True if home holds the plan's change already."""
        return annotation(home, PATCHED) == written_patch(self.plan.id, self.digest(home))

    async def new_source(self, home: Object) -> dict[str, Any]:
        """The part of home that a change edits, with the plan's change. Errors: Denied."""
        if self.is_patched(home):
            return dict(self.kind.source(home))
        change, revision = self.plan.change, None
        if change.kind == "revision":
            kept = await self.revisions(home)
            revision = next((found.source for found in kept if found.number == change.value), None)
        found = changed_source(self.kind, home, change, revision=revision)
        if isinstance(found, NotChanged):
            raise Denied(Refused(found.why))
        return dict(found)

    async def lists(self) -> dict[str, list[Object]]:
        """Pods of the namespace, and what the kind reads to tell its own. Errors: Denied."""
        found = {name: await self.listed(workload_resource(name)) for name in self.kind.reads}
        return {**found, "pods": await self.listed(PODS)}

    async def revisions(self, home: Object) -> list[Revision]:
        """Home's revisions that are kept, the oldest first. Errors: Denied."""
        return self.kind.revisions(home, await self.lists())

    async def services(self, home: Object) -> list[Mapping[str, Any]]:
        """The Services that send requests to home's pods. Errors: Denied."""
        return await self._services(home, await self._made_lists())

    async def rotation_labels(self, home: Object) -> dict[str, str]:
        """The labels that take a pod in and out of rotation. Errors: Denied."""
        lists = await self._made_lists()
        return rotation_labels(self.kind, home, await self._services(home, lists), lists)

    async def _services(
        self, home: Object, lists: Mapping[str, list[Object]]
    ) -> list[Mapping[str, Any]]:
        pods = self.kind.own_pods(home, lists) if lists else ()
        return routing_services(self.kind, home, await self.listed(SERVICES), pods, lists)

    async def _made_lists(self) -> Mapping[str, list[Object]]:
        """What tells the labels of pods that an owner makes; empty if home itself has them."""
        return await self.lists() if isinstance(self.kind, OwnedKind) else {}

    async def in_rotation(self, home: Object) -> tuple[frozenset[str], frozenset[str]]:
        """Return (uids of pods that are ready in every one of the Services, uids of pods that are
        in any of them in any state). Errors: Denied.
        """
        return behind(await self.services(home), await self.listed(ENDPOINT_SLICES))

    async def home_pods(self, home: Object) -> list[Object]:
        """Home's pods that answer for a unit, without those that have ended or are going. Errors:
        Denied.
        """
        return self.kind.own_pods(home, await self.lists())


def annotation(item: Object, key: str) -> str:
    """An annotation, or empty."""
    found = marks(item).get(key)
    return found if isinstance(found, str) else ""


def controller(pod: Object) -> str:
    """The uid of the pod's controller, empty if it has none."""
    return next(
        (
            text(owner, "uid")
            for owner in objects(pod, "metadata", "ownerReferences")
            if owner.get("controller") is True
        ),
        "",
    )


def is_ready(pod: Object) -> bool:
    """The pod's condition Ready is True, and it is not on its way out."""
    return not is_going(pod) and condition(pod, "Ready").get("status") == "True"


async def patient(
    look: Callable[[], Awaitable[Read | RequestFailed]],
    pace: ActTiming,
    tell: Callable[[str], None] | None = None,
) -> Read | RequestFailed:
    """Retry the read for a while if the API server is unreachable. `tell`: called once on the first
    failure.
    """
    began = time.monotonic()
    while True:
        found = await look()
        if (
            not isinstance(found, RequestFailed)
            or not may_come(found)
            or time.monotonic() - began > pace.patience_s
        ):
            return found
        if tell is not None:
            tell(f"asked again for up to {pace.patience_s:.0f} s: {found.why}")
            tell = None
        await asyncio.sleep(max(pace.poll_s, min(found.retry_after_s or 0.0, MOST_ASKED_S)))


def may_come(found: RequestFailed) -> bool:
    """True if another try may go through."""
    return found.may_pass or found.kind == "gone"


async def no(found: RequestFailed) -> Refused | Lost:
    """The failure as an answer: one that may be otherwise in a moment is no refusal. A busy server
    is left alone for as long as it asks.
    """
    if found.retry_after_s is not None:
        await asyncio.sleep(min(found.retry_after_s, MOST_ASKED_S))
    return Lost(found.why) if may_come(found) else Refused(found.why)
