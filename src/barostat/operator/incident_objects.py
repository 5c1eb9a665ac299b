"""The operator's own objects in the cluster: PressureIncidents, Events, and the status of
ServingLimits. All are written with the operator's field manager, and nothing else is.

Level-triggered: the desired objects are kept in memory, compared with the written ones, and
rewritten until they exist, even if they were deleted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from barostat.core.errors import InputError, OutsideError
from barostat.core.limits import API_VERSION
from barostat.core.redaction.credentials import clean
from barostat.io.clock import Clock
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import EVENTS
from barostat.operator.incident import (
    KIND,
    PRESSURE_INCIDENTS,
    SERVING_LIMITS,
    PressureIncident,
    as_document,
    from_document,
    rfc3339,
)
from barostat.operator.step import Emit, Forget
from barostat.platform.objects import count, name_of, text
from barostat.remedy.annotations import MANAGED

MANAGER = "barostat-operator"
CHECK_EVERY_S = 60.0
MOST_WAITING = 200


@dataclass(slots=True)
class IncidentObjects:
    """The incident objects that the cluster should hold. `leads`: checked before every write.
    `writes`, `failures`: counted for the metrics.

    `trouble`: why the last write failed; empty if it did not.
    """

    cluster: Cluster
    namespace: str | None
    clock: Clock
    leads: Callable[[], bool]
    tell: Callable[[str], None]
    wanted: dict[tuple[str, str], PressureIncident] = field(default_factory=dict)
    events: list[Emit] = field(default_factory=list)
    forgotten: list[Forget] = field(default_factory=list)
    statuses: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    writes: int = 0
    failures: int = 0
    trouble: str = ""
    _written: dict[tuple[str, str], PressureIncident] = field(default_factory=dict)
    _statuses: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    _checked_at: float = float("-inf")

    async def read(self) -> tuple[PressureIncident, ...] | None:
        """The incidents that the cluster holds; None if they cannot be read."""
        try:
            found = await self.cluster.list(PRESSURE_INCIDENTS, self.namespace)
        except (InputError, OutsideError) as error:
            self._failed(str(error))
            return None
        if isinstance(found, RequestFailed):
            missing = found.kind == "not-found"
            self._failed(
                f"{found.why}; install the CRDs: kubectl apply -f deploy/crds"
                if missing
                else found.why
            )
            return None
        known = [made for item in found.items if (made := from_document(item)) is not None]
        return tuple(known)

    def forget_all(self) -> None:
        """Drop all state, because another operator leads now."""
        self.wanted.clear()
        self.events.clear()
        self.forgotten.clear()
        self.statuses.clear()
        self._written.clear()
        self._statuses.clear()

    def adopt(self, incidents: tuple[PressureIncident, ...]) -> None:
        """These are there as they are."""
        self.wanted = {(one.namespace, one.name): one for one in incidents if not one.ended}
        self._written = dict(self.wanted)

    def keep(self, incident: PressureIncident) -> None:
        """The cluster should hold it so."""
        self.wanted[incident.namespace, incident.name] = incident

    async def settle(self) -> None:
        """Write what is not written yet. What fails is tried again at the next call."""
        self.trouble = ""
        await self._check()
        for place, incident in list(self.wanted.items()):
            due = self._written.get(place) != incident and self.leads()
            if due and await self._write(incident):
                if place not in self._written:
                    name, namespace = incident.name, incident.namespace
                    self.tell(f"wrote incident {name}: kubectl describe pi {name} -n {namespace}")
                self._written[place] = incident
                if incident.ended:
                    del self.wanted[place]
        for place, status in list(self.statuses.items()):
            due = self._statuses.get(place) != status and self.leads()
            if due and await self._limits_status(place, status):
                self._statuses[place] = status
        waiting, self.events = self.events[-MOST_WAITING:], []
        for event in waiting:
            if not self.leads():
                return
            if not await self._emit(event):
                self.events.append(event)
        for gone in self.forgotten[:20]:
            if self.leads():
                found = await self.cluster.delete(PRESSURE_INCIDENTS, gone.name, gone.namespace)
                if not isinstance(found, RequestFailed) or found.kind == "not-found":
                    self.forgotten.remove(gone)

    async def _check(self) -> None:
        """Deleted incidents are recreated."""
        if self.clock.now() - self._checked_at < CHECK_EVERY_S or not self.wanted:
            return
        self._checked_at = self.clock.now()
        there = await self.read()
        if there is not None:
            names = {(one.namespace, one.name) for one in there}
            for place in set(self._written) - names:
                del self._written[place]

    async def _write(self, incident: PressureIncident) -> bool:
        target = incident.spec.target_ref
        owner = {
            "apiVersion": target.api_version,
            "kind": target.kind,
            "name": target.name,
            "uid": target.uid,
        }
        body: Object = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {
                "name": incident.name,
                "namespace": incident.namespace,
                "labels": MANAGED,
                **({"ownerReferences": [owner]} if target.uid else {}),
            },
            "spec": as_document(incident.spec),
        }
        if (incident.namespace, incident.name) not in self._written and not await self._apply(
            PRESSURE_INCIDENTS, incident.namespace, incident.name, body
        ):
            return False
        del body["spec"], body["metadata"]["labels"]
        body["metadata"].pop("ownerReferences", None)
        body["status"] = as_document(incident.status)
        return await self._apply(
            PRESSURE_INCIDENTS, incident.namespace, incident.name, body, "status"
        )

    async def _limits_status(self, place: tuple[str, str], status: dict[str, Any]) -> bool:
        body = {
            "apiVersion": API_VERSION,
            "kind": SERVING_LIMITS.kind,
            "metadata": {"name": place[1], "namespace": place[0]},
            "status": status,
        }
        return await self._apply(SERVING_LIMITS, *place, body, "status")

    async def _apply(
        self, resource: Any, namespace: str, name: str, body: Object, subresource: str = ""
    ) -> bool:
        try:
            found = await self.cluster.patch(
                resource, name, body, namespace, how="apply", force=True, manager=MANAGER,
                subresource=subresource,
            )  # fmt: skip
        except (InputError, OutsideError) as error:
            return self._failed(str(error))
        if isinstance(found, RequestFailed):
            return self._failed(found.why)
        self.writes += 1
        return True

    async def _emit(self, event: Emit) -> bool:
        """One Event of each workload and reason, with a count and the newest message. True if it needs no other try."""
        target = event.target
        told = clean(event.message)[:1000]
        digest = hashlib.sha256(f"{target.uid}{event.reason}".encode()).hexdigest()[:10]
        name = f"{target.name[:200]}.{digest}"
        now = rfc3339(self.clock.now())
        body: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": event.namespace},
            "involvedObject": {
                "apiVersion": target.api_version,
                "kind": target.kind,
                "namespace": event.namespace,
                "name": target.name,
                "uid": target.uid,
            },
            "reason": event.reason[:128],
            "message": told,
            "type": "Warning" if event.warning else "Normal",
            "source": {"component": MANAGER},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            made = await self.cluster.create(EVENTS, body, event.namespace, within_s=5.0)
            if isinstance(made, RequestFailed) and made.kind == "conflict":
                there = await self.cluster.get(EVENTS, name, event.namespace, within_s=5.0)
                again = 1 if isinstance(there, RequestFailed) else count(there, "count") or 1
                patch = {"count": again + 1, "lastTimestamp": now, "message": told}
                made = await self.cluster.patch(
                    EVENTS, name, patch, event.namespace, how="merge", within_s=5.0
                )
        except (InputError, OutsideError) as error:
            self._failed(str(error))
            return False
        if isinstance(made, RequestFailed):
            self._failed(made.why)
            return not made.may_pass
        self.writes += 1
        return True

    def _failed(self, why: str) -> bool:
        self.failures += 1
        if why != self.trouble:
            self.trouble = why
            self.tell(why)
        return False


def limits_place(item: Mapping[str, Any]) -> tuple[str, str]:
    """Return namespace and name of a ServingLimits object."""
    return text(item, "metadata", "namespace"), name_of(item)
