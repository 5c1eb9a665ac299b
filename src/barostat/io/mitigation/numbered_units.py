"""Acts on kinds whose units are numbered: the change staged behind a partition, the partition moved,
one unit found, awaited or removed.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from barostat.io.kubernetes.client.cluster import Object
from barostat.io.kubernetes.client.resources import PODS
from barostat.io.mitigation.act_context import TRIES, ActContext
from barostat.io.mitigation.pod_scrapes import cut_by_owner, requests_cut
from barostat.io.mitigation.target_reader import Denied, annotation, controller, is_ready
from barostat.io.mitigation.unit_starts import Start
from barostat.judge.manifest_edit.config_change import digest
from barostat.platform.objects import is_going, mapping, name_of, text
from barostat.platform.workloads import NumberedKind
from barostat.remedy.acts import (
    NOTHING_CUT,
    AwaitUnit,
    Conflict,
    Done,
    FinishRollout,
    Lost,
    MovePartition,
    Next,
    PickUnit,
    PodRef,
    Refused,
    RemoveStuck,
    RemoveUnit,
    StageChange,
)
from barostat.remedy.annotations import FORMER, PATCHED, STEP, is_patch_of, written_patch
from barostat.remedy.state import Do

_SOURCE, _HOLD = "source", "hold"
"""Keys of the former state, as it is kept on home."""


def _kind(ground: ActContext) -> NumberedKind:
    found = ground.kind
    if not isinstance(found, NumberedKind):
        raise Denied(Refused(f"the units of a {found.api.kind} have no numbers"))
    return found


async def stage(ground: ActContext, do: Do, act: StageChange) -> Done:
    """StageChange: the change (or the former state) and the partition, in one write. Errors:
    Denied.
    """
    kind = _kind(ground)
    for _ in range(TRIES):
        home = await ground.checked_home(do) if not act.back else await ground.claimed_home(do)
        if is_patch_of(annotation(home, PATCHED), ground.plan.id) is not act.back:
            return Done()
        if act.back:
            new, marks = await _as_found(ground, home)
        elif kind.is_settling(home):
            await _settled(ground, do, home)
            continue
        else:
            staged = kind.with_source(home, await ground.new_source(home))
            new = kind.with_hold(staged, kind.held(home, kind.replicas(home)))
            tried = await ground.replaced(do, new, dry_run=True)
            if tried is None:
                continue
            new = kind.with_source(new, kind.source(tried))
            former = {_SOURCE: kind.source(home), _HOLD: kind.hold(home)}
            patched = written_patch(ground.plan.id, digest(kind.source(tried)))
            marks = {FORMER: json.dumps(former), PATCHED: patched}
        if await ground.replaced(do, new, marks) is not None:
            return Done()
    raise Denied(Lost("home changes all the time"))


async def _as_found(
    ground: ActContext, home: Object
) -> tuple[dict[str, Any], dict[str, str | None]]:
    kind = _kind(ground)
    if not ground.is_patched(home):
        raise Denied(Conflict("somebody changed home's template: it is left alone"))
    lists = await ground.lists()
    off = await ground.rotation_labels(home)
    for pod in kind.newest_pods(home, lists):
        if kind.replicas(home) > 1 or _carries(pod, off):
            raise Denied(Refused(f"{name_of(pod)} runs the change"))
    former = json.loads(annotation(home, FORMER))
    new = kind.with_hold(kind.with_source(home, former[_SOURCE]), former[_HOLD])
    return new, {PATCHED: None}


async def _settled(ground: ActContext, do: Do, home: Object) -> None:
    """Every unit runs the present template: its owner takes it as the former one once the strategy
    lets it. Errors: Denied.
    """
    kind = _kind(ground)
    if kind.hold(home) != kind.held(home, kind.partition(home)):
        await ground.replaced(do, kind.with_hold(home, kind.held(home, kind.partition(home))))
    await asyncio.sleep(ground.pace.poll_s)


async def move_partition(ground: ActContext, do: Do, act: MovePartition) -> Done:
    """MovePartition: Done with the requests that are cut where the owner deletes the unit then, as
    one whose selector the pod still fits does. Errors: Denied.
    """
    kind = _kind(ground)
    cut, said = NOTHING_CUT, ""
    for _ in range(TRIES):
        home = await ground.checked_home(do)
        now = kind.partition(home)
        if now == act.to and annotation(home, STEP) == do.key:
            return Done(note=said, cut=cut)
        if now not in (act.former, act.to):
            raise Denied(
                Conflict(f"home's partition is {now}, not {act.former}: somebody changed it")
            )
        lists, off = await ground.lists(), await ground.rotation_labels(home)
        newest = {text(pod, "metadata", "uid") for pod in kind.newest_pods(home, lists)}
        replaced = [
            pod
            for place in range(act.to, act.former)
            for pod in kind.unit_pods(home, lists, place)[:1]
            if text(pod, "metadata", "uid") not in newest
        ]
        for pod in replaced if now != act.to else ():
            if _carries(pod, off):
                raise Denied(Refused(f"{name_of(pod)} would be replaced in rotation"))
        cut, said = await cut_by_owner(ground, replaced)
        if await ground.replaced(do, kind.with_hold(home, kind.held(home, act.to))) is not None:
            return Done(note=said, cut=cut)
    raise Denied(Lost("home changes all the time"))


async def finish(ground: ActContext, do: Do, act: FinishRollout) -> Done:
    """FinishRollout: the strategy is as it was found. Errors: Denied."""
    del act
    kind = _kind(ground)
    for _ in range(TRIES):
        home = await ground.checked_home(do)
        kept = annotation(home, FORMER)
        if not kept:
            return Done()
        hold = json.loads(kept)[_HOLD]
        if kind.hold(home) == hold and annotation(home, STEP) == do.key:
            return Done()
        if await ground.replaced(do, kind.with_hold(home, hold)) is not None:
            return Done()
    raise Denied(Lost("home changes all the time"))


async def pick_unit(ground: ActContext, do: Do, act: PickUnit) -> Done:
    """PickUnit; its deadline is the machine's. Errors: Denied."""
    kind = _kind(ground)
    while True:
        home = await ground.checked_home(do)
        lists = await ground.lists()
        pods = [pod for pod in kind.unit_pods(home, lists, act.place)[:1] if not is_going(pod)]
        if pods:
            if act.changed and not await _runs_change(ground, home, lists, pods[0]):
                return Done(note="it does not run the change")
            return Done(_ref(pods[0]))
        if kind.makes(home, lists, act.place) == "nothing":
            return Done(note="there is none")
        await asyncio.sleep(ground.pace.poll_s)


async def await_unit(ground: ActContext, do: Do, act: AwaitUnit) -> Done:
    """AwaitUnit: every pod of the unit is Ready, the one that answers is in rotation. Errors:
    Denied, with Failed where that will not be.
    """
    kind = _kind(ground)
    start = Start(ground, do, changed=act.changed)
    while True:
        home = await ground.checked_home(do)
        lists = await ground.lists()
        pods = [pod for pod in kind.unit_pods(home, lists, act.place) if not is_going(pod)]
        complete = len(pods) >= kind.pods_per_unit(home) and all(map(is_ready, pods))
        ready, _ = await ground.in_rotation(home)
        serves = bool(pods) and text(pods[0], "metadata", "uid") in ready
        fits = bool(pods) and await _runs_change(ground, home, lists, pods[0]) is act.changed
        if complete and serves and fits:
            await start.took_change(pods[0])
            return Done(_ref(pods[0]), start.said())
        await start.check(home, pods if fits else [])
        await asyncio.sleep(ground.pace.poll_s)


async def remove_unit(ground: ActContext, do: Do, act: RemoveUnit) -> Done:
    """RemoveUnit: Done when the pod that the slot names is gone, with the requests that it cut.
    Errors: Denied.
    """
    kind = _kind(ground)
    cut, said = NOTHING_CUT, ""
    while True:
        home = await ground.checked_home(do)
        found = await ground.got(PODS, do.pod.name) if do.pod is not None else None
        if found is None or do.pod is None or text(found, "metadata", "uid") != do.pod.uid:
            if act.then == "nothing" or await _woken(ground, do, home):
                return Done(note=said, cut=cut)
            continue
        if not is_going(found):
            _, seen = await ground.in_rotation(home)
            if do.pod.uid in seen or _carries(found, await ground.rotation_labels(home)):
                raise Denied(Refused(f"{do.pod.name} is in rotation"))
            if _next(ground, home, kind.makes(home, await ground.lists(), act.place)) == act.then:
                if act.then == "former" or not controller(found):  # else the act before counted
                    cut, said = await requests_cut(ground, found)
                await ground.deleted(do, PODS, found)
        await asyncio.sleep(ground.pace.poll_s)


async def _woken(ground: ActContext, do: Do, home: Object) -> bool:
    """True once the owner reconciles the target. It has failed to create a unit with the name of a
    released pod, backs off up to 1000 s, and is not notified when that pod ends; a write to the
    target triggers it.
    """
    if annotation(home, STEP) == do.key:
        return True
    return await ground.merged(do, ground.resource, home, {}) is not None


def _next(ground: ActContext, home: Object, made: str) -> Next | None:
    match made:
        case "nothing":
            return "nothing"
        case "present" | "former" if not ground.is_patched(home):
            return "former"
        case "present":
            return "change"
        case "former":
            return "former"
    return None


async def remove_stuck(ground: ActContext, do: Do, act: RemoveStuck) -> Done:
    """RemoveStuck: Done when no pod is left that is not Ready and not of home's present state.
    Errors: Denied.
    """
    del act
    kind = _kind(ground)
    while True:
        home = await ground.checked_home(do)
        lists = await ground.lists()
        if not any(
            kind.makes(home, lists, place) == "unknown" for place in range(kind.replicas(home))
        ):
            newest = {text(pod, "metadata", "uid") for pod in kind.newest_pods(home, lists)}
            stuck = [
                pod
                for pod in await ground.home_pods(home)
                if text(pod, "metadata", "uid") not in newest and not is_ready(pod)
            ]
            if not stuck:
                return Done()
            for pod in stuck:
                await ground.deleted(do, PODS, pod)
        await asyncio.sleep(ground.pace.poll_s)


async def _runs_change(
    ground: ActContext, home: Object, lists: dict[str, list[Object]], pod: Object
) -> bool:
    newest = {text(found, "metadata", "uid") for found in _kind(ground).newest_pods(home, lists)}
    return ground.is_patched(home) and text(pod, "metadata", "uid") in newest


def _carries(pod: Object, labels: dict[str, str]) -> bool:
    held = mapping(pod, "metadata", "labels")
    return any(held.get(key) == found for key, found in labels.items())


def _ref(pod: Object) -> PodRef:
    return PodRef(name_of(pod), text(pod, "metadata", "uid"))
