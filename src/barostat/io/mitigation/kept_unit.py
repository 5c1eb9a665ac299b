"""A unit of the former version that stays warm for a while after a change: a Job of one pod, out of
rotation.

A Job, because Kubernetes itself ends it when its time is over, whether or not any of our programs
still runs. Nothing adopts its pod: the labels of the Services are not in its template. A rollback
takes the time limit off and uses the pod as its first spare.
"""

from __future__ import annotations

import asyncio
import copy
import json
from datetime import UTC, datetime
from typing import Any

from barostat.io.kubernetes.client.cluster import Object
from barostat.io.kubernetes.client.resources import JOBS, PODS
from barostat.io.mitigation.act_context import TRIES, ActContext
from barostat.io.mitigation.target_reader import Denied, annotation
from barostat.platform.objects import condition, count, instant, is_going, mapping, name_of, text
from barostat.platform.pod_status import unschedulable
from barostat.remedy.acts import Done, DropPrevious, Lost, PodRef, Refused
from barostat.remedy.annotations import (
    FORMER,
    INCIDENT,
    MANAGED,
    PREVIOUS,
    SPARE,
    STEP,
    TARGET,
    UNTIL,
)
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.state import Do

UNPLACED_S = 15.0
"""A pod that no node takes for so long is given up: its GPU belongs to somebody else."""
LEAST_LEFT_S = 30.0
"""A unit that ends sooner is not taken over: Kubernetes may be ending it already."""
_ENDED = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")


def kept_name(plan: RemedyPlan) -> str:
    """Return the name of the Job that keeps the version before that plan's change."""
    return f"{plan.id}-previous"


def spare_labels(plan: RemedyPlan, index: int) -> dict[str, str]:
    """The labels of a spare, which nothing else has."""
    return {INCIDENT: plan.id, SPARE: str(index)}


async def outside(
    ground: ActContext, home: Object, source: Object, own: dict[str, str]
) -> dict[str, Any]:
    """The template with these labels, and none that a Service selects on. Errors: Denied."""
    template: dict[str, Any] = copy.deepcopy(dict(source))
    off = await ground.rotation_labels(home)
    metadata = template.setdefault("metadata", {})
    stay = {
        label: found
        for label, found in mapping(template, "metadata", "labels").items()
        if label not in off
    }
    metadata["labels"] = {**stay, **own}
    return template


async def keep(ground: ActContext, do: Do) -> Done:
    """KeepPrevious: Done once its pod has a node. Errors: Denied."""
    name, unplaced_at = kept_name(ground.plan), None
    while True:
        home = await ground.checked_home(do)
        job, pods = await ground.got(JOBS, name), await _pods(ground, name)
        if job is None:
            body = await _document(ground, home, do.key)
            await ground.look_again(do)
            await ground.written(
                ground.cluster.create(JOBS, body, ground.namespace, within_s=ground.pace.write_s)
            )
        elif text(job, "metadata", "labels", INCIDENT) != ground.plan.id or _has_ended(job):
            raise Denied(Refused(f"job {name} is there already"))
        for pod in pods:
            if text(pod, "spec", "nodeName") and not is_going(pod):
                kept_s = ground.plan.keep_previous_s
                return Done(_ref(pod), f"out of rotation for {kept_s / 60:.0f} min")
        now = ground.clock.now()
        unplaced_at = (unplaced_at or now) if any(map(unschedulable, pods)) else None
        if unplaced_at is not None and now - unplaced_at >= UNPLACED_S:
            message = text(condition(pods[0], "PodScheduled"), "message")[:200]
            await _removed(ground, do, name)
            raise Denied(Refused(f"no node takes it: {message}"))
        if now > do.until - ground.plan.bounds.answer_s / 2:
            await _removed(ground, do, name)
            raise Denied(Refused("no pod of it is made: its Events say why"))
        await asyncio.sleep(ground.pace.poll_s)


async def drop(ground: ActContext, do: Do, act: DropPrevious) -> Done:
    """Perform DropPrevious. Errors: Denied."""
    name = ground.plan.drops[act.index]
    job = await ground.got(JOBS, name)
    if job is not None and SPARE in mapping(job, "metadata", "labels"):
        return Done(note="a rollback uses it")
    await _removed(ground, do, name)
    return Done()


async def take_over(ground: ActContext, do: Do) -> str:
    """Return the name of the plan's kept unit, which is its first spare from now on; empty if it
    has none, or it ends too soon. Errors: Denied.
    """
    plan, name = ground.plan, ground.plan.previous
    if not name:
        return ""
    for _ in range(TRIES):
        await ground.checked_home(do)
        job = await ground.got(JOBS, name)
        if job is None or is_going(job):
            return ""
        own = spare_labels(plan, 0)
        if text(job, "metadata", "labels", INCIDENT) != plan.id:
            if SPARE in mapping(job, "metadata", "labels") or _has_ended(job):
                return ""
            if _left_s(job, ground.clock.now()) < LEAST_LEFT_S:
                return ""
            patch = {"metadata": {"labels": own}, "spec": {"activeDeadlineSeconds": None}}
            if await ground.merged(do, JOBS, job, patch) is None:
                continue
        pods = [pod for pod in await _pods(ground, name) if not is_going(pod)]
        marked = [
            await ground.merged(do, PODS, pod, {"metadata": {"labels": own}}) is not None
            for pod in pods
            if SPARE not in mapping(pod, "metadata", "labels")
        ]
        if all(marked):
            return name
    raise Denied(Lost("the unit that keeps the version before changes all the time"))


async def taken_over(ground: ActContext) -> Object | None:
    """The Job that serves as the plan's first spare; None if there is none. Errors: Denied."""
    if not ground.plan.previous:
        return None
    job = await ground.got(JOBS, ground.plan.previous)
    its = text(job or {}, "metadata", "labels", INCIDENT) == ground.plan.id
    return job if its else None


async def _document(ground: ActContext, home: Object, key: str) -> dict[str, Any]:
    """The Job, as it is created. Errors: Denied."""
    plan, former = ground.plan, annotation(home, FORMER)
    if not former:
        raise Denied(Refused("the template before is not on record any more"))
    name, kept_s = kept_name(plan), round(plan.keep_previous_s)
    labels = {INCIDENT: plan.id, PREVIOUS: name, TARGET: plan.target.name[:63]}
    template = await outside(ground, home, json.loads(former), labels)
    until = datetime.fromtimestamp(ground.clock.now() + kept_s, UTC)
    marks = template["metadata"].setdefault("annotations", {})
    marks[UNTIL] = until.strftime("%Y-%m-%dT%H:%M:%SZ")
    template["spec"]["restartPolicy"] = "OnFailure"
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": name,
            "labels": {**MANAGED, **labels},
            "annotations": {STEP: key},
        },
        "spec": {
            "template": template,
            "activeDeadlineSeconds": kept_s,
            "ttlSecondsAfterFinished": 0,
            "backoffLimit": 3,
        },
    }


async def _removed(ground: ActContext, do: Do, name: str) -> None:
    """The Job and its pod are gone. Errors: Denied."""
    while True:
        await ground.checked_home(do)
        job = await ground.got(JOBS, name)
        if job is None and not await _pods(ground, name):
            return
        if job is not None and not is_going(job):
            await ground.deleted(do, JOBS, job)
        await asyncio.sleep(ground.pace.poll_s)


async def _pods(ground: ActContext, name: str) -> list[Object]:
    return await ground.listed(PODS, f"{PREVIOUS}={name}")


def _has_ended(job: Object) -> bool:
    return any(condition(job, kind).get("status") == "True" for kind in _ENDED)


def _left_s(job: Object, at: float) -> float:
    """Seconds until Kubernetes ends it."""
    began = instant(job, "status", "startTime")
    kept_s = count(job, "spec", "activeDeadlineSeconds")
    return 0.0 if began is None or kept_s is None else began + kept_s - at


def _ref(pod: Object) -> PodRef:
    return PodRef(name_of(pod), text(pod, "metadata", "uid"))
