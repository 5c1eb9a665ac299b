"""Spares: Deployments of one replica that we make beside home, with the new template, outside every
Service until they join.
"""

from __future__ import annotations

import asyncio
from typing import Any

from barostat.io.kubernetes.client.cluster import Object
from barostat.io.kubernetes.client.resources import DEPLOYMENTS, JOBS, PODS
from barostat.io.mitigation import kept_unit
from barostat.io.mitigation.act_context import TRIES, ActContext
from barostat.io.mitigation.kept_unit import spare_labels
from barostat.io.mitigation.pod_scrapes import requests_cut
from barostat.io.mitigation.target_reader import Denied, is_ready
from barostat.io.mitigation.unit_starts import Start
from barostat.platform.objects import condition, count, is_going, mapping, name_of, text
from barostat.platform.workloads import OwnedKind
from barostat.remedy.acts import (
    NOTHING_CUT,
    AwaitSpare,
    Conflict,
    CreateSpare,
    DeleteSpare,
    Done,
    Failed,
    Lost,
    PodRef,
    Refused,
)
from barostat.remedy.annotations import INCIDENT, MANAGED, STEP
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.state import Do


def spare_name(plan: RemedyPlan, index: int) -> str:
    """Return the name of a spare's Deployment."""
    return f"{plan.id}-s{index}"


async def spare_document(ground: ActContext, home: Object, index: int, key: str) -> dict[str, Any]:
    """The Deployment of a spare, as it is created. Errors: Denied."""
    own = spare_labels(ground.plan, index)
    template = await kept_unit.outside(ground, home, await _new_template(ground, home), own)
    spec: dict[str, Any] = {
        "replicas": 1,
        "selector": {"matchLabels": own},
        "template": template,
        "revisionHistoryLimit": 1,
    }
    spec["strategy"] = {"type": "Recreate"}
    if (deadline_s := count(home, "spec", "progressDeadlineSeconds")) is not None:
        spec["progressDeadlineSeconds"] = deadline_s
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": spare_name(ground.plan, index),
            "labels": {**MANAGED, **own},
            "annotations": {STEP: key},
        },
        "spec": spec,
    }


async def _new_template(ground: ActContext, home: Object) -> dict[str, Any]:
    """The pod template with the change; of a kind that an owner makes a Deployment of, as the owner
    would make it. Errors: Denied.
    """
    source, kind = await ground.new_source(home), ground.kind
    if not isinstance(kind, OwnedKind):
        return source
    new, lists = kind.with_source(home, source), await ground.lists()
    found = kind.spare_template(home, new, lists)
    if found is None:
        raise Denied(
            Refused("the Deployment that home's owner makes does not hold home's template")
        )
    return found


async def create(ground: ActContext, do: Do, act: CreateSpare) -> Done:
    """Perform CreateSpare. Errors: Denied."""
    if act.index == 0 and (kept := await kept_unit.take_over(ground, do)):
        return Done(note=f"{kept}, which kept the version before warm")
    for _ in range(TRIES):
        home = await ground.checked_home(do)
        found = await ground.got(DEPLOYMENTS, spare_name(ground.plan, act.index))
        if found is not None:
            if text(found, "metadata", "labels", INCIDENT) != ground.plan.id:
                raise Denied(Conflict(f"deployment {name_of(found)} is there already and not ours"))
            if not is_going(found):
                return Done()
            await asyncio.sleep(ground.pace.poll_s)
            continue
        body = await spare_document(ground, home, act.index, do.key)
        await ground.look_again(do)
        if (
            await ground.written(
                ground.cluster.create(
                    DEPLOYMENTS, body, ground.namespace, within_s=ground.pace.write_s
                )
            )
            is not None
        ):
            return Done()
    raise Denied(Lost("the spare's Deployment is neither there nor can it be made"))


async def await_spare(ground: ActContext, do: Do, act: AwaitSpare) -> Done:
    """AwaitSpare: waits for a Ready pod whose engine holds the new value. Errors: Denied, with
    Failed where it will not come.
    """
    start = Start(ground, do)
    while True:
        home = await ground.checked_home(do)
        pods = [pod for pod in await pods_of_spare(ground, act.index) if not is_going(pod)]
        for pod in filter(is_ready, pods):
            await start.took_change(pod)
            return Done(PodRef(name_of(pod), text(pod, "metadata", "uid")), start.said())
        await start.check(home, pods)
        if not pods and (why := await _not_made(ground, act.index)):
            raise Denied(Failed(why))
        await asyncio.sleep(ground.pace.poll_s)


async def delete(ground: ActContext, do: Do, act: DeleteSpare) -> Done:
    """DeleteSpare: Done when its Deployment and pod are gone, with the requests that it cut.
    Errors: Denied.
    """
    cut, said = NOTHING_CUT, ""
    while True:
        home = await ground.checked_home(do)
        found = await ground.got(DEPLOYMENTS, spare_name(ground.plan, act.index))
        kept = await kept_unit.taken_over(ground) if act.index == 0 else None
        pods = await pods_of_spare(ground, act.index)
        if found is None and kept is None and not pods:
            return Done(note=said, cut=cut)
        if found is not None and text(found, "metadata", "labels", INCIDENT) != ground.plan.id:
            raise Denied(Conflict(f"deployment {name_of(found)} is not ours"))
        if staying := [pod for pod in pods if not is_going(pod)]:
            _, seen = await ground.in_rotation(home)
            off = await ground.rotation_labels(home)
            if any(text(pod, "metadata", "uid") in seen or _carries(pod, off) for pod in staying):
                raise Denied(Refused("its pod is in rotation"))
        for resource, its in ((DEPLOYMENTS, found), (JOBS, kept)):
            if its is not None and not is_going(its):
                cut, said = await requests_cut(ground, *staying)
                await ground.deleted(do, resource, its)
        await asyncio.sleep(ground.pace.poll_s)


async def pods_of_spare(ground: ActContext, index: int) -> list[Object]:
    """The pods of that spare. Errors: Denied."""
    own = spare_labels(ground.plan, index)
    return await ground.listed(PODS, ",".join(f"{key}={value}" for key, value in own.items()))


def _carries(pod: Object, labels: dict[str, str]) -> bool:
    held = mapping(pod, "metadata", "labels")
    return any(held.get(key) == found for key, found in labels.items())


async def _not_made(ground: ActContext, index: int) -> str:
    """Why the spare's Deployment makes no pod; empty if nothing says so."""
    found = await ground.got(DEPLOYMENTS, spare_name(ground.plan, index))
    if found is None:
        return "the spare's Deployment is gone"
    failing = condition(found, "ReplicaFailure")
    return (
        f"no pod of the spare is made: {text(failing, 'message')[:200]}"
        if failing.get("status") == "True"
        else ""
    )
