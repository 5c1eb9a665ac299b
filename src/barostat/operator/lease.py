"""One operator acts: a Lease of coordination.k8s.io.

Held for 15 s from each renewal; whoever could not renew for 10 s stops acting, so that there are
5 s in which nobody does. Only the monotonic clock counts here: instants that other operators wrote
are never compared with our own time, so that a clock step does no harm.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from barostat.core.errors import InputError, OutsideError
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import LEASES
from barostat.platform.objects import count, mapping, text

DURATION_S = 15.0
RENEW_WITHIN_S = 10.0
RETRY_S = 2.0


@dataclass(slots=True)
class Lease:
    """The lease of that name, as one holder. `leads` is asked before every write."""

    cluster: Cluster
    namespace: str
    name: str
    holder: str
    tell: Callable[[str], None]
    _renewed_at: float = float("-inf")
    _seen: tuple[str, float] = ("", float("-inf"))
    _told: str = ""

    @property
    def leads(self) -> bool:
        """True while the last renewal is young enough."""
        return time.monotonic() - self._renewed_at < RENEW_WITHIN_S

    async def keep(self) -> None:
        """Take the lease when it is free, and renew it, for ever."""
        while True:
            await self.turn()
            await asyncio.sleep(RETRY_S)

    async def turn(self) -> None:
        """One attempt to take or renew it."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(RENEW_WITHIN_S / 2):
                why = await self._attempt(began)
        except TimeoutError:
            why = "the API server did not answer in time"
        except (InputError, OutsideError) as error:
            why = str(error)
        if not why:
            self._say("leads")
        elif not self.leads:
            self._say(f"does not lead: {why}")

    async def release(self) -> None:
        """Another operator may take it at once."""
        if not self.leads:
            return
        self._renewed_at = float("-inf")
        found = await self.cluster.get(LEASES, self.name, self.namespace, within_s=2.0)
        if isinstance(found, RequestFailed) or text(found, "spec", "holderIdentity") != self.holder:
            return
        body = {**found, "spec": {**mapping(found, "spec"), "holderIdentity": ""}}
        await self.cluster.replace(LEASES, self.name, body, self.namespace, within_s=2.0)

    async def _attempt(self, began: float) -> str:
        """Empty where it is ours now, else why not."""
        found = await self.cluster.get(LEASES, self.name, self.namespace, within_s=4.0)
        if isinstance(found, RequestFailed):
            if found.kind != "not-found":
                return found.why
            made = await self.cluster.create(
                LEASES, self._body({}, 0), self.namespace, within_s=4.0
            )
            return self._ours(made, began)
        holder = text(found, "spec", "holderIdentity")
        version = text(found, "metadata", "resourceVersion")
        if version != self._seen[0]:
            self._seen = version, began
        if holder not in ("", self.holder):
            self._renewed_at = float("-inf")  # somebody else holds it, whatever we believed
            if began - self._seen[1] <= DURATION_S:
                return f"{holder} holds the lease"
        changes = count(found, "spec", "leaseTransitions") or 0
        changes += holder != self.holder
        body = {**found, "spec": self._body(mapping(found, "spec"), changes)["spec"]}
        replaced = await self.cluster.replace(LEASES, self.name, body, self.namespace, within_s=4.0)
        return self._ours(replaced, began)

    def _ours(self, found: Object | RequestFailed, began: float) -> str:
        if isinstance(found, RequestFailed):
            return found.why
        self._renewed_at = began
        self._seen = text(found, "metadata", "resourceVersion"), began
        return ""

    def _body(self, spec: object, changes: int) -> Object:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        acquired = text(spec, "acquireTime") if text(spec, "holderIdentity") == self.holder else now
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "holderIdentity": self.holder,
                "leaseDurationSeconds": int(DURATION_S),
                "acquireTime": acquired or now,
                "renewTime": now,
                "leaseTransitions": changes,
            },
        }

    def _say(self, text_: str) -> None:
        if text_ != self._told:
            self._told = text_
            self.tell(f"{self.holder} {text_}")
