"""The mark on a workload that says who was told to leave it alone, by which incident, and what
gives it back to each.

    [{"kind": "Application", "namespace": "argocd", "name": "chat", "resume": MERGE PATCH,
    "incident": "vllm-3f9a1c"}, ...]

Entries of earlier versions lack the incident: they count as an earlier one's. Whoever may write the
workload may write the mark: an entry counts only where it touches nothing but what a pause touches.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from barostat.platform.objects import Object, text
from barostat.platform.owner import ARGO_SKIP, KEDA_PAUSED, Switch
from barostat.platform.workloads import marks
from barostat.remedy.annotations import PAUSED
from barostat.remedy.plan import PausedOwner

_AT = ("metadata", "annotations")
_TOUCHED: dict[str, tuple[tuple[str, ...], ...]] = {
    "Application": (("spec", "syncPolicy", "automated"), (*_AT, ARGO_SKIP)),
    "HorizontalPodAutoscaler": (
        ("spec", "minReplicas"),
        ("spec", "maxReplicas"),
        ("spec", "behavior"),
    ),
    "HelmRelease": (("spec", "suspend"),),
    "Kustomization": (("spec", "suspend"),),
    "ScaledObject": ((*_AT, KEDA_PAUSED),),
}
KINDS = tuple(_TOUCHED)
"""The kinds of owners that have a switch."""
Entry = Mapping[str, Any]
Who = tuple[str, str, str]


def read_mark(home: Object) -> tuple[list[Any], str]:
    """(what the workload's mark holds, why it cannot be read, as a whole or an entry of it)."""
    written = text(marks(home), PAUSED)
    if not written:
        return [], ""
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        found = None
    odd = (
        [entry for entry in found if not is_entry(entry)] if isinstance(found, list) else [written]
    )
    if not odd:
        return found, ""
    shown = odd[0] if isinstance(odd[0], str) else json.dumps(odd[0])
    wrong = (
        f"the annotation {PAUSED} does not say who is paused and how it was before ({shown[:120]})"
    )
    wrong += "; give that owner the workload back by hand and take the entry out, or the annotation"
    return found if isinstance(found, list) else [], wrong


def noted_of(home: Object) -> frozenset[Who]:
    """Kind, namespace and name of everyone whom the mark calls paused, also where it does not say
    what gives the workload back.
    """
    return frozenset(who(entry) for entry in read_mark(home)[0] if isinstance(entry, Mapping))


def entry_of(owner: Switch | PausedOwner, incident: str) -> dict[str, Any]:
    """Return the mark's entry for an owner that this incident will pause."""
    resume = json.loads(
        owner.resume if isinstance(owner, PausedOwner) else json.dumps(owner.resume)
    )
    return {
        "kind": owner.kind,
        "namespace": owner.namespace,
        "name": owner.name,
        "resume": resume,
        "incident": incident,
    }


def is_entry(found: Any) -> bool:
    """True for what tells an owner and what gives it back."""
    if (
        not isinstance(found, dict)
        or not isinstance(found.get("incident", ""), str)
        or not isinstance(found.get("namespace"), str)
    ):
        return False
    if (
        text(found, "kind") not in _TOUCHED
        or not text(found, "name")
        or not isinstance(found.get("resume"), dict)
    ):
        return False
    return _only(found["resume"], _TOUCHED[found["kind"]])


def who(entry: Entry) -> Who:
    """The owner that an entry is about."""
    return text(entry, "kind"), text(entry, "namespace"), text(entry, "name")


def incident_of(entry: Entry) -> str:
    """The incident that paused it; empty for an earlier version's."""
    return text(entry, "incident")


def with_entries(now: list[Any], entries: Sequence[Entry]) -> list[Any]:
    """The mark with those who are not noted yet."""
    noted = {who(entry) for entry in now if is_entry(entry)}
    return [*now, *(entry for entry in entries if who(entry) not in noted)]


def planned(switch: Switch) -> PausedOwner:
    """The owner as a plan carries it."""
    pause, resume = (json.dumps(patch) for patch in (switch.pause, switch.resume))
    return PausedOwner(switch.kind, switch.namespace, switch.name, pause, resume, switch.note)


def paused_by(home: Object, incident: str) -> tuple[PausedOwner, ...]:
    """Return the owners that the incident has paused and not resumed; its rollback resumes them."""
    entries = (
        entry for entry in read_mark(home)[0] if is_entry(entry) and incident_of(entry) == incident
    )
    return tuple(
        PausedOwner(*who(entry), "{}", json.dumps(entry["resume"]), by=incident)
        for entry in entries
    )


def _only(patch: Mapping[str, Any], fields: Collection[tuple[str, ...]]) -> bool:
    """True if that merge patch touches no other field."""
    return all(
        (key,) in fields
        or (
            isinstance(value, dict)
            and _only(value, [path[1:] for path in fields if path[0] == key and path[1:]])
        )
        for key, value in patch.items()
    )
