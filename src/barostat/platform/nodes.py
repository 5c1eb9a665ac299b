"""What a node's object says: Ready, short of memory or disk, cordoned, GPUs that it has and cannot
give.

Source: core/v1 NodeStatus; GPU conditions of the node problem detector (GKE XidCriticalError, AKS
GPUMissing and XIDErrors, EKS AcceleratedHardwareReady).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from barostat.catalog.xid import xid
from barostat.core.signal import Signal
from barostat.platform.events import Event, node_event_signals, sick_gpu, xid_codes
from barostat.platform.objects import (
    Object,
    ago,
    fact,
    instant,
    items,
    mapping,
    name_of,
    objects,
    quantity,
    text,
    value,
)
from barostat.platform.pods import is_gpu_resource

_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_GPU_CONDITION = re.compile(r"gpu|xid|nvlink|nvswitch|accelerat|dcgm|nvidia", re.IGNORECASE)
_GOOD_WHEN_TRUE = re.compile(r"ready$|(?<!un)healthy$|(?<!un)available$", re.IGNORECASE)
_CODE_KEY = re.compile(r'"(\d{1,3})"\s*:\s*true')


def signals(
    documents: Mapping[str, Any], node: str, events: Iterable[Event], at: float
) -> list[Signal]:
    """node_* signals of the node, and kernel_* where a condition or an event names an Xid or a kill
    by the kernel.
    """
    known = list(events)
    found = next((item for item in items(documents.get("nodes")) if name_of(item) == node), None)
    made = node_event_signals(known, node, at)
    sick = [f"{event.reason}: {event.message}" for event in known if _is_gpu_event(event, node, at)]
    if found is None:
        return made + (
            fact("node_gpu_unhealthy", float(len(sick)), at, f"events of node {node}", sick[-1])
            if sick
            else []
        )
    source = f"node {node}"
    made += _readiness(found, at, source)
    made += _gpus(found, sick, at, source)
    codes = [code for code in _condition_xids(found) if xid(code).kind == "fatal"]
    if codes and not any(signal.name == "kernel_xid_fatal" for signal in made):
        named = ", ".join(str(code) for code in codes)
        made += fact(
            "kernel_xid_fatal", float(len(codes)), at, f"conditions of {source}", f"Xid {named}"
        )
    return made


def _is_gpu_event(event: Event, node: str, at: float) -> bool:
    if not event.recent(at) or node not in (event.name, event.host):
        return False
    words = f"{event.reason}: {event.message}"
    return sick_gpu(words) and not _say_nothing_of_the_card(xid_codes(words))


def _say_nothing_of_the_card(codes: Iterable[int]) -> bool:
    """True if Xid codes are named and each is a program's fault or can be either."""
    kinds = {xid(code).kind for code in codes}
    return bool(kinds) and kinds <= {"application", "unclear"}


def _readiness(node: Object, at: float, source: str) -> list[Signal]:
    conditions = objects(node, "status", "conditions")
    bad: list[str] = []
    for entry in conditions:
        kind, status = text(entry, "type"), text(entry, "status")
        if (kind == "Ready" and status != "True") or (kind in _PRESSURES and status == "True"):
            since = instant(entry, "lastTransitionTime")
            held = f" for {ago(at - since)}" if since is not None else ""
            bad.append(
                (
                    f"{kind} is {status}{held}: {text(entry, 'reason')} {text(entry, 'message')}"
                ).strip()
            )
    taints = [
        text(taint, "key")
        for taint in objects(node, "spec", "taints")
        if text(taint, "key").startswith("node.kubernetes.io/unreachable")
    ]
    if not conditions and not taints:
        return []
    notes = [
        *bad,
        *taints,
        *(["cordoned (unschedulable)"] if value(node, "spec", "unschedulable") is True else []),
    ]
    return fact("node_not_ready", float(bool(bad or taints)), at, source, "; ".join(notes))


def _gpus(node: Object, sick: list[str], at: float, source: str) -> list[Signal]:
    capacity, allocatable = (
        mapping(node, "status", "capacity"),
        mapping(node, "status", "allocatable"),
    )
    lost = 0.0
    notes: list[str] = []
    told = False
    for name, amount in capacity.items():
        has, gives = quantity(amount), quantity(allocatable.get(name, 0))
        if (
            not isinstance(name, str)
            or not is_gpu_resource(name)
            or has is None
            or gives is None
            or not allocatable
        ):
            continue
        told = True
        if has > gives:
            lost += has - gives
            notes.append(f"{has - gives:g} of {has:g} {name} cannot be allocated")
    conditions = _bad_gpu_conditions(node)
    told = told or any(
        _GPU_CONDITION.search(text(entry, "type"))
        for entry in objects(node, "status", "conditions")
    )
    notes += [*conditions, *sick[-1:]]
    total = max(lost, float(len(conditions)), float(bool(sick)))
    return fact("node_gpu_unhealthy", total, at, source, "; ".join(notes)) if told or notes else []


def _bad_gpu_conditions(node: Object) -> list[str]:
    bad: list[str] = []
    for entry in objects(node, "status", "conditions"):
        kind, status = text(entry, "type"), text(entry, "status")
        if not _GPU_CONDITION.search(kind) or status not in ("True", "False"):
            continue
        if (status == "False") != bool(_GOOD_WHEN_TRUE.search(kind)):
            continue
        if _say_nothing_of_the_card(_codes(entry)):
            continue
        bad.append(f"{kind} is {status}: {text(entry, 'reason')} {text(entry, 'message')}".strip())
    return bad


def _codes(entry: Object) -> list[int]:
    words = f"{text(entry, 'reason')} {text(entry, 'message')}"
    codes = (
        [int(code) for code in _CODE_KEY.findall(words)]
        if "xid" in text(entry, "type").lower()
        else []
    )
    return codes or list(xid_codes(words))


def _condition_xids(node: Object) -> list[int]:
    """Xid codes of the conditions that are bad now."""
    codes: list[int] = []
    for entry in objects(node, "status", "conditions"):
        kind, status = text(entry, "type"), text(entry, "status")
        if (
            _GPU_CONDITION.search(kind)
            and status in ("True", "False")
            and (status == "False") == bool(_GOOD_WHEN_TRUE.search(kind))
        ):
            codes += _codes(entry)
    return list(dict.fromkeys(codes))
