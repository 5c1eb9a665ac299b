"""Spares: Deployments of one replica that we make beside home, with the new template, outside every
Service until they join.
"""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from barostat.io.kubernetes.client.cluster import Object
from barostat.io.kubernetes.client.resources import DEPLOYMENTS, PODS
from barostat.io.mitigation.act_context import TRIES, ActContext
from barostat.io.mitigation.pod_looks import named, requests_cut, resolved
from barostat.io.mitigation.target_reader import Denied, is_going, is_ready
from barostat.platform.objects import condition, count, mapping, name_of, objects, text
from barostat.platform.pod_status import unschedulable
from barostat.platform.pods import engine_container
from barostat.remedy.acts import (
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
from barostat.remedy.annotations import INCIDENT, MANAGED, SPARE, STEP
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.state import Do

UNSCHEDULABLE_S = 60.0
"""A spare that no node takes for so long does not get one in time."""
MOST_RESTARTS = 2
LAST_LOOK_S = 5.0
"""So long before a spare is not waited for any longer it is looked at what else of it does not
run.
"""
_NO_IMAGE = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
    "CreateContainerError",
)


def spare_name(plan: RemedyPlan, index: int) -> str:
    """The Deployment's name."""
    return f"{plan.id}-s{index}"


def spare_labels(plan: RemedyPlan, index: int) -> dict[str, str]:
    """Its selector, which nothing else has."""
    return {INCIDENT: plan.id, SPARE: str(index)}


async def spare_document(ground: ActContext, home: Object, index: int, key: str) -> dict[str, Any]:
    """The Deployment of a spare, as it is created. Errors: Denied."""
    template: dict[str, Any] = copy.deepcopy(await ground.new_source(home))
    own = spare_labels(ground.plan, index)
    off = await ground.rotation_labels(home)
    metadata = template.setdefault("metadata", {})
    kept = {
        label: found
        for label, found in mapping(template, "metadata", "labels").items()
        if label not in off
    }
    metadata["labels"] = {**kept, **own}
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


async def create(ground: ActContext, do: Do, act: CreateSpare) -> Done:
    """CreateSpare. Errors: Denied."""
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
    """AwaitSpare: waits for a Ready pod whose engine holds the new value. Errors: Denied, Failed
    where it will not come.
    """
    waiting_since = ground.clock.now()
    while True:
        container = engine_container(ground.kind.template(await ground.checked_home(do)))
        engine = container.name if container is not None else ""
        pods = [pod for pod in await pods_of_spare(ground, act.index) if not is_going(pod)]
        for pod in pods:
            if is_ready(pod):
                if (other := await resolved(ground, pod)) is not None:
                    raise Denied(
                        Failed(
                            f"the engine of {name_of(pod)} did not take the change: {other}",
                            by_change=True,
                        )
                    )
                return Done(PodRef(name_of(pod), text(pod, "metadata", "uid")), _said(ground))
            if (why := _no_image(pod)) is not None:
                raise Denied(Failed(why))
            if (why := _ends(pod, "containerStatuses", engine)) is not None:
                told = await named(ground, pod)
                raise Denied(Failed(f"{why}: {told}" if told else why, by_change=True))
            if (why := _ends(pod, "initContainerStatuses")) is not None:
                raise Denied(Failed(why))
            if (
                ground.clock.now() > do.until - LAST_LOOK_S
                and (why := _ends(pod, "containerStatuses")) is not None
            ):
                raise Denied(Failed(why))  # a companion may end until the engine is there
            if not unschedulable(pod):
                waiting_since = ground.clock.now()
            elif ground.clock.now() - waiting_since > UNSCHEDULABLE_S:
                raise Denied(
                    Failed(
                        f"{name_of(pod)} stays Pending: "
                        f"{text(condition(pod, 'PodScheduled'), 'message')[:200]}"
                    )
                )
        if not pods and (why := await _not_made(ground, act.index)):
            raise Denied(Failed(why))
        await asyncio.sleep(ground.pace.poll_s)


async def delete(ground: ActContext, do: Do, act: DeleteSpare) -> Done:
    """DeleteSpare: Done when its Deployment and pod are gone, with the requests that it cut.
    Errors: Denied.
    """
    cut = ""
    while True:
        home = await ground.checked_home(do)
        found = await ground.got(DEPLOYMENTS, spare_name(ground.plan, act.index))
        pods = await pods_of_spare(ground, act.index)
        if found is None and not pods:
            return Done(note=cut)
        if found is not None and text(found, "metadata", "labels", INCIDENT) != ground.plan.id:
            raise Denied(Conflict(f"deployment {name_of(found)} is not ours"))
        if staying := [pod for pod in pods if not is_going(pod)]:
            _, seen = await ground.in_rotation(home)
            off = await ground.rotation_labels(home)
            if any(text(pod, "metadata", "uid") in seen or _carries(pod, off) for pod in staying):
                raise Denied(Refused("its pod is in rotation"))
        if found is not None and not is_going(found):
            cut = "; ".join([told for pod in staying if (told := await requests_cut(ground, pod))])
            await ground.deleted(do, DEPLOYMENTS, found)
        await asyncio.sleep(ground.pace.poll_s)


async def pods_of_spare(ground: ActContext, index: int) -> list[Object]:
    """The pods of that spare. Errors: Denied."""
    own = spare_labels(ground.plan, index)
    return await ground.listed(PODS, ",".join(f"{key}={value}" for key, value in own.items()))


def _carries(pod: Object, labels: dict[str, str]) -> bool:
    held = mapping(pod, "metadata", "labels")
    return any(held.get(key) == found for key, found in labels.items())


def _no_image(pod: Object) -> str | None:
    """Why one of its containers cannot be made."""
    for status in (
        *objects(pod, "status", "initContainerStatuses"),
        *objects(pod, "status", "containerStatuses"),
    ):
        waits = text(status, "state", "waiting", "reason")
        if waits in _NO_IMAGE:
            return f"{name_of(pod)}: {waits} {text(status, 'state', 'waiting', 'message')[:200]}".strip()
    return None


def _ends(pod: Object, statuses: str, container: str = "") -> str | None:
    """How that container of it ended again and again; without a name, any of these."""
    for status in objects(pod, "status", statuses):
        looping = text(status, "state", "waiting", "reason") == "CrashLoopBackOff"
        name = text(status, "name")
        if (
            looping
            and (count(status, "restartCount") or 0) >= MOST_RESTARTS
            and container in ("", name)
        ):
            ended = mapping(status, "lastState", "terminated")
            which = "" if container else f", container {name},"
            return (
                f"{name_of(pod)}{which} ends again and again ({text(ended, 'reason')}, exit "
                f"code {count(ended, 'exitCode')})"
            )
    return None


async def _not_made(ground: ActContext, index: int) -> str:
    """Why the spare's Deployment makes no pod; empty where nothing says so."""
    found = await ground.got(DEPLOYMENTS, spare_name(ground.plan, index))
    if found is None:
        return "the spare's Deployment is gone"
    failing = condition(found, "ReplicaFailure")
    return (
        f"no pod of the spare is made: {text(failing, 'message')[:200]}"
        if failing.get("status") == "True"
        else ""
    )


def _said(ground: ActContext) -> str:
    change = ground.plan.change
    return f"Ready with {change.name} {change.value if change.value is not None else 'absent'}"
