"""The controllers of numbered units, small enough to be walked through: a StatefulSet's and a
LeaderWorkerSet's.

Assumptions, from pkg/controller/statefulset of Kubernetes 1.34 and
pkg/controllers/leaderworkerset_controller.go of lws v0.9.0:
* a unit at or above the partition is made from the present template, one below it from the former
  state; the owner takes the present template as the former state once every unit has it;
* from the highest place down, one unit at or above the partition that differs is deleted at a time,
  whether it serves or not, and only after every unit above it is Ready;
* a StatefulSet releases a pod whose labels do not fit, and then neither makes another of its name
  nor replaces any other; a LeaderWorkerSet keeps the leader whatever labels of others it loses.
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
    serving,
    with_pod,
    without_pod,
)

from barostat.remedy.acts import (
    Act,
    AwaitUnit,
    Conflict,
    FinishRollout,
    LeaveRotation,
    MovePartition,
    PutBack,
    Refused,
    RemoveStuck,
    RemoveUnit,
    ScaleHome,
    StageChange,
    UndoRollout,
)

_GENERATIONS = "abcd"
"""A pod of the same name is another pod; no slot names one of four generations ago."""


def begin(setting: Setting) -> World:
    """Every unit serves the old version; of a stuck rollout, the highest one does not get Ready."""
    count, stuck = setting.replicas, setting.strategy == "stuck-rollout"
    version = setting.levers[0] if stuck else OLD
    pods = [Pod(f"u{place}a", "home", version, READY, True, True, True) for place in range(count)]
    if stuck:
        pods[-1] = Pod(f"u{count - 1}a", "home", OLD, PENDING + 1, True, False, False)
    owner = "running" if setting.owner else ""
    return World(count, OLD, tuple(pods), current=version, owner=owner, rollout=stuck)


def place_of(pod: Pod) -> int:
    """The number of the pod's unit."""
    return int(pod.name[1:-1])


def unit(world: World, place: int) -> Pod | None:
    """The pod of that unit, released or not."""
    return next((pod for pod in world.pods if place_of(pod) == place), None)


def settle(world: World, setting: Setting) -> tuple[World, Broken]:
    """One round of the controllers, until nothing moves."""
    broken: list[str] = []
    before = world
    pods = [_released(pod) if setting.releases else pod for pod in world.pods]
    there = {place_of(pod) for pod in pods}
    pods += [_made(world, place) for place in range(world.replicas) if place not in there]
    waits = False
    for pod in sorted(pods, key=place_of, reverse=True):
        if pod.owner != "home":
            waits = waits or (setting.releases and place_of(pod) < world.replicas)
        elif place_of(pod) >= world.replicas:
            pods.remove(pod)
            broken += _cut(pod, "takes away")
    if not waits and not (world.rollout and world.template == OLD):
        broken += _rolled(world, setting, pods)
    left = {pod.name for pod in pods}
    for pod in before.pods:
        if pod.name not in left:
            world = _removed(world, pod)
    current = world.current
    own = [pod for pod in pods if pod.owner == "home"]
    if (
        len(own) == world.replicas
        and world.partition == 0
        and all(pod.stage == READY and pod.version == world.template for pod in own)
    ):
        current = world.template
    listed = (pod._replace(listed=pod.serves, busy=pod.busy or pod.serves) for pod in pods)
    return world._replace(pods=tuple(sorted(listed)), current=current), tuple(broken)


def _released(pod: Pod) -> Pod:
    if pod.owner == "home" and not pod.labelled:
        return pod._replace(owner="")
    return pod._replace(owner="home") if pod.owner == "" and pod.labelled else pod


def _made(world: World, place: int) -> Pod:
    version = world.template if place >= world.partition else world.current
    last = dict(world.generations).get(place, 0)
    name = f"u{place}{_GENERATIONS[last % len(_GENERATIONS)]}"
    return Pod(name, "home", version, PENDING, True, False, False)


def _rolled(world: World, setting: Setting, pods: list[Pod]) -> list[str]:
    undone = world.rollout and world.template != OLD
    for pod in sorted(pods, key=place_of, reverse=True):
        if place_of(pod) < world.partition or pod.owner != "home":
            continue
        if pod.version != world.template:
            if setting.releases and pod.stage != READY:
                return []  # an OrderedReady StatefulSet does not replace what never got Ready
            pods.remove(pod)
            # A pod of the stuck rollout that gets Ready after it is undone is its owner's to take.
            return [] if undone and pod.version == OLD else _cut(pod, "replaces")
        if pod.stage != READY:
            return []
    return []


def _cut(pod: Pod, verb: str) -> list[str]:
    if pod.serves or pod.busy:
        return [f"L9: home's owner {verb} {pod.name}, which serves"]
    return []


def act(
    world: World, setting: Setting, asked: Act, pod: Pod | None, version: str
) -> tuple[World, Refused | Conflict | None] | None:
    """The world after that act; None for an act that is the same for every kind."""
    units = setting.replicas
    match asked:
        case StageChange(back=False):
            return world._replace(template=version, partition=world.replicas), None
        case StageChange(back=True):
            changed = [found for found in world.pods if found.version == version]
            if changed and (units > 1 or changed[0].labelled):
                return world, Refused("a unit runs the change")
            return world._replace(template=OLD, partition=0), None
        case MovePartition(former, to):
            if world.partition not in (former, to):
                return world, Conflict(f"the partition is {world.partition}, not {former}")
            moved = [found for found in world.pods if to <= place_of(found) < world.partition]
            if any(found.labelled and found.version != world.template for found in moved):
                return world, Refused("a unit that would be replaced is in rotation")
            return world._replace(partition=to), None
        case RemoveUnit(_, place, then):
            if pod is None:
                return world, None
            if pod.labelled or pod.listed:
                return world, Refused("it is in rotation")
            if next_at(world, place) != then:
                return world, Refused(f"home's owner does not make {then} there")
            return _removed(world, pod), None
        case FinishRollout():
            return world._replace(partition=0), None
        case UndoRollout(back):
            if not back and any(
                found.version == OLD and found.stage == READY for found in world.pods
            ):
                return world, Refused("the rollout is not stuck")
            return world._replace(template=OLD if back else version), None
        case RemoveStuck():
            for found in world.pods:
                if found.stage != READY and found.version != world.template:
                    world = _removed(world, found)
            return world, None
        case PutBack():
            known = pod is not None and not pod.labelled
            return (with_pod(world, pod._replace(labelled=True)) if pod and known else world), None
        case LeaveRotation(_, floor):
            if pod is None or not pod.labelled:
                return world, None
            if serving(world, but=pod.name) < floor and pod.serves:
                return world, Refused(f"fewer than {floor} would serve")
            return with_pod(world, pod._replace(labelled=False)), None
        case ScaleHome(former, to):
            if world.replicas not in (former, to):
                return world, Conflict(f"home asks for {world.replicas}, not {former}")
            inside = sum(found.serves and found.owner == "home" for found in world.pods)
            if to < world.replicas and inside > to:
                return world, Refused("a unit that serves would be deleted")
            return world._replace(replicas=to), None
    return None


def _removed(world: World, pod: Pod) -> World:
    made = dict(world.generations)
    made[place_of(pod)] = (made.get(place_of(pod), 0) + 1) % len(_GENERATIONS)
    return without_pod(world, pod.name)._replace(generations=tuple(sorted(made.items())))


def next_at(world: World, place: int) -> str:
    """What home's owner makes at that place."""
    if place >= world.replicas:
        return "nothing"
    version = world.template if place >= world.partition else world.current
    return "former" if version == OLD else "change"


def is_done(world: World, asked: Act, name: str) -> bool | None:
    """True when what the act asks for can be seen; None for an act that is the same for every
    kind.
    """
    pod = find(world, name)
    match asked:
        case AwaitUnit(_, place, changed):
            found = unit(world, place)
            ready = found is not None and found.stage == READY and found.listed
            return ready and (not changed or (found is not None and found.version != OLD))
        case PutBack():
            return pod is None or (pod.owner == "home" and (pod.listed or pod.stage != READY))
        case RemoveUnit():
            return pod is None
        case RemoveStuck():
            return not any(
                found.stage != READY and found.version != world.template for found in world.pods
            )
    return None
