"""Kubernetes objects as `kubectl get -o json` prints them, read without trust: any field may be
missing or of the wrong type.

Source: Kubernetes API conventions (quantities, RFC 3339 times), 1.27 to 1.34.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from barostat.catalog.signals import signal
from barostat.core.signal import Signal

Object = Mapping[str, Any]
_EMPTY: Object = {}
_TIME = re.compile(
    r"^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d+)?\s*([Zz]|[-+]\d\d:?\d\d)?$"
)
_QUANTITY = re.compile(
    r"^([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?|[-+]?\.\d+)([numkMGTPE]|Ki|Mi|Gi|Ti|Pi|Ei)?$"
)
_SUFFIX = {
    "": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip


def mapping(node: Any, *path: str) -> Object:
    """The object at the path, or an empty one."""
    found = value(node, *path)
    return found if isinstance(found, dict) else _EMPTY


def sequence(node: Any, *path: str) -> list[Any]:
    """The list at the path, or an empty one."""
    found = value(node, *path)
    return found if isinstance(found, list) else []


def objects(node: Any, *path: str) -> list[Object]:
    """The objects in the list at the path."""
    return [entry for entry in sequence(node, *path) if isinstance(entry, dict)]


def text(node: Any, *path: str) -> str:
    """The text at the path, or an empty one."""
    found = value(node, *path)
    return found if isinstance(found, str) else ""


def value(node: Any, *path: str) -> Any:
    """Return the value at the path, or None."""
    for part in path:
        node = node.get(part) if isinstance(node, dict) else None
    return node


def count(node: Any, *path: str) -> int | None:
    """The whole number at the path, or None."""
    found = value(node, *path)
    if (
        isinstance(found, bool)
        or not isinstance(found, int | float)
        or abs(found) > 2**53
        or not math.isfinite(found)
    ):
        return None
    return int(found)


def instant(node: Any, *path: str) -> float | None:
    """The RFC 3339 time at the path in unix seconds, fractions and offsets included, or None."""
    match = _TIME.match(text(node, *path) if path else node if isinstance(node, str) else "")
    if not match:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    zone = match[8] or "Z"
    offset = UTC
    try:
        if zone not in "Zz":
            ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            offset = timezone(-ahead if zone[0] == "-" else ahead)
        whole = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=offset).timestamp()
    except (ValueError, OverflowError):
        return None
    return whole + max(0, second - 59) + float(match[7] or 0.0)


def quantity(node: Any) -> float | None:
    """A Kubernetes quantity (`8Gi`, `500m`, `2`, 2.5) as a number, or None."""
    if isinstance(node, bool):
        return None
    if isinstance(node, int | float):
        return float(node) if abs(node) < 2**63 and math.isfinite(node) else None
    if not isinstance(node, str) or not (match := _QUANTITY.match(node.strip())):
        return None
    found = float(match[1]) * _SUFFIX[match[2] or ""]
    return found if math.isfinite(found) else None


def items(document: Any) -> list[Object]:
    """The objects of a List, of a bare array, or the single object itself."""
    if isinstance(document, list):
        return [entry for entry in document if isinstance(entry, dict)]
    if not isinstance(document, dict):
        return []
    if isinstance(document.get("items"), list):
        return objects(document, "items")
    return [document] if "metadata" in document else []


def shape_problem(kind: str, document: Any) -> str:
    """Return what is wrong with the document as a whole, or ""."""
    if isinstance(document, list) or (
        isinstance(document, dict) and ("items" in document or "metadata" in document)
    ):
        found = document if isinstance(document, list) else document.get("items", [])
        broken = (
            sum(not isinstance(entry, dict) for entry in found) if isinstance(found, list) else 1
        )
        return f"kubernetes {kind}: {broken} of its entries are no objects" if broken else ""
    return (
        f"kubernetes {kind}: neither a list nor an object as `kubectl get {kind} -o json` prints it"
    )


def name_of(item: Object) -> str:
    """Return metadata.name."""
    return text(item, "metadata", "name")


def is_going(item: Object) -> bool:
    """True if its deletion was requested."""
    return bool(text(item, "metadata", "deletionTimestamp"))


def condition(item: Object, kind: str) -> Object:
    """The status condition of that type, or an empty object."""
    return next(
        (found for found in objects(item, "status", "conditions") if found.get("type") == kind),
        _EMPTY,
    )


def fact(name: str, measured: float, at: float, source: str, detail: str = "") -> list[Signal]:
    """Return a list with one point of a signal; empty if the number is NaN."""
    made = signal(name, [(at, measured)], source, " ".join(detail.split())[:600])
    return [made] if made else []


def ago(seconds: float) -> str:
    """A duration for a person: `42 s`, `12 min`, `3.5 h`, `4 d`."""
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} d"
