"""An owner that writes its units again from its own object, small enough to be walked through:
KServe's, KubeRay's, and that of an Argo Rollout.

Assumptions, from the controllers of kserve v0.20.0, kuberay v1.6.0 and argo-rollouts v1.9.1:
* the units that run another version than home are replaced one at a time: `surge` units are started
  before one goes, or `unavailable` units go before one is started; the owner does not drain them;
* a surge unit without a free GPU waits, and so does the rollout;
* an open canary is one unit with the change; it is gone at once when it is closed, whoever it serves;
* a spare is nothing to the owner: it neither counts nor takes it away;
* status comes late: the controllers act in any order with us.
"""

from __future__ import annotations

from tests.model.cluster import (
    OLD,
    PENDING,
    READY,
    Broken,
    Pod,
    Setting,
    World,
    find,
    new_spares,
)

from barostat.remedy.acts import (
    Act,
    AwaitCanary,
    AwaitRolled,
    Conflict,
    OpenCanary,
    Refused,
    RollHome,
    ShiftTraffic,
)

CANARY = "canary"


def begin(setting: Setting) -> World:
    """Every unit serves the old version."""
    pods = tuple(
        Pod(f"h{index}", "home", OLD, READY, True, True, True) for index in range(setting.replicas)
    )
    return World(setting.replicas, OLD, pods, owner="running" if setting.owner else "")


def settle(world: World, setting: Setting) -> tuple[World, Broken]:
    """One round of the controllers, until nothing moves. What an owner cuts while it rolls is its
    own way, so only the floor is held; a canary or a spare that serves when it goes is ours.
    """
    broken: list[str] = []
    pods = list(world.pods)
    canaries = [pod for pod in pods if pod.owner == CANARY]
    if world.canary and not canaries:
        joins = setting.canary == "live" and not setting.percent
        pods.append(Pod("c0", CANARY, world.canary, PENDING, joins, False, False))
    for pod in canaries:
        if not world.canary:
            pods.remove(pod)
            if (pod.serves and world.percent) or (pod.busy and setting.percent):
                broken.append(f"L9: the canary {pod.name} is closed while it serves")
    pods = [
        pod._replace(labelled=world.percent > 0) if pod.owner == CANARY and setting.percent else pod
        for pod in pods
    ]
    made = {f"spare-{index}" for index, _ in world.spares}
    for pod in [pod for pod in pods if pod.owner.startswith("spare-") and pod.owner not in made]:
        pods.remove(pod)
        if pod.serves or pod.busy:
            broken.append(f"L9: {pod.name} goes with its spare, and serves")
    pods += new_spares(world, pods)
    own = [pod for pod in pods if pod.owner == "home"]
    stale = sorted((pod for pod in own if pod.version != world.template), key=_goes_first)
    ready = [pod for pod in own if pod.stage == READY]
    least = world.replicas - setting.unavailable
    if len(own) < world.replicas or (stale and len(own) < world.replicas + setting.surge):
        names = {pod.name for pod in pods}
        name = next(f"n{index}" for index in range(99) if f"n{index}" not in names)
        pods.append(Pod(name, "home", world.template, PENDING, True, False, False))
    elif stale and (stale[0].stage != READY or len(ready) > least):
        pods.remove(stale[0])
    elif not stale and len(own) > world.replicas:
        pods.remove(sorted(own, key=_goes_first)[0])
    listed = (pod._replace(listed=pod.serves, busy=pod.busy or pod.serves) for pod in pods)
    return world._replace(pods=tuple(sorted(listed))), tuple(broken)


def _goes_first(pod: Pod) -> tuple[int, str]:
    return pod.stage, pod.name


def act(
    world: World,
    setting: Setting,
    asked: Act,
    pod: Pod | None,  # noqa: ARG001 - the same for every kind
    version: str,
) -> tuple[World, Refused | Conflict | None] | None:
    """The world after that act; None for an act that is the same for every kind."""
    match asked:
        case OpenCanary(back=False):
            return world._replace(canary=version), None
        case OpenCanary(back=True):
            return world._replace(canary=""), None
        case ShiftTraffic(former, to):
            if world.percent not in (former, to):
                return world, Conflict(f"it gets {world.percent} %, not {former}")
            canary = find(world, "c0")
            if to and (canary is None or canary.stage != READY):
                return world, Refused("the canary is not Ready")
            return world._replace(percent=to), None
        case RollHome(back):
            after = world._replace(template=OLD if back else version)
            if setting.canary == "live" and not setting.percent and not back:
                after = _adopted(after)
            return after, None
    return None


def _adopted(world: World) -> World:
    """A Rollout's canary is one of its units once it is promoted."""
    pods = [
        pod._replace(owner="home", name="n98") if pod.owner == CANARY else pod for pod in world.pods
    ]
    return world._replace(pods=tuple(sorted(pods)), canary="")


def is_done(world: World, asked: Act, name: str) -> bool | None:
    """True when what the act asks for can be seen; None for an act that is the same for every
    kind.
    """
    del name
    match asked:
        case AwaitCanary():
            return any(pod.owner == CANARY and pod.stage == READY for pod in world.pods)
        case OpenCanary(back=True):
            return not any(pod.owner == CANARY for pod in world.pods)
        case AwaitRolled():
            own = [pod for pod in world.pods if pod.owner == "home"]
            return len(own) == world.replicas and all(
                pod.version == world.template and pod.stage == READY and pod.listed for pod in own
            )
    return None
