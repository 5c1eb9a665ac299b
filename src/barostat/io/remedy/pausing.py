"""Owners that have a switch leave a workload alone for the length of an incident, and take it up again after it.

What gives it back is written on the workload (barostat.dev/paused) before anything is paused, so that any machine can do it. One that would
take the change in force back stays paused until a person has put the change into its source: it would replace all replicas at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from barostat.io.kubernetes.cluster import Cluster
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
from barostat.io.remedy.ground import Pace
from barostat.platform.objects import text
from barostat.platform.owner import PAUSED, Switch
from barostat.remedy.plan import ROLLBACK
from barostat.remedy.state import State

_SCALING = ("HorizontalPodAutoscaler", "ScaledObject")
_KINDS: dict[str, Resource] = {
    found.kind: found for found in (ARGO_APPLICATIONS, AUTOSCALERS, FLUX_HELM_RELEASES, FLUX_KUSTOMIZATIONS, SCALED_OBJECTS)
}


async def pause(cluster: Cluster, namespace: str, name: str, switches: Sequence[Switch]) -> list[str]:
    """Each owner is told to leave the workload alone; a sentence each.

    Errors: OutsideError, with the right that is missing; what was paused by then is given back first.
    """
    resumes = [{"kind": found.kind, "namespace": found.namespace, "name": found.name, "resume": dict(found.resume)} for found in switches]
    marked = await cluster.patch(DEPLOYMENTS, name, {"metadata": {"annotations": {PAUSED: json.dumps(resumes)}}}, namespace, how="merge")
    if isinstance(marked, Failed):
        raise marked.error()
    told = []
    for switch in switches:
        done = await cluster.patch(_KINDS[switch.kind], switch.name, dict(switch.pause), switch.namespace or None, how="merge")
        if isinstance(done, Failed):
            if done.uncertain:  # it may still be done after what gives it back
                await asyncio.sleep(Pace().write_s + Pace().late_s)
            await hand_back(cluster, namespace, name)
            raise done.error()
        told.append(f"paused {switch}{': ' + switch.note if switch.note else ''}")
    return told


def still_paused(state: State) -> tuple[str, ...]:
    """The kinds that stay paused as the incident is now: all while it is not over, who would take it back while it is in force."""
    if state.phase not in ("Done", "RolledBack", "Refused"):
        return tuple(_KINDS)
    if state.phase != "Done" or state.plan.lever == ROLLBACK:
        return ()
    scaled = state.plan.change.kind == "replicas"
    return tuple(kind for kind in _KINDS if (kind in _SCALING) is scaled)


async def hand_back(cluster: Cluster, namespace: str, name: str, keep: Collection[str] = ()) -> list[str]:
    """Whoever was paused for the workload has it again, but for the kinds to `keep`; a sentence each, nothing where nobody was paused.

    What fails is told and stays marked.
    """
    home = await cluster.get(DEPLOYMENTS, name, namespace)
    if isinstance(home, Failed):
        return [f"whether an owner is paused could not be read: {home.why}"]
    written = text(home, "metadata", "annotations", PAUSED)
    if not written:
        return []
    told: list[str] = []
    left: list[Mapping[str, Any]] = []
    for entry in json.loads(written):
        if entry["kind"] in keep:
            left.append(entry)
            told.append(f"{entry['kind']} {entry['name']} stays paused")
            continue
        done = await cluster.patch(_KINDS[entry["kind"]], entry["name"], entry["resume"], entry["namespace"] or None, how="merge")
        if isinstance(done, Failed):
            left.append(entry)
            told.append(f"{entry['kind']} {entry['name']} is still paused: {done.why}")
        else:
            told.append(f"{entry['kind']} {entry['name']} has it again")
    mark = {"metadata": {"annotations": {PAUSED: json.dumps(left) if left else None}}}
    unmarked = await cluster.patch(DEPLOYMENTS, name, mark, namespace, how="merge")
    if isinstance(unmarked, Failed):
        told.append(unmarked.why)
    return told
