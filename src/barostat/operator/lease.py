"""Lets one operator act on a shard, by a Lease of coordination.k8s.io.

Each renewal is valid for 15 s; an operator that could not renew for 10 s stops acting, which leaves
5 s in which no operator acts. Only the monotonic clock counts: timestamps written by other
operators are never compared with the local time, so clock steps are harmless.

Each shard has its own lease (`shards.py`). The lease of the first shard states the number of
shards. A holder of any shard stops acting within RENEW_WITHIN_S if that number differs from its
own, and nobody acts by a new number until DURATION_S after it was first seen.
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
PATIENCE_S = 4.0
"""A process waits this long for each shard that it holds before it takes another free one."""
LAYOUT = "barostat.dev/shards"
ASKED_BY = "barostat.dev/asked-by"


@dataclass(slots=True)
class Lease:
    """The lease of that name, as one holder. `leads` is checked before every write.

    `shards`: how many there are. `first`: the lease of the first shard; None for that one itself.
    `held_beside`: other shards that this process holds. `may_give`: whether it can be handed over
    now. `seen_holder`: by the last read.
    """

    cluster: Cluster
    namespace: str
    name: str
    holder: str
    tell: Callable[[str], None]
    shards: int = 1
    first: Lease | None = None
    held_beside: Callable[[], int] = lambda: 0
    may_give: Callable[[], bool] = lambda: True
    seen_holder: str = ""
    _free_since: float | None = None
    _gives_at: float | None = None
    _layout: tuple[str, float] | None = None
    _layout_read_at: float = float("-inf")
    _renewed_at: float = float("-inf")
    _seen: tuple[str, float] = ("", float("-inf"))
    _told: str = ""

    @property
    def leads(self) -> bool:
        """True while the last renewal is young enough, and the number of shards is ours."""
        layout_of = self.first or self
        return time.monotonic() - self._renewed_at < RENEW_WITHIN_S and layout_of.has_layout()

    def has_layout(self) -> bool:
        """True if the lease, read recently, has this process's number of shards, and no operator
        can act on another number.
        """
        now = time.monotonic()
        if self._layout is None or now - self._layout_read_at >= RENEW_WITHIN_S:
            return False
        value, since = self._layout
        return value == str(self.shards) and now - since >= DURATION_S

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
        """Empty if it is ours now, else why not."""
        found = await self.cluster.get(LEASES, self.name, self.namespace, within_s=4.0)
        if isinstance(found, RequestFailed):
            if found.kind != "not-found":
                return found.why
            if self._leaves_it(began):
                return "leaves it to others"
            made = await self.cluster.create(
                LEASES, self._body({}, 0), self.namespace, within_s=4.0
            )
            if not isinstance(made, RequestFailed):
                since = float("-inf") if self.shards == 1 else began
                self._layout, self._layout_read_at = (str(self.shards), since), began
            return self._ours(made, began)
        self._read_layout(found, began)
        holder = self.seen_holder = text(found, "spec", "holderIdentity")
        version = text(found, "metadata", "resourceVersion")
        if version != self._seen[0]:
            self._seen = version, began
        if holder not in ("", self.holder):
            self._renewed_at = float("-inf")  # somebody else holds it, whatever we believed
            if began - self._seen[1] <= DURATION_S:
                return f"{holder} holds the lease"
        if holder != self.holder:
            self._gives_at = None
            if self._leaves_it(began):
                return "leaves it to others"
        elif why := await self._given(found, began):
            return why
        self._free_since = None
        changes = count(found, "spec", "leaseTransitions") or 0
        changes += holder != self.holder
        body = {
            **found,
            "metadata": self._marked(found, keep_question=holder == self.holder),
            "spec": self._body(mapping(found, "spec"), changes)["spec"],
        }
        replaced = await self.cluster.replace(LEASES, self.name, body, self.namespace, within_s=4.0)
        return self._ours(replaced, began)

    def _leaves_it(self, began: float) -> bool:
        """True while a process that holds fewer shards should have the chance to take this one."""
        if self._free_since is None:
            self._free_since = began
        return began - self._free_since < PATIENCE_S * self.held_beside()

    async def ask(self) -> None:
        """Ask its holder for the lease. It is handed over where its holder has others."""
        found = await self.cluster.get(LEASES, self.name, self.namespace, within_s=4.0)
        if isinstance(found, RequestFailed) or text(found, "spec", "holderIdentity") == self.holder:
            return
        metadata = mapping(found, "metadata")
        marks = {**mapping(metadata, "annotations"), ASKED_BY: self.holder}
        body = {**found, "metadata": {**metadata, "annotations": marks}}
        await self.cluster.replace(LEASES, self.name, body, self.namespace, within_s=4.0)

    async def _given(self, found: Object, began: float) -> str:
        """Why it is not renewed: another process has asked for it, and this one has more. It stops
        acting, and leaves the lease once nothing that it wrote can still be under way.
        """
        asked_by = text(found, "metadata", "annotations", ASKED_BY)
        if self._gives_at is None:
            if asked_by in ("", self.holder) or self.held_beside() < 1 or not self.may_give():
                return ""
            self._gives_at = began + DURATION_S - RENEW_WITHIN_S
        self._renewed_at = float("-inf")
        if began >= self._gives_at:
            self._gives_at = None
            spec = {**mapping(found, "spec"), "holderIdentity": ""}
            metadata = self._marked(found, keep_question=False)
            body = {**found, "metadata": metadata, "spec": spec}
            await self.cluster.replace(LEASES, self.name, body, self.namespace, within_s=4.0)
            self._free_since = began
        return f"is handed over to {asked_by}"

    def _read_layout(self, found: Object, began: float) -> None:
        written = text(found, "metadata", "annotations", LAYOUT)
        value = written or "1"
        self._layout_read_at = began
        if self._layout is None or self._layout[0] != value:
            # A number that was written may have been written just now; one that never was is old.
            known = self._layout is None and not written
            self._layout = value, float("-inf") if known else began

    def _marked(self, found: Object, *, keep_question: bool) -> Object:
        """The metadata as it is written: the number of shards on the first lease."""
        metadata = mapping(found, "metadata")
        marks = dict(mapping(metadata, "annotations"))
        if not keep_question:
            marks.pop(ASKED_BY, None)
        if self.first is None and (self.shards > 1 or LAYOUT in marks):
            marks[LAYOUT] = str(self.shards)
        return (
            {**metadata, "annotations": marks}
            if marks or "annotations" in metadata
            else {**metadata}
        )

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
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                **(
                    {"annotations": {LAYOUT: str(self.shards)}}
                    if self.first is None and self.shards > 1
                    else {}
                ),
            },
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
