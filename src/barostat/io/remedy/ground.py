"""What every act stands on: the target as it is now, whose change is in flight, and writes that fit only what was read.

A write is sent only while the look at the claim before it is young, tells the server when to give up, and is waited for until the server
must have: so `Pace.stray_s` after a claim nothing of an earlier run is on its way any more.

home's annotations   barostat.dev/claim      ID#EPOCH#HOLDER: the change in flight
                     barostat.dev/ended      the incident that ended last
                     barostat.dev/patched    ID#DIGEST: the template that we wrote
                     barostat.dev/former     the template before that, until the incident ends
on what we touch     barostat.dev/step       the key of the act that touched it last
on a pod taken out   barostat.dev/labels     the labels that came off it
on a newborn         controller.kubernetes.io/pod-deletion-cost    the least there is: it is the first to go
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from barostat.io.clock import Clock
from barostat.io.kubernetes.cluster import TRY_S, WRITE_S, Cluster, Object
from barostat.io.kubernetes.failures import Failed
from barostat.io.kubernetes.resources import CONFIG_MAPS, DEPLOYMENTS, ENDPOINT_SLICES, PODS, REPLICA_SETS, SERVICES, Resource
from barostat.judge.flag_surgery import NotChanged
from barostat.judge.remedy_change import changed_template, digest, selecting, service_labels
from barostat.judge.remedy_measured import Key, Look
from barostat.platform.objects import condition, mapping, name_of, objects, text, value
from barostat.remedy.acts import ClaimHome, Conflict, Lost, Refused, ReleaseHome
from barostat.remedy.acts import Failed as Failure
from barostat.remedy.plan import Plan
from barostat.remedy.state import Do

CLAIM, ENDED, PATCHED, FORMER = "barostat.dev/claim", "barostat.dev/ended", "barostat.dev/patched", "barostat.dev/former"
STEP, LABELS, INCIDENT, SPARE = "barostat.dev/step", "barostat.dev/labels", "barostat.dev/incident", "barostat.dev/spare"
COST, LEAST = "controller.kubernetes.io/pod-deletion-cost", "-2147483648"
MANAGED = {"app.kubernetes.io/managed-by": "barostat"}
Seen = TypeVar("Seen")
TRIES = 8
MOST_ASKED_S = 30.0
"""A server that is too busy is left alone for as long as it asks, up to this."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long is waited for what. Units: seconds.

    `poll_s`: between two looks. `write_s`: the server's own time for a write; `late_s`: beyond it, it may take this long to give one up.
    `look_s`: what an answer says may be so old when it comes; `fresh_s`: and so much older when a write is sent. `routed_s`: every
    kube-proxy hears of the EndpointSlices by itself, and for so long a new connection may still come to a pod that has left them.
    `settle_s`: what was asked of a replica before it took part counts for nothing: its first requests find an empty cache and no company.
    `interval_s`: between two scrapes of it. `patience_s`: for so long a look is tried again where the API server is away, which changes
    nothing and harms nobody. `stray_s`: after it nothing is on its way any more of a run that looked at the claim before,
    as it is the look, the pause after it, the write, and how late a server may be with it.
    """

    poll_s: float = 1.0
    write_s: float = WRITE_S
    late_s: float = 2.0
    look_s: float = TRY_S
    fresh_s: float = 5.0
    routed_s: float = 5.0
    settle_s: float = 10.0
    interval_s: float = 5.0
    patience_s: float = 60.0
    stray_s: float = TRY_S + 5.0 + WRITE_S + 2.0


class Denied(Exception):
    """The act ends here with that answer. Never leaves this package."""

    def __init__(self, answer: Refused | Conflict | Failure | Lost) -> None:
        super().__init__(answer.why)
        self.answer = answer


@dataclass(slots=True)
class Ground:
    """The cluster as one plan sees it. `looks`: what this run has measured so far, for people."""

    cluster: Cluster
    plan: Plan
    clock: Clock
    pace: Pace = field(default_factory=Pace)
    looks: dict[Key, Look] = field(default_factory=dict)
    _looked: tuple[float, float] = (0.0, 0.0)

    @property
    def namespace(self) -> str:
        """Where the target lives."""
        return self.plan.target.namespace

    # --- reading

    async def got(self, resource: Resource, name: str) -> Object | None:
        """The object, or None where there is none. Errors: Denied."""
        found = await patient(lambda: self.cluster.get(resource, name, self.namespace), self.pace)
        if isinstance(found, Failed):
            if found.kind == "not-found":
                return None
            raise Denied(await no(found))
        return found

    async def listed(self, resource: Resource, labels: str = "") -> list[Object]:
        """The objects of the target's namespace. Errors: Denied."""
        found = await patient(lambda: self.cluster.list(resource, self.namespace, labels=labels), self.pace)
        if isinstance(found, Failed):
            raise Denied(await no(found))
        return list(found.items)

    async def home(self) -> Object:
        """The Deployment that the plan is for. Errors: Denied, where it is gone or another one of that name."""
        found = await self.got(DEPLOYMENTS, self.plan.target.name)
        if found is None or text(found, "metadata", "uid") != self.plan.target.uid:
            raise Denied(Conflict(f"{self.plan.target} is not the one that the plan is for"))
        return found

    async def checked_home(self, do: Do) -> Object:
        """Home, after its claim and template were found to be what the command expects. Errors: Denied."""
        home = await self.home()
        held = annotation(home, CLAIM)
        if held != do.claim:
            raise Denied(Conflict(f"the claim on home is {held or 'gone'}, not {do.claim}"))
        now = digest(mapping(home, "spec", "template"))
        if do.home == "planned" and now != self.plan.template and not self.is_patched(home):  # ours already where an answer was lost
            raise Denied(Conflict("home's template is not as the plan found it: somebody changed it"))
        if do.home == "patched" and annotation(home, PATCHED) != f"{self.plan.id}#{now}":
            raise Denied(Conflict("home's template is not as we wrote it: somebody changed it"))
        self._looked = time.monotonic(), time.time()
        return home

    async def look_again(self, do: Do) -> None:
        """Home was checked a moment ago: again where it was longer, as on a machine that slept meanwhile. Errors: Denied."""
        for _ in range(TRIES):
            steady, wall = self._looked
            if max(time.monotonic() - steady, time.time() - wall) <= self.pace.fresh_s:
                return
            await self.checked_home(do)
        raise Denied(Lost("the cluster is too slow to be sure that the claim is still ours"))

    def is_patched(self, home: Object) -> bool:
        """True where home's template is the plan's already."""
        return annotation(home, PATCHED) == f"{self.plan.id}#{digest(mapping(home, 'spec', 'template'))}"

    async def new_template(self, home: Object) -> dict[str, Any]:
        """Home's template with the plan's change. Errors: Denied."""
        template = mapping(home, "spec", "template")
        if self.is_patched(home):
            return dict(template)
        revision = await self.revision(self.plan.change.value) if self.plan.change.kind == "revision" else None
        found = changed_template(self.plan.change, template, revision=revision)
        if isinstance(found, NotChanged):
            raise Denied(Refused(found.why))
        return dict(found)

    async def revision(self, number: str | None) -> Mapping[str, Any] | None:
        """The template of home's revision of that number, or None where it is not kept. Errors: Denied."""
        for item in await self.listed(REPLICA_SETS):
            owned = any(text(owner, "uid") == self.plan.target.uid for owner in objects(item, "metadata", "ownerReferences"))
            if owned and annotation(item, "deployment.kubernetes.io/revision") == number:
                return mapping(item, "spec", "template")
        return None

    async def services(self, home: Object) -> list[Mapping[str, Any]]:
        """The Services that home's pods are behind. Errors: Denied."""
        return selecting(await self.listed(SERVICES), mapping(home, "spec", "template"))

    async def rotation_labels(self, home: Object) -> dict[str, str]:
        """The labels that take a pod in and out of rotation. Errors: Denied."""
        return service_labels(mapping(home, "spec", "template"), mapping(home, "spec", "selector"), await self.services(home))

    async def in_rotation(self, home: Object) -> tuple[frozenset[str], frozenset[str]]:
        """(uids of pods that stand ready behind every one of the Services, uids that stand behind any in any state). Errors: Denied."""
        names = {name_of(service) for service in await self.services(home)}
        ready: dict[str, set[str]] = {name: set() for name in names}
        seen: set[str] = set()
        for item in await self.listed(ENDPOINT_SLICES):
            service = text(item, "metadata", "labels", "kubernetes.io/service-name")
            if service not in ready:
                continue
            for end in objects(item, "endpoints"):
                uid = text(end, "targetRef", "uid")
                seen.add(uid)
                if value(end, "conditions", "ready") is not False:
                    ready[service].add(uid)
        everywhere = frozenset.intersection(*map(frozenset, ready.values())) if ready else frozenset()
        return everywhere, frozenset(seen)

    async def home_pods(self) -> list[Object]:
        """The pods whose controller is a ReplicaSet of home, those that are on their way out left aside. Errors: Denied."""
        sets = {
            text(item, "metadata", "uid")
            for item in await self.listed(REPLICA_SETS)
            if any(text(owner, "uid") == self.plan.target.uid for owner in objects(item, "metadata", "ownerReferences"))
        }
        return [pod for pod in await self.listed(PODS) if controller(pod) in sets and not is_going(pod)]

    # --- writing

    async def merged(self, do: Do, resource: Resource, found: Object, patch: Mapping[str, Any]) -> Object | None:
        """The object with that merge patch and the act's key on it; None where it was no longer what was read (read it again).

        Errors: Denied.
        """
        body = json.loads(json.dumps(patch))
        metadata = body.setdefault("metadata", {})
        metadata["resourceVersion"] = text(found, "metadata", "resourceVersion")
        metadata.setdefault("annotations", {})[STEP] = do.key
        if not isinstance(do.act, ClaimHome | ReleaseHome):
            await self.look_again(do)
        write = self.cluster.patch(resource, name_of(found), body, self.namespace, how="merge", within_s=self.pace.write_s)
        return await self.written(write)

    async def written(self, write: Awaitable[Object | Failed]) -> Object | None:
        """What came of a write: the object; None where there is a conflict or nothing to write to: read it again. Errors: Denied."""
        found = await settled(write, self.pace)
        if not isinstance(found, Failed):
            return found
        if found.kind in ("conflict", "not-found"):
            return None
        raise Denied(await no(found))

    async def deleted(self, do: Do, resource: Resource, found: Object) -> bool:
        """The deletion of that very object, as it was read, is on its way; False where it is not that any more: read it again.

        Errors: Denied.
        """
        await self.look_again(do)
        uid, version = text(found, "metadata", "uid"), text(found, "metadata", "resourceVersion")
        write = self.cluster.delete(resource, name_of(found), self.namespace, uid=uid, version=version, within_s=self.pace.write_s)
        return await self.written(write) is not None

    async def config_map(self, do: Do, name: str, data: Mapping[str, str] | None, labels: Mapping[str, str]) -> None:
        """The ConfigMap holds that data (None: it is gone). Errors: Denied."""
        for _ in range(TRIES):
            found = await self.got(CONFIG_MAPS, name)
            if data is None:
                if found is None or await self.deleted(do, CONFIG_MAPS, found):
                    return
                continue
            metadata = {"name": name, "labels": {**MANAGED, **labels}, "annotations": {STEP: do.key}}
            body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}
            await self.look_again(do)
            if found is None:
                write = self.cluster.create(CONFIG_MAPS, body, self.namespace, within_s=self.pace.write_s)
            else:
                metadata["resourceVersion"] = text(found, "metadata", "resourceVersion")
                write = self.cluster.replace(CONFIG_MAPS, name, body, self.namespace, within_s=self.pace.write_s)
            if await self.written(write) is not None:
                return
        raise Denied(Lost(f"configmap {name} changes all the time"))


def annotation(item: Object, key: str) -> str:
    """An annotation, or empty."""
    found = mapping(item, "metadata", "annotations").get(key)
    return found if isinstance(found, str) else ""


def controller(pod: Object) -> str:
    """The uid of the pod's controller, empty where it has none."""
    return next((text(owner, "uid") for owner in objects(pod, "metadata", "ownerReferences") if owner.get("controller") is True), "")


def is_going(item: Object) -> bool:
    """True once somebody has asked for its end."""
    return bool(text(item, "metadata", "deletionTimestamp"))


def is_ready(pod: Object) -> bool:
    """The pod's condition Ready is True, and it is not on its way out."""
    return not is_going(pod) and condition(pod, "Ready").get("status") == "True"


async def patient(look: Callable[[], Awaitable[Seen | Failed]], pace: Pace) -> Seen | Failed:
    """What a look says; where the API server is away it is taken again for a while."""
    began = time.monotonic()
    while True:
        found = await look()
        if not isinstance(found, Failed) or not may_come(found) or time.monotonic() - began > pace.patience_s:
            return found
        await asyncio.sleep(max(pace.poll_s, min(found.retry_after_s or 0.0, MOST_ASKED_S)))


def may_come(found: Failed) -> bool:
    """True where another try may go through."""
    return found.may_pass or found.kind == "gone"


async def settled(write: Awaitable[Object | Failed], pace: Pace) -> Object | Failed:
    """What came of a write. Where that is not known, it is told when the server's time for it is over: done by then, or never.

    Whoever asks may be cancelled meanwhile, but not before that.
    """
    task = asyncio.ensure_future(_settled(write, pace))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def _settled(write: Awaitable[Object | Failed], pace: Pace) -> Object | Failed:
    began = time.monotonic()
    found = await write
    if isinstance(found, Failed) and found.uncertain:
        await asyncio.sleep(max(0.0, began + pace.write_s + pace.late_s - time.monotonic()))
    return found


async def no(found: Failed) -> Refused | Lost:
    """The failure as an answer: one that may be otherwise in a moment is no refusal. A busy server is left alone for as long as it asks."""
    if found.retry_after_s is not None:
        await asyncio.sleep(min(found.retry_after_s, MOST_ASKED_S))
    return Lost(found.why) if may_come(found) else Refused(found.why)
