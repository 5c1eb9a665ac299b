"""Kubernetes events of both API shapes, as one kind of record.

Source: core/v1 Event (involvedObject, message, count) and events.k8s.io/v1 Event (regarding, note,
series), Kubernetes 1.27 to 1.34.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from barostat.catalog.engine_processes import ENGINE_PROCESS
from barostat.catalog.signals import HISTORY_S
from barostat.catalog.xid import xid
from barostat.core.signal import Signal
from barostat.platform.objects import Object, count, fact, instant, items, mapping, text

_XID = re.compile(
    r"Xid\s*\(PCI[^)]*\)\s*:\s*(\d{1,3})|\bXid\w*?[=:\s]{1,3}(\d{1,3})\b|(?:\b|Nvidia)XID\D{0,3}(\d{1,3})(?!\d)",
    re.IGNORECASE,
)
_GPU_SICK = re.compile(
    r"XidCriticalError|GPU\S* (?:is|are|went|marked|becomes?|goes) unhealthy|device marked unhealthy|fallen off the bus|GPU is lost|"
    r"GPU(?:Missing|Lost|Unhealthy|HardwareError)|uncorrectable ECC|DoubleBitEcc",
    re.IGNORECASE,
)
_OOM_VICTIM = re.compile(r"Killed process \d+ \(([^)]*)\)|victim process: ([^,\s]+)")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an object. Units: unix seconds; None if no time is told.
    `times`: how often it was seen.
    """

    reason: str
    message: str
    kind: str
    name: str
    namespace: str
    field_path: str
    host: str
    times: int
    last_at: float | None
    uid: str = ""

    def recent(self, at: float) -> bool:
        """True within HISTORY_S before `at`; an event without a time counts as recent."""
        return self.last_at is None or at - self.last_at <= HISTORY_S


def read_events(documents: Mapping[str, Any]) -> tuple[Event, ...]:
    """Every event of the documents, oldest first."""
    found = [_event(item) for item in items(documents.get("events"))]
    return tuple(
        sorted(found, key=lambda event: (event.last_at or 0.0, event.reason, event.message))
    )


def _event(item: Object) -> Event:
    about = mapping(item, "involvedObject") or mapping(item, "regarding")
    times = [
        instant(item, *path)
        for path in (
            ("series", "lastObservedTime"),
            ("lastTimestamp",),
            ("deprecatedLastTimestamp",),
            ("eventTime",),
            ("firstTimestamp",),
            ("deprecatedFirstTimestamp",),
            ("metadata", "creationTimestamp"),
        )
    ]
    counts = [count(item, "series", "count"), count(item, "count"), count(item, "deprecatedCount")]
    return Event(
        reason=text(item, "reason"),
        message=text(item, "message") or text(item, "note"),
        kind=text(about, "kind"),
        name=text(about, "name"),
        namespace=text(about, "namespace"),
        field_path=text(about, "fieldPath"),
        host=text(item, "source", "host") or text(item, "deprecatedSource", "host"),
        times=max([1, *(number for number in counts if number is not None)]),
        last_at=max((time for time in times if time is not None), default=None),
        uid=text(about, "uid"),
    )


def about(
    events: Iterable[Event], kind: str, name: str, namespace: str = "", uid: str = ""
) -> tuple[Event, ...]:
    """The events of one object, and of none before it that had its name. What an event does not
    tell, or is not asked for, is no bar.
    """
    return tuple(
        event
        for event in events
        if event.kind == kind
        and event.name == name
        and (not namespace or not event.namespace or event.namespace == namespace)
        and (not uid or not event.uid or event.uid == uid)
    )


def xid_codes(words: str) -> tuple[int, ...]:
    """The Xid codes that a message names."""
    return tuple(
        int(next(group for group in found.groups() if group)) for found in _XID.finditer(words)
    )


def sick_gpu(words: str) -> bool:
    """True if a message says that a card is unhealthy or lost."""
    return bool(_GPU_SICK.search(words))


def node_event_signals(events: Iterable[Event], node: str, at: float) -> list[Signal]:
    """Return kernel_* signals from events of the node problem detector, the device plugin and the
    kubelet about the node.

    Without such events nothing is returned: events are kept for an hour, so their absence proves
    nothing. OOM kills are reported only if the victim may be an engine's process.
    """
    fatal: list[tuple[int, str]] = []
    kills: list[str] = []
    for event in events:
        if not event.recent(at) or not (event.name == node or event.host == node):
            continue
        words = f"{event.reason}: {event.message}"
        fatal += [(code, words) for code in xid_codes(words) if xid(code, words).kind == "fatal"]
        if event.reason in ("OOMKilling", "SystemOOM"):
            victim = _OOM_VICTIM.search(event.message)
            name = (victim[1] or victim[2]) if victim else ""
            if not name or ENGINE_PROCESS.search(name):
                kills.append(name or words)
                last = words
    source = f"events of node {node}"
    made: list[Signal] = []
    if fatal:
        codes = ", ".join(str(code) for code in dict.fromkeys(code for code, _ in fatal))
        made += fact(
            "kernel_xid_fatal", float(len(fatal)), at, source, f"Xid {codes}: {fatal[-1][1]}"
        )
    if kills:
        made += fact(
            "kernel_oom_kill",
            float(len(kills)),
            at,
            source,
            f"killed: {', '.join(dict.fromkeys(kills))}; {last}",
        )
    return made
