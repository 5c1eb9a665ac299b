"""The record of an incident, one ConfigMap each, fenced by epoch, holder and revision; and the
Events on home.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

from barostat.core.errors import InputError, OutsideError
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import CONFIG_MAPS, EVENTS
from barostat.io.mitigation.act_context import TRIES, settled
from barostat.io.mitigation.target_reader import ActTiming, may_come, no, patient
from barostat.judge.mitigation.measurements import Look, carried, measured
from barostat.judge.mitigation.running_remedies import phases
from barostat.platform.objects import name_of, text
from barostat.remedy.acts import Conflict, Done, Lost, Refused
from barostat.remedy.annotations import EVENT_REASON, INCIDENT, MANAGED, RECORD, TARGET
from barostat.remedy.plan import Target
from barostat.remedy.record import KEY, from_json, record_name, to_json
from barostat.remedy.state import Emit, State, WriteRecord

LIMITS, SEEN = "limits.yaml", "seen.json"


@dataclass(slots=True)
class Store:
    """The records of one namespace."""

    cluster: Cluster
    namespace: str
    pace: ActTiming = field(default_factory=ActTiming)

    async def write(
        self, command: WriteRecord, limits: str, looks: Iterable[Look] = ()
    ) -> Done | Refused | Conflict | Lost:
        """WriteRecord: only if there is no record, or one of a lower epoch that this run has read,
        or one of this run without a higher revision.

        `looks`: measurements are added in the same write; if that is rejected, the record is
        written alone.
        """
        state, name = command.state, record_name(command.state.plan.id)
        bare = False
        for _ in range(TRIES):
            found = await patient(
                lambda: self.cluster.get(CONFIG_MAPS, name, self.namespace), self.pace
            )
            if isinstance(found, RequestFailed) and found.kind != "not-found":
                return await no(found)
            metadata = {
                "name": name,
                "labels": {
                    **MANAGED,
                    INCIDENT: state.plan.id,
                    TARGET: state.plan.target.name[:63],
                    RECORD: "true",
                },
            }
            data = {KEY: to_json(state), LIMITS: limits} | ({} if bare else _measured(found, looks))
            body: Object = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": metadata,
                "data": data,
            }
            if isinstance(found, RequestFailed):
                write = self.cluster.create(
                    CONFIG_MAPS, body, self.namespace, within_s=self.pace.write_s
                )
            else:
                try:
                    held = from_json(text(found, "data", KEY), name)
                except InputError as error:
                    return Conflict(f"the record is not one that can be read: {error}")
                if not _fits(held, state, command.revision):
                    return Conflict(
                        f"run {held.epoch} of {held.holder or 'another program'} goes on with it"
                    )
                metadata["resourceVersion"] = text(found, "metadata", "resourceVersion")
                write = self.cluster.replace(
                    CONFIG_MAPS, name, body, self.namespace, within_s=self.pace.write_s
                )
            written = await settled(write, self.pace)
            if not isinstance(written, RequestFailed):
                return Done()
            if written.kind in ("conflict", "not-found"):
                continue
            if SEEN not in data or may_come(written):
                return await no(written)
            bare = True
        return Lost("the record changes all the time")

    async def read(self, incident: str) -> tuple[State, str]:
        """Return the state and the limits of the incident.

        Errors: InputError if there is no readable record; OutsideError.
        """
        found = await self._held(incident)
        return from_json(text(found, "data", KEY), name_of(found)), text(found, "data", LIMITS)

    async def post_mortem(self, incident: str) -> tuple[State, tuple[Look, ...], str]:
        """(the state, what was measured, why nothing of that is there as a sentence). Errors: as
        `read`.
        """
        found = await self._held(incident)
        state, seen = from_json(text(found, "data", KEY), name_of(found)), text(found, "data", SEEN)
        if not seen:
            return (
                state,
                (),
                (
                    "Nothing that was measured is kept with it: it ended before anything was, "
                    "or an earlier version wrote it."
                ),
            )
        try:
            return state, measured(seen, SEEN), ""
        except InputError as error:
            return state, (), f"What was measured cannot be read: {error}."

    async def _held(self, incident: str) -> Object:
        found = await patient(
            lambda: self.cluster.get(CONFIG_MAPS, record_name(incident), self.namespace), self.pace
        )
        if isinstance(found, RequestFailed):
            if found.kind == "not-found":
                listing = f"`barostat incident list -n {self.namespace}` shows them"
                raise InputError(
                    f"there is no such incident in namespace {self.namespace} (-n names "
                    f"another); {listing}",
                    incident,
                )
            raise found.error()
        return found

    async def every(
        self, target: str = "", kind: str = "", *, everywhere: bool = False
    ) -> tuple[list[State], list[str]]:
        """All incidents (of that target, by name and kind), the newest first, and what could not be
        read. `everywhere`: of all namespaces.

        Errors: OutsideError.
        """
        labels = f"{RECORD}=true" + (f",{TARGET}={target[:63]}" if target else "")
        found = await patient(
            lambda: self.cluster.list(
                CONFIG_MAPS, None if everywhere else self.namespace, labels=labels
            ),
            self.pace,
        )
        if isinstance(found, RequestFailed):
            raise found.error()
        states, odd = [], []
        for item in found.items:
            try:
                states.append(from_json(text(item, "data", KEY), name_of(item)))
            except InputError as error:
                odd.append(str(error))
        of_it = (state for state in states if kind in ("", state.plan.target.kind))
        return sorted(of_it, key=lambda state: state.plan.made_at, reverse=True), odd

    async def phases(self, *, everywhere: bool = False) -> dict[str, str]:
        """The phase of each incident by the latest Event about it; empty if Events cannot be
        listed.
        """
        namespace = None if everywhere else self.namespace
        found = await self.cluster.list(EVENTS, namespace, labels=INCIDENT)
        if isinstance(found, RequestFailed):
            return {}
        return phases(found.items)

    async def emit(self, target: Target, incident: str, command: Emit) -> str:
        """A Kubernetes Event on home. Why there is none, or an empty text."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        body: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{target.name[:200]}.{uuid.uuid4().hex[:16]}",
                "namespace": self.namespace,
                "labels": {INCIDENT: incident},
            },
            "involvedObject": {
                "apiVersion": target.api_version,
                "kind": target.kind,
                "namespace": self.namespace,
                "name": target.name,
                "uid": target.uid,
            },
            "reason": f"{EVENT_REASON}{command.reason}"[:128],
            "message": f"{incident}: {command.message}"[:1000],
            "type": "Warning" if command.warning else "Normal",
            "source": {"component": "barostat"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        written = await self.cluster.create(EVENTS, body, self.namespace, within_s=5.0)
        return written.why if isinstance(written, RequestFailed) else ""


def _fits(held: State, state: State, revision: int) -> bool:
    """Return whether the new record may replace the stored one.

    A later run continues from what it read. If the earlier run has written since, the new record
    would lack the undo of that write.
    """
    if held.epoch == state.epoch:
        return held.holder == state.holder and held.revision <= revision
    return held.epoch < state.epoch and held.revision < revision


def _measured(found: Object | RequestFailed, looks: Iterable[Look]) -> dict[str, str]:
    try:
        kept = carried("" if isinstance(found, RequestFailed) else text(found, "data", SEEN), looks)
    except Exception:  # a bug in plotted data must not end a remedy
        return {}
    return {SEEN: kept} if kept else {}


__all__ = ["OutsideError", "Store"]
