"""Acts on home, the object that the plan is for: claim, number of replicas, template; and its
limits.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import chain
from typing import Any

from barostat.io.kubernetes.client.cluster import Object
from barostat.io.kubernetes.client.resources import CONFIG_MAPS, PODS
from barostat.io.mitigation.act_context import TRIES, ActContext
from barostat.io.mitigation.pod_scrapes import cut_by_owner
from barostat.io.mitigation.target_reader import Denied, annotation, is_ready
from barostat.judge.manifest_edit.config_change import digest
from barostat.platform.objects import mapping, name_of, text
from barostat.platform.pod_status import unschedulable
from barostat.platform.workloads import NumberedKind
from barostat.remedy.acts import (
    NOTHING_CUT,
    AwaitHome,
    Conflict,
    Done,
    Failed,
    Lost,
    OpenCanary,
    PatchTemplate,
    Refused,
    RollHome,
    ScaleHome,
    UndoRollout,
    WriteLimits,
)
from barostat.remedy.annotations import (
    CLAIM,
    COST,
    ENDED,
    FORMER,
    INCIDENT,
    LABELS,
    LEAST,
    PATCHED,
    STEP,
    TARGET,
    is_patch_of,
    read_claim,
    written_patch,
)  # fmt: skip
from barostat.remedy.state import Do

LIMITS_KEY, FORMER_LIMITS_KEY = "limits.yaml", "limits-before.yaml"


def limits_name(home: str) -> str:
    """The ConfigMap with the ServingLimits of the workload of that name."""
    return f"{home[:240]}-limits"


async def claim(ground: ActContext, do: Do) -> Done:
    """ClaimHome; a later run's is Done when nothing of an earlier one can be on its way any more.
    Errors: Denied.

    Where an earlier one has released home, it has come to its end: nothing of it can claim again,
    and nothing is left to do.
    """
    epoch = read_claim(do.claim).epoch
    if not await _claim(ground, do, epoch):
        return Done(note="the run before it has released home")
    if epoch > 1:
        await asyncio.sleep(ground.pace.stray_s)
        return Done(
            note=(
                f"waited {ground.pace.stray_s:.0f} s for what the run before it may have had "
                "on its way"
            )
        )
    return Done()


async def _claim(ground: ActContext, do: Do, epoch: int) -> bool:
    """True once home is claimed; False if the incident's last act is done already."""
    plan = ground.plan
    for _ in range(TRIES):
        home = await ground.home()
        held = annotation(home, CLAIM)
        if held == do.claim and annotation(home, STEP) == do.key:
            return True
        if held:
            other = read_claim(held)
            if held != do.claim and (other.incident != plan.id or not 0 <= other.epoch < epoch):
                raise Denied(Conflict(f"another change is in flight: {held}"))
        elif annotation(home, ENDED) == plan.id:
            return False
        elif (
            ground.digest(home) != plan.template
            or ground.kind.replicas(home) != plan.replicas
            or annotation(home, ENDED) != plan.parent
        ):
            raise Denied(Conflict("home is not as the plan found it"))
        if (
            await ground.merged(
                do, ground.resource, home, {"metadata": {"annotations": {CLAIM: do.claim}}}
            )
            is not None
        ):
            return True
    raise Denied(Lost("home changes all the time"))


async def release(ground: ActContext, do: Do) -> Done:
    """ReleaseHome: of our marks none is left on home or its pods. Errors: Denied."""
    epoch = read_claim(do.claim).epoch
    for _ in range(TRIES):
        home = await ground.home()
        held = read_claim(annotation(home, CLAIM))
        if held.incident != ground.plan.id or not 0 <= held.epoch <= epoch:
            return Done()
        if not await marked(ground, do, await ground.home_pods(home), None):
            continue
        gone: Mapping[str, Any] = {CLAIM: None, FORMER: None, ENDED: ground.plan.id}
        if (
            await ground.merged(
                do, ground.resource, home, {"metadata": {"annotations": dict(gone)}}
            )
            is not None
        ):
            return Done()
    raise Denied(Lost("home changes all the time"))


async def scale(ground: ActContext, do: Do, act: ScaleHome) -> Done:
    """ScaleHome: the number is written; before that what is to go is marked as the first to go, and
    the requests of a unit that the owner then deletes are counted. Errors: Denied.
    """
    cut, said = NOTHING_CUT, ""
    for _ in range(TRIES):
        home = await ground.checked_home(do)
        now = ground.kind.replicas(home)
        if now == act.to and annotation(home, STEP) == do.key:
            return Done(note=said, cut=cut)
        if now not in (act.former, act.to):
            back = (
                f"kubectl scale {ground.kind.typed(name_of(home))} -n {ground.namespace} "
                f"--replicas={max(act.former, act.to)}"
            )
            raise Denied(
                Conflict(
                    f"home asks for {now} replicas, not {act.former}: somebody scaled it, "
                    f"and {back} takes that back"
                )
            )
        if act.to < now:
            pods = await ground.home_pods(home)
            ready = sum(is_ready(pod) and not annotation(pod, LABELS) for pod in pods)
            if ready > act.to:
                raise Denied(
                    Refused(f"{ready} replicas are Ready: one that serves would be deleted")
                )
            newest = sorted(
                pods, key=lambda pod: text(pod, "metadata", "creationTimestamp"), reverse=True
            )
            chosen = ground.plan.rolls == "spares"  # by its owner, among all of them
            newborn = [pod for pod in newest if not is_ready(pod)][: max(0, len(pods) - act.to)]
            if chosen and not await marked(ground, do, newborn, LEAST):
                continue
        if act.to < act.former and isinstance(ground.kind, NumberedKind):
            lists = await ground.lists()
            units = (
                ground.kind.unit_pods(home, lists, place)[:1] for place in range(act.to, act.former)
            )
            cut, said = await cut_by_owner(ground, chain.from_iterable(units))
        wanted = ground.kind.with_replicas(home, act.to)
        if await ground.merged(do, ground.resource, home, wanted) is not None:
            return Done(note=said, cut=cut)
    raise Denied(Lost("home changes all the time"))


async def marked(ground: ActContext, do: Do, pods: list[Object], cost: str | None) -> bool:
    """The ReplicaSet deletes these first, whatever becomes of them meanwhile (`cost`: LEAST), or no
    more than others (None).

    False if one was no longer what was read. Errors: Denied.
    """
    for pod in pods:
        is_first = annotation(pod, COST) == LEAST
        if (
            is_first is (cost is None)
            and await ground.merged(do, PODS, pod, {"metadata": {"annotations": {COST: cost}}})
            is None
        ):
            return False
    return True


async def await_home(ground: ActContext, do: Do, act: AwaitHome) -> Done:
    """AwaitHome: wait until that many of the target's pods are ready in the Services. Errors:
    Denied.
    """
    while True:
        home = await ground.checked_home(do)
        ready, _ = await ground.in_rotation(home)
        pods = await ground.home_pods(home)
        if (
            sum(text(pod, "metadata", "uid") in ready and is_ready(pod) for pod in pods)
            >= act.ready
        ):
            return Done()
        if (
            act.ready
            and not any(not unschedulable(pod) for pod in pods)
            and ground.clock.now() > do.until - 1.0
        ):
            raise Denied(Failed("no node takes home's pods"))
        await asyncio.sleep(ground.pace.poll_s)


async def patch_template(
    ground: ActContext, do: Do, act: PatchTemplate | UndoRollout | OpenCanary | RollHome
) -> Done:
    """PatchTemplate, UndoRollout, OpenCanary, RollHome: the change, the digest of what the server made of it, and the
    former state, in one write.

    Errors: Denied.
    """
    for _ in range(TRIES):
        home = await ground.checked_home(do) if not act.back else await ground.claimed_home(do)
        ours = is_patch_of(annotation(home, PATCHED), ground.plan.id)
        if (not ours) if act.back else ground.is_patched(home):
            return Done()
        if isinstance(act, UndoRollout):
            await _nobody_serves_less(ground, home, act)
        elif isinstance(act, PatchTemplate) and (
            ground.kind.replicas(home) or await ground.home_pods(home)
        ):
            raise Denied(
                Refused("home owns a pod or asks for one: its template is not written now")
            )
        if act.back and ground.digest(home) == ground.plan.template:  # only the mark is left
            gone = {"metadata": {"annotations": {PATCHED: None}}}
            if await ground.merged(do, ground.resource, home, gone) is not None:
                return Done()
            continue
        if act.back:
            if not ground.is_patched(home):
                raise Denied(Conflict("somebody changed home's template: it is left alone"))
            source = json.loads(annotation(home, FORMER))
            marks: dict[str, str | None] = {PATCHED: None}
        else:
            source = await ground.new_source(home)
            tried = await ground.replaced(do, ground.kind.with_source(home, source), dry_run=True)
            if tried is None:
                continue
            source = ground.kind.source(tried)
            marks = {
                FORMER: json.dumps(ground.kind.source(home)),
                PATCHED: written_patch(ground.plan.id, digest(source)),
            }
        if await ground.replaced(do, ground.kind.with_source(home, source), marks) is not None:
            return Done()
    raise Denied(Lost("home changes all the time"))


async def _nobody_serves_less(ground: ActContext, home: Object, act: UndoRollout) -> None:
    """What the controllers make of the write takes no replica away that serves. Errors: Denied."""
    if act.back:
        rolling = mapping(home, "spec", "strategy", "rollingUpdate")
        if rolling.get("maxUnavailable") not in (0, "0%"):
            raise Denied(
                Refused(
                    "home's rollouts may take away replicas that serve, so the one that "
                    "was stuck is not begun again"
                )
            )
        return
    lists = await ground.lists()
    ready = [name_of(pod) for pod in ground.kind.newest_pods(home, lists) if is_ready(pod)]
    if ready:
        raise Denied(Refused(f"the rollout is not stuck any more: {', '.join(ready)} of it serves"))


async def write_limits(ground: ActContext, do: Do, act: WriteLimits, limits: str) -> Done:
    """WriteLimits: write the file that gateways watch, and keep its former content until the next
    change. Errors: Denied.

    A rollback restores the former content, unless the file was changed since.
    """
    await ground.checked_home(do)
    plan = ground.plan
    name, target = limits_name(plan.target.name), plan.target.name[:63]
    found = await ground.got(CONFIG_MAPS, name)
    held = mapping(found, "data")
    now, before = text(held, LIMITS_KEY), text(held, FORMER_LIMITS_KEY)
    by = text(found, "metadata", "labels", INCIDENT)
    if act.back:
        if by != plan.id:
            return Done(note="they were not written")
        again = plan.undoes or None  # what that incident wrote, and may be taken back another time
        former = {LIMITS_KEY: before or None, FORMER_LIMITS_KEY: (now or None) if again else None}
        await ground.config_map(do, name, former, {TARGET: target, INCIDENT: again})
        return Done()
    if plan.undoes and by != plan.id and (by != plan.undoes or before != limits):
        if plan.at_edge:
            raise Denied(
                Refused(
                    f"configmap {name} is not as {plan.undoes} has left it: somebody "
                    "changed the limits"
                )
            )
        return Done(
            note=f"{plan.undoes} wrote no limits, or somebody has changed them since: they stay"
        )
    if not limits and not plan.undoes:
        return Done(note="the plan holds no limits")
    new = {
        LIMITS_KEY: limits or None,
        FORMER_LIMITS_KEY: (before if by == plan.id else now) or None,
    }
    await ground.config_map(do, name, new, {TARGET: target, INCIDENT: plan.id})
    return Done(note=f"configmap {name}")
