"""Owners that have a switch leave a workload alone for the length of an incident, and take it up again after it.

What gives it back is written on the workload (barostat.dev/paused) before anything is paused, so that any machine can do it. One that would
take the change in force back stays paused until a person has put the change into its source: it would replace all replicas at once.

    [{"kind": "Application", "namespace": "argocd", "name": "chat", "resume": MERGE PATCH, "incident": "vllm-3f9a1c"}, ...]

An owner is noted once, with what it was before anybody of ours paused it, and by whom. Entries of earlier versions lack the incident: they
count as an earlier one's. Whoever may write the workload may write the mark: what gives back touches only what a pause touches.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from barostat.core.errors import InputError, OutsideError
from barostat.io.kubernetes.cluster import Cluster, Object
from barostat.io.kubernetes.failures import Failed
from barostat.io.kubernetes.resources import (
    ARGO_APPLICATIONS,
    AUTOSCALERS,
    DEPLOYMENTS,
    FLUX_HELM_RELEASES,
    FLUX_KUSTOMIZATIONS,
    SCALED_OBJECTS,
    Resource,
)
from barostat.io.remedy.ground import CLAIM, TRIES, Pace, annotation, settled
from barostat.platform.objects import name_of, text
from barostat.platform.owner import ARGO_SKIP, KEDA_PAUSED, PAUSED, Switch
from barostat.remedy.plan import ROLLBACK
from barostat.remedy.state import State

_SCALING = ("HorizontalPodAutoscaler", "ScaledObject")
_KINDS: dict[str, Resource] = {
    found.kind: found for found in (ARGO_APPLICATIONS, AUTOSCALERS, FLUX_HELM_RELEASES, FLUX_KUSTOMIZATIONS, SCALED_OBJECTS)
}
_AT = ("metadata", "annotations")
_TOUCHED: dict[str, tuple[tuple[str, ...], ...]] = {
    "Application": (("spec", "syncPolicy", "automated"), (*_AT, ARGO_SKIP)),
    "HorizontalPodAutoscaler": (("spec", "minReplicas"), ("spec", "maxReplicas"), ("spec", "behavior")),
    "HelmRelease": (("spec", "suspend"),),
    "Kustomization": (("spec", "suspend"),),
    "ScaledObject": ((*_AT, KEDA_PAUSED),),
}
Entry = Mapping[str, Any]


async def pause(cluster: Cluster, namespace: str, name: str, switches: Sequence[Switch], incident: str) -> list[str]:
    """Each owner leaves the workload alone; a sentence each. Whom an earlier incident paused stays noted as its own, as it was then.

    Errors: InputError where the workload's mark cannot be read: nothing is paused then. OutsideError, with the right that is missing; what
    was paused by then is given back first.
    """
    home = await cluster.get(DEPLOYMENTS, name, namespace)
    if isinstance(home, Failed):
        raise home.error()
    found, wrong = _mark(home)
    if wrong:
        raise InputError(wrong, f"deploy/{name} in {namespace}")
    entries = [_entry(switch, incident) for switch in switches]
    paused, stale = await _as_they_are(cluster, found, switches)
    noted = await _remarked(cluster, namespace, name, lambda now: _with([entry for entry in now if entry not in stale], entries))
    if isinstance(noted, Failed):
        raise noted.error()
    told = []
    for place, switch in enumerate(switches):
        if switch in paused:
            told.append(f"{switch} is paused already, by an earlier incident")
            continue
        done = await cluster.patch(_KINDS[switch.kind], switch.name, dict(switch.pause), switch.namespace or None, how="merge")
        if isinstance(done, Failed):
            back = await _undone(cluster, namespace, name, incident, entries[place:], done)
            raise OutsideError("; ".join((done.why, *back)), retryable=done.may_pass)
        told.append(f"paused {switch}{': ' + switch.note if switch.note else ''}")
    return told


async def _undone(cluster: Cluster, namespace: str, name: str, incident: str, rest: Sequence[Entry], done: Failed) -> list[str]:
    """Whom the incident has paused by now has it again. `rest`: the one that could not be paused, and those that were not tried."""
    if done.uncertain:  # it may still be done after what gives it back
        await asyncio.sleep(Pace().write_s + Pace().late_s)
        rest = rest[1:]
    unmarked = await _remarked(cluster, namespace, name, lambda now: [entry for entry in now if entry not in rest])
    told = [unmarked.why] if isinstance(unmarked, Failed) else []
    return [*told, *await hand_back(cluster, namespace, name, (incident,))]


def still_paused(state: State) -> tuple[str, ...]:
    """The kinds that stay paused as the incident is now: all while it is not over, who would take it back while it is in force.

    All where another run goes on with it. Nobody where it has no record: nothing was begun, and it cannot be resumed.
    """
    if state.superseded:
        return tuple(_KINDS)
    if state.phase not in ("Done", "RolledBack", "Refused"):
        return tuple(_KINDS) if state.revision else ()
    if state.phase != "Done" or state.plan.lever == ROLLBACK:
        return ()
    scaled = state.plan.change.kind == "replicas"
    return tuple(kind for kind in _KINDS if (kind in _SCALING) is scaled)


async def hand_back(cluster: Cluster, namespace: str, name: str, incidents: Collection[str], keep: Collection[str] = ()) -> list[str]:
    """Whom these incidents paused for the workload has it again, but for the kinds to `keep`; a sentence for each who is noted.

    `incidents`: an empty id stands for entries without one. What fails, or cannot be read, is told and stays marked.
    Law: L8, nobody has it again while the change of another incident is in flight on it.
    """
    home = await cluster.get(DEPLOYMENTS, name, namespace)
    if isinstance(home, Failed):
        return [f"whether an owner is paused could not be read: {home.why}"]
    found, wrong = _mark(home)
    told = [f"deploy/{name} in {namespace}: {wrong}"] if wrong else []
    over: list[Entry] = []
    flying = annotation(home, CLAIM).partition("#")[0]
    for entry in filter(_is_entry, found):
        owner = f"{entry['kind']} {entry['name']}"
        if (by := _incident(entry)) not in incidents:
            paused = f"incident {by} paused it" if by else "an earlier incident paused it"
            told.append(f"{owner} stays paused: {paused}; back: barostat incident resume {by or 'ID'} -n {namespace}")
            continue
        if flying and flying not in incidents:
            back = f"once it is over: barostat incident resume {by or 'ID'} -n {namespace}"
            told.append(f"{owner} stays paused: the change of incident {flying} is in flight; {back}")
            continue
        if entry["kind"] in keep:
            told.append(f"{owner} stays paused")
            continue
        done = await cluster.patch(_KINDS[entry["kind"]], entry["name"], entry["resume"], entry["namespace"] or None, how="merge")
        if isinstance(done, Failed) and done.kind != "not-found":
            told.append(f"{owner} is still paused: {done.why}")
            continue
        told.append(f"{owner} is no more" if isinstance(done, Failed) else f"{owner} has it again")
        over.append(entry)
    unmarked = await _remarked(cluster, namespace, name, lambda now: [entry for entry in now if entry not in over]) if over else []
    return [*told, unmarked.why] if isinstance(unmarked, Failed) else told


# --- the mark


def _entry(switch: Switch, incident: str) -> dict[str, Any]:
    resume = json.loads(json.dumps(switch.resume))
    return {"kind": switch.kind, "namespace": switch.namespace, "name": switch.name, "resume": resume, "incident": incident}


def _mark(home: Object) -> tuple[list[Any], str]:
    """(what the workload's mark holds, why it cannot be read, as a whole or an entry of it)."""
    written = text(home, "metadata", "annotations", PAUSED)
    if not written:
        return [], ""
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        found = None
    odd = [entry for entry in found if not _is_entry(entry)] if isinstance(found, list) else [written]
    if not odd:
        return found, ""
    shown = odd[0] if isinstance(odd[0], str) else json.dumps(odd[0])
    wrong = f"the annotation {PAUSED} does not say who is paused and how it was before ({shown[:120]})"
    wrong += "; give that owner the workload back by hand and take the entry out, or the annotation"
    return found if isinstance(found, list) else [], wrong


def _is_entry(found: Any) -> bool:
    """True for what tells an owner and what gives it back."""
    if not isinstance(found, dict) or not isinstance(found.get("incident", ""), str) or not isinstance(found.get("namespace"), str):
        return False
    if text(found, "kind") not in _KINDS or not text(found, "name") or not isinstance(found.get("resume"), dict):
        return False
    return _only(found["resume"], _TOUCHED[found["kind"]])


def _only(patch: Mapping[str, Any], fields: Collection[tuple[str, ...]]) -> bool:
    """True where that merge patch touches no other field."""
    return all(
        (key,) in fields or (isinstance(value, dict) and _only(value, [path[1:] for path in fields if path[0] == key and path[1:]]))
        for key, value in patch.items()
    )


def _who(entry: Entry) -> tuple[str, str, str]:
    return entry["kind"], entry["namespace"], entry["name"]


def _incident(entry: Entry) -> str:
    return text(entry, "incident")


def _with(now: list[Any], entries: Sequence[Entry]) -> list[Any]:
    """The mark with those who are not noted yet."""
    noted = {_who(entry) for entry in now if _is_entry(entry)}
    return [*now, *(entry for entry in entries if _who(entry) not in noted)]


async def _remarked(cluster: Cluster, namespace: str, name: str, change: Callable[[list[Any]], list[Any]]) -> list[Any] | Failed:
    """The mark after that change of what it was at the moment of writing, or why it was not written. One that is no list is left alone."""
    failed = Failed("conflict", f"deploy/{name} in {namespace} changes all the time")
    for _ in range(TRIES):
        home = await cluster.get(DEPLOYMENTS, name, namespace)
        if isinstance(home, Failed):
            return home
        now, wrong = _mark(home)
        if wrong and not now:
            return Failed("invalid", f"deploy/{name} in {namespace}: {wrong}")
        after = change(now)
        if after == now:
            return after
        annotations = {PAUSED: json.dumps(after) if after else None}
        patch = {"metadata": {"resourceVersion": text(home, "metadata", "resourceVersion"), "annotations": annotations}}
        written = await settled(cluster.patch(DEPLOYMENTS, name, patch, namespace, how="merge"), Pace())
        if not isinstance(written, Failed):
            return after
        if written.kind != "conflict" and not written.uncertain:
            return written
        failed = written
    return failed


# --- the owners


async def _as_they_are(cluster: Cluster, noted: Sequence[Entry], switches: Sequence[Switch]) -> tuple[list[Switch], list[Entry]]:
    """Of those who are noted already: (who is paused as it would be now, the notes of those of whose pause nothing is left)."""
    paused, stale = [], []
    for switch in switches:
        entry = next((entry for entry in noted if _who(entry) == (switch.kind, switch.namespace, switch.name)), None)
        found = None if entry is None else await cluster.get(_KINDS[switch.kind], switch.name, switch.namespace or None)
        if entry is None or found is None or isinstance(found, Failed):
            continue
        if _holds(found, switch.pause):
            paused.append(switch)
        elif not _is_left(found, switch.pause, entry["resume"]):
            stale.append(entry)
    return paused, stale


def _is_left(found: Any, pause: Any, before: Any) -> bool:
    """True where anything of that pause is there that was not so before it."""
    if not isinstance(pause, Mapping):
        return bool(found == pause and before != pause)
    inner, former = (item if isinstance(item, Mapping) else {} for item in (found, before))
    return any(_is_left(inner.get(key), value, former.get(key)) for key, value in pause.items())


async def noted_by(cluster: Cluster, namespace: str, incident: str) -> list[str]:
    """The Deployments on which that incident has noted somebody. Errors: OutsideError."""
    found = await cluster.list(DEPLOYMENTS, namespace)
    if isinstance(found, Failed):
        raise found.error()
    return [name_of(item) for item in found.items if any(_is_entry(entry) and _incident(entry) == incident for entry in _mark(item)[0])]


def _holds(found: Any, patch: Any) -> bool:
    """True where that merge patch would change nothing."""
    if not isinstance(patch, Mapping):
        return bool(found == patch)
    inner = found if isinstance(found, Mapping) else {}
    return all(_holds(inner.get(key), value) for key, value in patch.items())
