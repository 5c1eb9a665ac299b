"""Acts on kinds whose owner rolls units by itself: write home and wait until all follow; and for
those whose owner runs a canary first, open it, wait for it and close it.
"""

from __future__ import annotations

import asyncio
import json

from barostat.io.kubernetes.client.cluster import Object
from barostat.io.mitigation.act_context import TRIES, ActContext
from barostat.io.mitigation.target_acts import patch_template
from barostat.io.mitigation.target_reader import Denied, is_ready
from barostat.io.mitigation.unit_starts import Start
from barostat.platform.objects import is_going, name_of, text
from barostat.platform.workloads import CanaryKind, OwnedKind
from barostat.remedy.acts import (
    AwaitCanary,
    AwaitRolled,
    Done,
    Lost,
    OpenCanary,
    PodRef,
    Refused,
    RollHome,
)
from barostat.remedy.state import Do


def _kind(ground: ActContext) -> CanaryKind:
    found = ground.kind
    if not isinstance(found, CanaryKind):
        raise Denied(Refused(f"a {found.api.kind} runs no canary by itself"))
    return found


async def open_canary(ground: ActContext, do: Do, act: OpenCanary) -> Done:
    """OpenCanary: write the change to the target, so that its owner stops at the canary; back:
    restore the target. Errors: Denied.
    """
    return await patch_template(ground, do, act)


async def await_canary(ground: ActContext, do: Do, act: AwaitCanary) -> Done:
    """AwaitCanary: wait for the canary. Errors: Denied, with Failed if it cannot come up."""
    del act
    kind, start = _kind(ground), Start(ground, do)
    while True:
        home = await ground.checked_home(do)
        pods = [pod for pod in await newest(ground, home) if not is_going(pod)]
        ready, _ = await ground.in_rotation(home)
        for pod in filter(is_ready, pods if kind.waits(home) else []):
            if text(pod, "metadata", "uid") in ready:
                await start.took_change(pod)
                return Done(PodRef(name_of(pod), text(pod, "metadata", "uid")), start.said())
        await start.check(home, pods)
        await asyncio.sleep(ground.pace.poll_s)


async def roll_home(ground: ActContext, do: Do, act: RollHome) -> Done:
    """RollHome: write the change to the target (back: its former value) and trigger its owner.
    Errors: Denied.
    """
    await patch_template(ground, do, act)
    if isinstance(ground.kind, OwnedKind):
        return Done()
    kind = _kind(ground)
    for _ in range(TRIES):
        home = await (ground.claimed_home(do) if act.back else ground.checked_home(do))
        if not kind.has_seen(home):
            await asyncio.sleep(ground.pace.poll_s)
            continue
        if not kind.is_rolling(home):
            return Done()
        await ground.look_again(do, claim_only=act.back)
        body = json.loads(json.dumps(kind.go_on))
        body["metadata"] = {"resourceVersion": text(home, "metadata", "resourceVersion")}
        write = ground.cluster.patch(
            ground.resource,
            name_of(home),
            body,
            ground.namespace,
            how="merge",
            subresource="status",
            within_s=ground.pace.write_s,
        )
        if await ground.written(write) is not None:
            return Done()
    raise Denied(Lost("home's owner does not see its change"))


async def await_rolled(ground: ActContext, do: Do, act: AwaitRolled) -> Done:
    """AwaitRolled: wait until every unit has the target's current template and is Ready in
    rotation. Errors: Denied, with Failed if that cannot happen.
    """
    del act
    kind = ground.kind
    start = Start(ground, do, changed=False)
    told, wait_s = 0.0, 0.0
    if isinstance(kind, OwnedKind) and not kind.units_are_pods:
        wait_s = ground.pace.routed_s  # its status is read off elsewhere, a moment later
    while True:
        home = await ground.claimed_home(do)
        lists = await ground.lists()
        own, pods = kind.own_pods(home, lists), kind.newest_pods(home, lists)
        ready, _ = await ground.in_rotation(home)
        serving = sum(is_ready(pod) and text(pod, "metadata", "uid") in ready for pod in pods)
        wanted = kind.replicas(home)
        if wait_s:
            wanted = min(wanted, len(own))
        if not kind.rolled_out(home, lists) or serving < wanted or len(own) != len(pods):
            told = 0.0
        elif not wait_s or (told and ground.clock.now() - told >= wait_s):
            return Done()
        else:
            told = told or ground.clock.now()
        await start.check(home, pods)
        await asyncio.sleep(ground.pace.poll_s)


async def newest(ground: ActContext, home: Object) -> list[Object]:
    """Return the target's pods with its current template. Errors: Denied."""
    return ground.kind.newest_pods(home, await ground.lists())
