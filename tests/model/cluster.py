"""A Kubernetes small enough to be walked through: a Deployment, its ReplicaSet, spares, pods, GPUs,
endpoints, a record.

What it takes for granted:
* a ReplicaSet releases a pod whose labels do not fit, adopts one without a controller whose labels
  fit, makes what is missing from its
  template, and deletes what is too many: what is not Ready first, then the newest (Kubernetes 1.34,
  ReplicaSet);
* controllers are slow, in any order with us, but faster than an engine starts;
* a Job's controller ends a kept unit when its time is over, at any instant;
* a gateway takes a limit from no earlier run of an incident once it has heard a later one; it
  forgets it when it starts anew;
* a lost request took effect or never will. Only a killed program leaves one behind that may still
  arrive (the stray).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from barostat.remedy.acts import (
    Act,
    AwaitDrained,
    AwaitHome,
    AwaitSpare,
    ClaimHome,
    Conflict,
    CreateSpare,
    DeletePod,
    DeleteSpare,
    Detach,
    DropPrevious,
    JoinRotation,
    KeepPrevious,
    LeaveRotation,
    PatchTemplate,
    PauseOwner,
    PickReplica,
    PickSurplus,
    PutBack,
    Refused,
    ReleaseHome,
    ResumeOwner,
    ScaleHome,
    TightenGateway,
    UndoRollout,
    WriteLimits,
)
from barostat.remedy.plan import ROLLBACK, Canary, Rolls, Strategy
from barostat.remedy.state import HomeAs

PENDING, STARTING, READY = 0, 1, 2
Owner = Literal["", "git-ops", "autoscaler"]
OLD = "old"
KEPT = "kept"
"""Owner of the unit of a former version: a Job."""
ROLLOUT = "rollout"
"""Owner of what a stuck rollout made: the newest ReplicaSet, while home's template is the one that
was found.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """How large the world is, and what may go wrong in it."""

    replicas: int = 3
    gpus: int = 4
    strategy: Strategy = "spare"
    levers: tuple[str, ...] = ("fewer-slots", "watermark")
    changes_per_hour: int = 2
    attempts: int = 2
    others: tuple[str, ...] = ("template", "scale", "claim", "rival")
    """What somebody else may do, once in a run: change the template, scale, take our claim away,
    claim for another incident, take a free GPU.
    """
    owner: Owner = ""
    """Who else writes home, and is paused for it: GitOps holds the template to its source, an
    autoscaler the number of replicas.
    """
    aborts: bool = True
    crashes: bool = True
    strays: bool = True
    resumes: bool = False
    """A person has what was handed off resumed."""
    rolls: Rolls = "spares"
    releases: bool = True
    """Numbered units: their owner releases a pod whose labels do not fit (a StatefulSet does)."""
    canary: Canary = "none"
    percent: int = 0
    """Requests that a canary gets by a weight of home's own; 0: its share, by itself."""
    keeps: bool = False
    """The first plan keeps a unit of the former version. The second one takes the change back
    (lever `rollback`), or makes another one, for which the unit ends.
    """
    surge: int = 1
    unavailable: int = 0
    """Units that home's owner starts beyond those asked for, or takes away, while it rolls."""


class Pod(NamedTuple):
    """One pod. `labelled`: carries what the Services select on. `listed`: stands in the
    EndpointSlices. `busy`: may have requests.
    """

    name: str
    owner: str
    version: str
    stage: int
    labelled: bool
    listed: bool
    busy: bool

    @property
    def serves(self) -> bool:
        """True where it gets requests and can answer them."""
        return self.labelled and self.stage == READY


class Claim(NamedTuple):
    """Whose change is in flight: the number of the plan (-1: a stranger's), and the epoch of the
    run.
    """

    plan: int
    epoch: int


class Request(NamedTuple):
    """An act on its way, as the machine sent it. `pod`: the name of the one that its slot stands
    for.
    """

    act: Act
    pod: str
    home: HomeAs


class Stray(NamedTuple):
    """A request that a killed program left on its way, and the claim that it goes by."""

    claim: Claim
    request: Request


class World(NamedTuple):
    """Everything outside the machine.

    `ended`: the plan that ended last on home; `parents`: what each plan found there. `acted`: the
    present run has changed something. `told_`: the machine was told that the facts allow the plan,
    and that the change is proved. `rollout`: one was under way when it began. `owner`: `running` or
    `paused`; empty for none. `edge`: whose limit the gateway holds. Numbered units: `partition`,
    `current` (the former state, for their owner) and `generations` (pods that were removed, by
    place). `canary`: the version of an open one; `percent`: what it gets. `kept`: the version of the
    unit that a Job keeps, until its time is over.
    """

    replicas: int
    template: str
    pods: tuple[Pod, ...]
    spares: tuple[tuple[int, str], ...] = ()
    claim: Claim | None = None
    ended: int = -1
    parents: tuple[int, ...] = (-1,)
    limits: str = OLD
    record: int = -1
    record_epoch: int = 0
    epoch: int = 1
    stray: Stray | None = None
    acted: bool = False
    changes: int = 0
    counted: int = -1
    disturbed: str = ""
    told_confirmed: bool = False
    told_proved: bool = False
    rollout: bool = False
    owner: str = ""
    edge: Claim | None = None
    partition: int = 0
    current: str = OLD
    generations: tuple[tuple[int, int], ...] = ()
    canary: str = ""
    percent: int = 0
    kept: str = ""


Broken = tuple[str, ...]
"""Laws that were broken, a sentence each, beginning with the law's name."""
Outcome = tuple[World, Refused | Conflict | None]
Own = Callable[[World, Setting, Act, Pod | None, str], Outcome | None]
"""The world after an act on it, for the acts that are different for home's kind; else None."""


def act(
    world: World, setting: Setting, asked: Act, pod: Pod | None, version: str
) -> Outcome | None:
    """A Deployment's acts are those of `perform`."""
    del world, setting, asked, pod, version
    return None


def begin(setting: Setting) -> World:
    """Every replica serves the old version; of a stuck rollout, the one before it, and what it
    added does not.
    """
    owner = "running" if setting.owner else ""
    if setting.strategy == "stuck-rollout":
        pods = tuple(
            Pod(f"h{index}", "home", setting.levers[0], READY, True, True, True)
            for index in range(setting.replicas)
        )
        return World(
            setting.replicas,
            OLD,
            (*pods, Pod("x0", ROLLOUT, OLD, STARTING, True, False, False)),
            rollout=True,
            owner=owner,
        )
    pods = tuple(
        Pod(f"h{index}", "home", OLD, READY, True, True, True) for index in range(setting.replicas)
    )
    return World(setting.replicas, OLD, pods, owner=owner)


def serving(world: World, but: str = "") -> int:
    """Replicas in rotation that can answer."""
    return sum(1 for pod in world.pods if pod.serves and pod.listed and pod.name != but)


def home_serving(world: World) -> int:
    """Those among them that are home's."""
    return sum(1 for pod in world.pods if pod.owner == "home" and pod.serves and pod.listed)


def find(world: World, name: str) -> Pod | None:
    """The pod of that name, if it is still there."""
    return next((pod for pod in world.pods if pod.name == name), None)


def with_pod(world: World, changed: Pod) -> World:
    """The world with that pod in the place of the one of its name."""
    return world._replace(
        pods=tuple(changed if pod.name == changed.name else pod for pod in world.pods)
    )


def without_pod(world: World, name: str) -> World:
    """The world without the pod of that name."""
    return world._replace(pods=tuple(pod for pod in world.pods if pod.name != name))


def drained(world: World, name: str) -> World:
    """The wait for that pod's requests is over: none runs, or the bound has passed."""
    pod = find(world, name)
    return world if pod is None or pod.listed else with_pod(world, pod._replace(busy=False))


# --- controllers


def settle(world: World, setting: Setting) -> tuple[World, Broken]:
    """One round of the controllers: ReplicaSets, garbage collection, endpoints."""
    del setting
    broken: list[str] = []
    pods = [_released_or_adopted(pod) for pod in world.pods]
    owned = [pod for pod in pods if pod.owner == "home"]
    names = {pod.name for pod in pods}
    for _ in range(world.replicas - len(owned)):
        name = next(f"n{index}" for index in range(99) if f"n{index}" not in names)
        names.add(name)
        pods.append(Pod(name, "home", world.template, PENDING, True, False, False))
    for victim in sorted(owned, key=rank)[: max(0, len(owned) - world.replicas)]:
        pods.remove(victim)
        if victim.serves or victim.busy:
            broken.append(f"L9: the ReplicaSet deletes {victim.name}, which serves")
    pods += new_spares(world, pods)
    if world.kept and not any(pod.owner == KEPT for pod in pods):
        pods.append(Pod("w0", KEPT, world.kept, PENDING, False, False, False))
    if world.rollout and world.template == OLD and not any(pod.owner == ROLLOUT for pod in pods):
        pods.append(Pod("x0", ROLLOUT, OLD, PENDING, True, False, False))
    made = {
        "home",
        "",
        *((ROLLOUT,) if world.template == OLD else ()),
        *(f"spare-{index}" for index, _ in world.spares),
        *((KEPT,) if world.kept else ()),
    }
    for pod in [pod for pod in pods if pod.owner not in made]:
        pods.remove(pod)
        if pod.serves or pod.busy:
            broken.append(f"L9: {pod.name} goes with its spare, and serves")
    listed = (pod._replace(listed=pod.serves, busy=pod.busy or pod.serves) for pod in pods)
    return world._replace(pods=tuple(sorted(listed))), tuple(broken)


def new_spares(world: World, pods: list[Pod]) -> list[Pod]:
    """The pods that spares of the world lack."""
    return [
        Pod(f"s{index}", f"spare-{index}", version, PENDING, False, False, False)
        for index, version in world.spares
        if not any(pod.owner == f"spare-{index}" for pod in pods)
    ]


def _released_or_adopted(pod: Pod) -> Pod:
    if pod.owner == "home" and not pod.labelled:
        return pod._replace(owner="")
    return pod._replace(owner="home") if pod.owner == "" and pod.labelled else pod


def rank(pod: Pod) -> tuple[int, bool, str]:
    """What a ReplicaSet deletes first comes first: not Ready, then the newest."""
    return pod.stage, pod.name.startswith("h"), pod.name


def free_gpus(world: World, setting: Setting) -> int:
    """GPUs that no pod and nobody else has."""
    used = sum(1 for pod in world.pods if pod.stage != PENDING)
    return setting.gpus - used - (world.disturbed == "gpu")


def as_found_next(world: World, lever: str) -> World:
    """The world as the plan after the one of that lever finds it: what is in force is the former
    state now, and what was before is what a rollback goes back to.
    """

    def name(version: str) -> str:
        return {lever: OLD, OLD: ROLLBACK}.get(version, version)

    pods = tuple(pod._replace(version=name(pod.version)) for pod in world.pods)
    kept = name(world.kept) if world.kept else ""
    return world._replace(
        template=name(world.template), limits=name(world.limits), pods=pods, kept=kept
    )


def given_up(world: World, claim: Claim) -> World:
    """The world without the kept unit, which no node takes; only whoever has the claim removes it."""
    if world.claim != claim:
        return world
    pods = tuple(pod for pod in world.pods if pod.owner != KEPT)
    return world._replace(kept="", pods=pods)


def starts(world: World, setting: Setting) -> list[tuple[str, World]]:
    """Pods that may be given a GPU, or get Ready, next."""
    free = free_gpus(world, setting)
    moves = []
    for pod in world.pods:
        if pod.stage == PENDING and free > 0:
            moves.append(
                (f"{pod.name} is given a GPU", with_pod(world, pod._replace(stage=STARTING)))
            )
        elif pod.stage == STARTING:
            moves.append((f"{pod.name} gets Ready", with_pod(world, pod._replace(stage=READY))))
    return moves


# --- what an act does, as barostat.remedy.acts says it


def perform(
    world: World, setting: Setting, claim: Claim, request: Request, version: str, own: Own
) -> tuple[World, Refused | Conflict | None]:
    """The world after the request arrived, and why it was not carried out; None where it was (when
    it is Done, `is_done` says). `own`: the acts that are different for home's kind.
    """
    act, name, home = request
    match act:
        case ClaimHome():
            return _claimed(world, setting, claim)
        case ReleaseHome():
            ours = (
                world.claim is not None
                and world.claim.plan == claim.plan
                and world.claim.epoch <= claim.epoch
            )
            return (world._replace(claim=None, ended=claim.plan) if ours else world), None
    stray = world.stray is not None and world.stray == Stray(claim, request)
    if world.claim != claim and not (stray and isinstance(act, TightenGateway)):
        return world, Conflict("the claim is not ours")
    if isinstance(act, TightenGateway):
        return _tightened(world, claim, back=act.back)
    if isinstance(act, PauseOwner | ResumeOwner):
        return world._replace(owner="paused" if isinstance(act, PauseOwner) else "running"), None
    if home != "any" and world.disturbed == "template":
        return world, Conflict("home's template is not as we left it")
    pod = find(world, name)
    if (found := own(world, setting, act, pod, version)) is not None:
        return found
    match act:
        case KeepPrevious():
            return world._replace(kept=world.kept or OLD), None
        case DropPrevious():
            return world._replace(kept=""), None
        case CreateSpare(index):
            there = any(index == found for found, _ in world.spares)
            kept = next((pod for pod in world.pods if pod.owner == KEPT and world.kept), None)
            if kept is not None and version == world.kept and index == 0 and not there:
                spare = kept._replace(name="s0", owner="spare-0")
                pods = tuple(sorted((*(pod for pod in world.pods if pod != kept), spare)))
                return world._replace(
                    kept="", spares=((0, version), *world.spares), pods=pods
                ), None
            return (
                world
                if there
                else world._replace(spares=tuple(sorted((*world.spares, (index, version)))))
            ), None
        case DeleteSpare(index):
            if any(pod.owner == f"spare-{index}" and pod.labelled for pod in world.pods):
                return world, Refused("its pod is in rotation")
            return world._replace(
                spares=tuple(found for found in world.spares if found[0] != index)
            ), None
        case JoinRotation():
            return (
                (world, Refused("the pod is gone"))
                if pod is None
                else (with_pod(world, pod._replace(labelled=True)), None)
            )
        case LeaveRotation(_, floor) | Detach(_, floor):
            return _out(world, act, pod, floor)
        case PutBack(_, replicas):
            return _back(world, pod, replicas), None
        case ScaleHome(former, to):
            return _scaled(world, former, to)
        case DeletePod():
            if pod is not None and (pod.owner or pod.labelled or pod.listed):
                return world, Refused("it is not out of rotation")
            return (world if pod is None else without_pod(world, pod.name)), None
        case PatchTemplate(back):
            if world.replicas or any(pod.owner == "home" for pod in world.pods):
                return world, Refused("home owns a pod")
            return world._replace(template=OLD if back else version), None
        case UndoRollout(back):
            if not back and any(pod.owner == ROLLOUT and pod.stage == READY for pod in world.pods):
                return world, Refused("the rollout is not stuck")
            return world._replace(template=OLD if back else version), None
        case WriteLimits(back):
            return world._replace(limits=OLD if back else version), None
    return world, None


def _claimed(world: World, setting: Setting, claim: Claim) -> tuple[World, Conflict | None]:
    found = world.claim
    if found is None:
        if world.ended == claim.plan:
            return world, None  # a run before it has released home
        as_planned = (
            world.replicas == setting.replicas
            and world.template == OLD
            and world.disturbed not in ("template", "scale")
        )
        as_planned = as_planned and world.ended == world.parents[claim.plan]
        if not as_planned:
            return world, Conflict("home is not as the plan found it")
        return world._replace(
            claim=claim, changes=world.changes + (claim.plan > world.counted), counted=claim.plan
        ), None
    if found.plan == claim.plan and found.epoch <= claim.epoch:
        return world._replace(claim=claim), None
    return world, Conflict("another change is in flight")


def _tightened(world: World, claim: Claim, *, back: bool) -> tuple[World, Conflict | None]:
    """The gateway holds the limit for that run, or no limit of its incident; what an earlier run
    has on its way it will refuse.
    """
    if (
        world.stray is not None
        and world.stray.claim != claim
        and world.stray.claim.plan == claim.plan
    ):
        world = world._replace(
            stray=None if isinstance(world.stray.request.act, TightenGateway) else world.stray
        )
    held = world.edge
    if held is not None and held.plan != claim.plan:
        return world, None if back else Conflict("another incident holds it")
    return world._replace(edge=None if back else claim), None


def _out(world: World, act: Act, pod: Pod | None, floor: int) -> tuple[World, Refused | None]:
    """A pod leaves the rotation. Home's has to be home's; a spare's may be gone."""
    if pod is None:
        return world, Refused("the pod is gone") if isinstance(act, Detach) else None
    if not pod.labelled:
        return world, None
    if isinstance(act, Detach) and pod.owner != "home":
        return world, Refused("it is not home's")
    if serving(world, but=pod.name) < floor:
        return world, Refused(f"fewer than {floor} would serve")
    return with_pod(world, pod._replace(labelled=False)), None


def _back(world: World, pod: Pod | None, replicas: int) -> World:
    if pod is None or pod.labelled:
        return world
    ready = sum(
        1
        for other in world.pods
        if other.owner == "home" and other.labelled and other.stage == READY
    )
    return (
        with_pod(world, pod._replace(labelled=True))
        if ready < replicas
        else without_pod(world, pod.name)
    )


def _scaled(world: World, former: int, to: int) -> tuple[World, Refused | Conflict | None]:
    if world.replicas not in (former, to):
        return world, Conflict(f"home asks for {world.replicas}, not {former}")
    if (
        to < world.replicas
        and sum(1 for pod in world.pods if pod.owner == "home" and pod.stage == READY) > to
    ):
        return world, Refused("a Ready replica would be deleted")
    return world._replace(replicas=to), None


def is_done(world: World, act: Act, name: str) -> bool | None:
    """True when what the act asks for can be seen."""
    pod = find(world, name)
    match act:
        case JoinRotation():
            return pod is not None and pod.listed and pod.labelled
        case LeaveRotation():
            return pod is None or not (pod.listed or pod.labelled)
        case Detach():
            return pod is None or not (pod.listed or pod.labelled or pod.owner)
        case PutBack():
            return pod is None or (pod.owner == "home" and pod.listed)
        case DeleteSpare(index):
            return not any(pod.owner == f"spare-{index}" for pod in world.pods)
        case KeepPrevious():
            return any(pod.owner == KEPT and pod.stage != PENDING for pod in world.pods)
        case DropPrevious():
            return not any(pod.owner == KEPT for pod in world.pods)
        case AwaitSpare(index):
            return any(pod.owner == f"spare-{index}" and pod.stage == READY for pod in world.pods)
        case AwaitHome(ready):
            return home_serving(world) >= ready
        case AwaitDrained():
            return pod is None or not pod.listed
        case PickReplica():
            return home_serving(world) > 0
        case PickSurplus():
            return True
    return True


def plain(world: World) -> World:
    """The same with epochs as ranks, as they are only compared, and without a stray that can never
    be carried out any more.
    """
    stray, claim = world.stray, world.claim
    if stray is not None:
        if isinstance(stray.request.act, ClaimHome):
            dead = world.ended != world.parents[stray.claim.plan] or (
                claim is not None and claim.epoch > stray.claim.epoch
            )
        elif isinstance(stray.request.act, ReleaseHome):
            dead = (
                claim is None or claim.plan != stray.claim.plan or claim.epoch > stray.claim.epoch
            )
        elif isinstance(stray.request.act, TightenGateway):
            dead = stray.request.act.back and (
                world.edge is None or world.edge.plan != stray.claim.plan
            )
        else:
            dead = claim != stray.claim
        stray = None if dead else stray
    epochs = {world.epoch, world.record_epoch}
    epochs |= {
        found.epoch
        for found in (claim, stray.claim if stray else None, world.edge)
        if found is not None
    }
    if stray is world.stray and max(epochs) == len(epochs) - 1:
        return world
    rank = {epoch: number for number, epoch in enumerate(sorted(epochs))}
    return world._replace(
        epoch=rank[world.epoch],
        record_epoch=rank[world.record_epoch],
        claim=claim and claim._replace(epoch=rank[claim.epoch]),
        edge=world.edge and world.edge._replace(epoch=rank[world.edge.epoch]),
        stray=stray and stray._replace(claim=stray.claim._replace(epoch=rank[stray.claim.epoch])),
    )
