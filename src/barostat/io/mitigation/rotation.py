"""Acts on single pods: in and out of rotation by labels, seen in the EndpointSlices; drained by
their own metrics; deleted.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

from barostat.io.kubernetes.client.cluster import Object
from barostat.io.kubernetes.client.resources import PODS
from barostat.io.mitigation.act_context import TRIES, ActContext
from barostat.io.mitigation.pod_scrapes import activity_of, requests_cut, requests_in
from barostat.io.mitigation.target_acts import marked
from barostat.io.mitigation.target_reader import Denied, annotation, controller, is_ready
from barostat.judge.mitigation.rotation import POOLED
from barostat.platform.objects import is_going, mapping, name_of, text
from barostat.platform.workloads import NumberedKind
from barostat.remedy.acts import (
    NOTHING_CUT,
    Detach,
    Done,
    JoinRotation,
    LeaveRotation,
    Lost,
    PickSurplus,
    PodRef,
    PutBack,
    Refused,
)
from barostat.remedy.annotations import COST, LABELS, LEAST, STEP
from barostat.remedy.state import Do

DRAINED_TWICE = 2


async def _pod(ground: ActContext, ref: PodRef | None) -> Object | None:
    """Return exactly the slot's pod, or None if it is deleted or terminating. Errors: Denied."""
    if ref is None:
        return None
    found = await ground.got(PODS, ref.name)
    return (
        found
        if found is not None and text(found, "metadata", "uid") == ref.uid and not is_going(found)
        else None
    )


async def join(ground: ActContext, do: Do, act: JoinRotation) -> Done:
    """Perform JoinRotation. Errors: Denied."""
    for _ in range(TRIES):
        home = await ground.checked_home(do)
        pod = await _pod(ground, do.pod)
        if pod is None:
            raise Denied(Refused(f"the pod of {act.slot} is gone"))
        on = await ground.rotation_labels(home)
        if await ground.merged(do, PODS, pod, {"metadata": {"labels": on}}) is not None:
            break
    else:
        raise Denied(Lost("the pod changes all the time"))
    while True:
        home = await ground.checked_home(do)
        pod = await _pod(ground, do.pod)
        if pod is None:
            raise Denied(Refused(f"the pod of {act.slot} is gone"))
        ready, _ = await ground.in_rotation(home)
        if text(pod, "metadata", "uid") in ready:
            return Done()
        await asyncio.sleep(ground.pace.poll_s)


async def leave(ground: ActContext, do: Do, act: LeaveRotation | Detach) -> Done:
    """LeaveRotation and Detach: remove the labels, wait until the pod has left the EndpointSlices
    and, for the target's pods, has been released. Errors: Denied.
    """
    homes = isinstance(act, Detach)  # its ReplicaSet has to release it, too
    for _ in range(TRIES):
        home = await ground.checked_home(do)
        pod = await _pod(ground, do.pod)
        if pod is None:
            if homes:
                raise Denied(Refused(f"the pod of {act.slot} is gone"))
            return Done(note="it is gone")
        off = await ground.rotation_labels(home)
        held = {
            key: found for key, found in mapping(pod, "metadata", "labels").items() if key in off
        }
        patch: dict[str, Any] = {}
        if held:
            uid = text(pod, "metadata", "uid")
            if homes and uid not in {
                text(own, "metadata", "uid") for own in await ground.home_pods(home)
            }:
                raise Denied(Refused(f"{name_of(pod)} is not home's"))
            ready, _ = await ground.in_rotation(home)
            if len(ready - {uid}) < act.serving:
                raise Denied(
                    Refused(f"{len(ready - {uid})} others would serve, {act.serving} are needed")
                )
            patch = {
                "metadata": {
                    "labels": dict.fromkeys(held),
                    "annotations": {LABELS: json.dumps(held, sort_keys=True)},
                }
            }
        elif annotation(pod, STEP) == do.key:
            break
        if await ground.merged(do, PODS, pod, patch) is not None:
            break
    else:
        raise Denied(Lost("the pod changes all the time"))
    while True:
        home = await ground.checked_home(do)
        pod = await _pod(ground, do.pod)
        _, seen = await ground.in_rotation(home)
        if pod is None:
            return Done(note="it is gone")
        if text(pod, "metadata", "uid") not in seen and not (homes and controller(pod)):
            return Done()
        await asyncio.sleep(ground.pace.poll_s)


async def pick_replica(ground: ActContext, do: Do) -> Done:
    """PickReplica: choose a replica that does not serve, else the least busy one in rotation.
    Errors: Denied.
    """
    home = await ground.checked_home(do)
    pods = await ground.home_pods(home)
    if not pods:
        raise Denied(Refused("home owns no pod"))
    ready, _ = await ground.in_rotation(home)
    down = [pod for pod in pods if text(pod, "metadata", "uid") not in ready or not is_ready(pod)]
    if down:
        return Done(_ref(min(down, key=name_of)), "it does not serve")
    busy = await asyncio.gather(*(requests_in(ground, pod) for pod in pods))
    chosen, found = min(
        zip(pods, busy, strict=True),
        key=lambda entry: (entry[1] if entry[1] is not None else 1e9, name_of(entry[0])),
    )
    return Done(_ref(chosen), f"{found:.0f} requests" if found is not None else "")


async def pick_surplus(ground: ActContext, do: Do, act: PickSurplus) -> Done:
    """PickSurplus: choose a replica that does not serve, else the newest; none if there are at most
    `over`. Errors: Denied.
    """
    home = await ground.checked_home(do)
    pods = await ground.home_pods(home)
    if len(pods) <= act.over:
        return Done()
    ready, _ = await ground.in_rotation(home)
    if isinstance(ground.kind, NumberedKind):  # its owner takes the highest one away
        lists = await ground.lists()
        last = ground.kind.unit_pods(home, lists, ground.kind.replicas(home) - 1)
        return Done(_ref(last[0])) if last else Done()
    by_age = sorted(
        pods,
        key=lambda pod: (text(pod, "metadata", "creationTimestamp"), name_of(pod)),
        reverse=True,
    )
    down = [pod for pod in by_age if text(pod, "metadata", "uid") not in ready]
    return Done(_ref((down or by_age)[0]))


async def put_back(ground: ActContext, do: Do, act: PutBack) -> Done:
    """PutBack: return the pod to the target and the rotation if it is missing there; otherwise
    drain and delete it. Errors: Denied.
    """
    bounds = ground.plan.bounds
    drain = Drain(ground, do.until - bounds.answer_s - bounds.end_s)
    while True:
        home = await ground.checked_home(do)
        pod = await _pod(ground, do.pod)
        if pod is None:
            return Done(note="it is gone")
        uid = text(pod, "metadata", "uid")
        own = await ground.home_pods(home)
        former = annotation(pod, LABELS)
        numbered = ground.plan.rolls == "ordinals"  # nothing else is made of the name of a unit
        if numbered and former and _lacks(pod, json.loads(former)):
            await ground.merged(do, PODS, pod, {"metadata": {"labels": json.loads(former)}})
        elif uid in {text(other, "metadata", "uid") for other in own}:
            ready, _ = await ground.in_rotation(home)
            if (uid in ready or not is_ready(pod)) and await _kept(ground, do, pod, own):
                return Done()
        elif not former:
            ready, _ = await ground.in_rotation(home)
            if controller(pod) or uid in ready:
                return Done()
            raise Denied(
                Refused(
                    f"{name_of(pod)} belongs to nobody, and what it was labelled with is not known"
                )
            )
        elif _lacks(pod, json.loads(former)):
            if sum(map(is_ready, own)) < act.replicas:
                await ground.merged(do, PODS, pod, {"metadata": {"labels": json.loads(former)}})
            elif await drain.over(pod):
                cut, said = await requests_cut(ground, pod)
                if await ground.deleted(do, PODS, pod):
                    whole = "home is whole without it: deleted"
                    return Done(note="; ".join(filter(None, (whole, said))), cut=cut)
        await asyncio.sleep(ground.pace.poll_s)


def _lacks(pod: Object, labels: dict[str, str]) -> bool:
    held = mapping(pod, "metadata", "labels")
    return any(held.get(key) != found for key, found in labels.items())


async def _kept(ground: ActContext, do: Do, pod: Object, own: list[Object]) -> bool:
    """Return True if the pod carries the act's key and none of the target's pods carries our marks;
    False if one has changed since it was read.
    """
    was_first = (
        annotation(next((other for other in own if name_of(other) == name_of(pod)), {}), COST)
        == LEAST
    )
    if not await marked(ground, do, own, None) or was_first:
        return False
    if annotation(pod, STEP) == do.key and not annotation(pod, LABELS):
        return True
    return (
        await ground.merged(do, PODS, pod, {"metadata": {"annotations": {LABELS: None}}})
        is not None
    )


class Drain:
    """Observes a pod out of rotation until it is drained or the time is over.

    Drained: no request was running and none arrived for the grace period (`pace.quiet_s`), in which
    an engine closes idle connections. `pooled`: requests that arrived after the pod left the
    rotation, from clients that keep their connections.
    """

    def __init__(self, ground: ActContext, until: float) -> None:
        self._ground = ground
        self._until = until
        self._began = ground.clock.now()
        self._quiet_since: float | None = None
        self._came: float | None = None
        self._came_first: float | None = None
        self._silent = 0
        self.pooled = 0.0
        self.note = ""

    async def over(self, pod: Object) -> bool:
        """Check once more. A pod that is not Ready and twice does not respond counts as drained."""
        found = await activity_of(self._ground, pod)
        now, pace = self._ground.clock.now(), self._ground.pace
        self._silent = self._silent + 1 if found is None and not is_ready(pod) else 0
        self.note = "it does not serve" if self._silent else ""
        if found is None or found.under_way > 0:
            self._quiet_since = None
        elif self._quiet_since is None or found.came != self._came:
            self._quiet_since = now
        if found is not None:
            self._came = found.came
            if found.came is not None and now >= self._began + pace.routed_s:
                self._came_first = found.came if self._came_first is None else self._came_first
                self.pooled = found.came - self._came_first
        quiet = self._quiet_since is not None and now - self._quiet_since >= pace.quiet_s
        return (
            self._silent >= DRAINED_TWICE
            or (quiet and now >= self._began + pace.routed_s)
            or now >= self._until
        )

    @property
    def hopeless(self) -> bool:
        """True if clients have kept sending for so long that waiting will not drain the pod."""
        waited = self._ground.clock.now() - self._began
        return self.pooled > 0 and waited >= self._ground.pace.pooled_s and self._busy_lately()

    def _busy_lately(self) -> bool:
        return self._quiet_since is None or (
            self._ground.clock.now() - self._quiet_since < self._ground.pace.poll_s
        )

    def says(self, pod: Object) -> str:
        """Return that clients keep their connections, with figures."""
        waited = self._ground.clock.now() - self._began
        return f"{name_of(pod)} got {self.pooled:.0f} requests in the {waited:.0f} s since it left the rotation: {POOLED}"


async def await_drained(ground: ActContext, do: Do) -> Done:
    """AwaitDrained: wait until the pod's own metrics show no request for the whole grace period;
    the machine sets the deadline. Stop waiting if clients keep sending over persistent connections.
    Errors: Denied.
    """
    drain = Drain(ground, math.inf)
    while True:
        await ground.checked_home(do)
        pod = await _pod(ground, do.pod)
        if pod is None:
            return Done(note="it is gone")
        if await drain.over(pod):
            return Done(note=drain.note)
        if drain.hopeless and ground.plan.bounds.on_drain_bound == "cut":
            return Done(note=f"not drained: {drain.says(pod)}")
        await asyncio.sleep(ground.pace.poll_s)


async def delete_pod(ground: ActContext, do: Do) -> Done:
    """DeletePod: done when the pod is gone; reports the requests that were cut off. Errors: Denied."""
    cut, said = NOTHING_CUT, ""
    while True:
        home = await ground.checked_home(do)
        found = await ground.got(PODS, do.pod.name) if do.pod is not None else None
        if found is None or do.pod is None or text(found, "metadata", "uid") != do.pod.uid:
            return Done(note=said, cut=cut)
        if not is_going(found):
            _, seen = await ground.in_rotation(home)
            if controller(found) or do.pod.uid in seen:
                raise Denied(Refused(f"{do.pod.name} is in rotation or has a controller"))
            cut, said = await requests_cut(ground, found)
            await ground.deleted(do, PODS, found)
        await asyncio.sleep(ground.pace.poll_s)


def _ref(pod: Object) -> PodRef:
    return PodRef(name_of(pod), text(pod, "metadata", "uid"))
