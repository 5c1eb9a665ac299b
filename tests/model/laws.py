"""The laws L1 to L14 as questions about one state of the world, or about one act that arrives in
it.
"""

from __future__ import annotations

from tests.model.cluster import (
    KEPT,
    OLD,
    ROLLOUT,
    Broken,
    Pod,
    Request,
    Setting,
    World,
    find,
    home_serving,
    serving,
)
from tests.model.ordinals import place_of

from barostat.remedy.acts import (
    Act,
    ClaimHome,
    CreateSpare,
    DeletePod,
    DeleteSpare,
    Detach,
    JoinRotation,
    LeaveRotation,
    MovePartition,
    OpenCanary,
    PatchTemplate,
    PauseOwner,
    PutBack,
    ReleaseHome,
    RemoveUnit,
    ResumeOwner,
    RollHome,
    ScaleHome,
    ShiftTraffic,
    StageChange,
    TightenGateway,
    UndoRollout,
    WriteLimits,
)
from barostat.remedy.state import State


def of_world(world: World, setting: Setting) -> Broken:
    """Laws that this state of the world breaks."""
    broken: list[str] = []
    fewer = {"in-place": 1, "canary": setting.unavailable, "rolling": setting.unavailable}
    if setting.rolls == "ordinals":
        fewer["stuck-rollout"] = 1  # the highest unit was replaced by one that never got Ready
    if setting.rolls == "owner":
        fewer["spare"] = setting.unavailable
    floor = setting.replicas - fewer.get(setting.strategy, 0)
    if serving(world) < floor:
        broken.append(f"L4: {serving(world)} replicas serve, the floor is {floor}")
    if world.changes > setting.changes_per_hour:
        broken.append(
            f"L7: {world.changes} changes were made, {setting.changes_per_hour} are allowed"
        )
    changed = {
        version
        for version in (
            world.template,
            world.canary or OLD,
            *(version for _, version in world.spares),
        )
        if version != OLD
    }
    if len(changed) > 1:
        broken.append(f"L8: {' and '.join(sorted(changed))} are in force at once")
    broken += [
        f"L13: {pod.name}, kept of the version before, gets requests beside the new version"
        for pod in world.pods
        if pod.owner == KEPT and (pod.labelled or pod.listed)
    ]
    if world.owner == "running" and world.disturbed != "scale" and _differs(world, setting):
        broken.append(f"L11: the {setting.owner} owner has home again, and takes the change back")
    return tuple(broken)


def _differs(world: World, setting: Setting) -> bool:
    """True where home is not what the owner wants it to be."""
    return (
        world.template != OLD if setting.owner == "git-ops" else world.replicas != setting.replicas
    )


def of_act(
    before: World,
    after: World,
    setting: Setting,
    state: State | None,
    record: State | None,
    request: Request,
    *,
    stray: bool,
) -> Broken:
    """Laws that this act breaks by being carried out: `before` became `after`. `state` is None for
    a stray of a run that is dead.
    """
    act, name = request.act, request.pod
    broken: list[str] = []
    late = isinstance(
        act, TightenGateway
    )  # waited for by the claim after it, and refused by a gateway that has heard a later run
    if stray and before.acted and before.disturbed != "claim" and not late:
        broken.append(
            f"L1: {type(act).__name__} of a dead run is carried out after the next run has "
            "acted: two changes in flight"
        )
    if (
        before.claim is not None
        and after.claim is not None
        and before.claim.plan != after.claim.plan
    ):
        broken.append("L1: a claim is taken from another change in flight")
    forward = state is not None and not state.back
    if forward and not before.told_confirmed:
        broken.append(f"L2: {type(act).__name__} before the facts allowed anything")
    if forward and _spreads(act, setting) and not before.told_proved:
        broken.append(f"L2: {type(act).__name__} spreads a change that nothing proved")
    if state is not None and not _covered(act, state.back, record):
        broken.append(
            f"L3: {type(act).__name__} is carried out, and the record does not hold its undo"
        )
    if forward and before.disturbed == "template" and _touches_home(act):
        broken.append(
            f"L8: {type(act).__name__} on a home that somebody else changed: two variables at once"
        )
    if before.owner == "running" and before.disturbed != "claim" and _touches_home(act):
        broken.append(
            f"L11: {type(act).__name__} while the owner is not paused, which takes it back"
        )
    broken += _rotation(before, act, name)
    last = (isinstance(act, DeleteSpare) and act.index == 0) or (
        isinstance(act, LeaveRotation) and act.slot in ("spare-0", "spare")
    )
    others = home_serving(before)
    if setting.rolls == "ordinals":
        others -= any(pod.serves and pod.listed for pod in before.pods if _is_spare(pod, setting))
    if setting.strategy == "spare" and last and others < setting.replicas:
        broken.append(
            f"L10: the last spare is retired while {home_serving(before)} of home's "
            f"{setting.replicas} replicas serve"
        )
    return tuple(broken)


def _is_spare(pod: Pod, setting: Setting) -> bool:
    return place_of(pod) == setting.replicas


def _spreads(act: Act, setting: Setting) -> bool:
    """True for acts that carry the change beyond the one replica that proves it, or give up the
    warm one.
    """
    match act:
        case CreateSpare(index):
            return index > 0
        case Detach(slot, _):
            return slot != "home-0"
        case DeletePod(slot):
            return slot != "home-0" or setting.strategy == "spare"
        case MovePartition(former, to):
            first = setting.replicas - (setting.strategy == "in-place")
            return to < former and to < first
        case RollHome(back=False):
            return setting.strategy == "spare" or setting.canary == "live"
        case PatchTemplate() | WriteLimits():
            return True
    return False


def _covered(act: Act, back: bool, record: State | None) -> bool:
    """True where the record that a next run would read holds what takes the act back."""
    if record is None:
        return False
    if back:
        return record.phase == "RollingBack"
    undo = record.undo
    if record.committed and isinstance(act, LeaveRotation | ScaleHome | RemoveUnit | ShiftTraffic):
        return True  # every unit runs the change: what is left of the spare only goes
    if record.plan.rolls == "owner" and _already_back(act, undo):
        return True
    match act:
        case ClaimHome():
            return ReleaseHome() in undo
        case ReleaseHome():
            return True
        case PauseOwner(index):
            return ResumeOwner(index) in undo
        case ResumeOwner(index):
            return PauseOwner(index) in undo
        case CreateSpare(index):
            return DeleteSpare(index) in undo
        case JoinRotation(slot):
            return any(isinstance(found, LeaveRotation) and found.slot == slot for found in undo)
        case LeaveRotation(slot, _):
            return JoinRotation(slot) in undo or any(
                isinstance(found, PutBack) and found.slot == slot for found in undo
            )
        case StageChange():
            return StageChange(back=True) in undo
        case MovePartition(former, to):
            return MovePartition(to, former) in undo
        case RemoveUnit(_, place, "change"):
            return any(
                isinstance(found, RemoveUnit) and (found.place, found.then) == (place, "former")
                for found in undo
            )
        case OpenCanary(back=False):
            return OpenCanary(back=True) in undo
        case ShiftTraffic(former, to):
            return ShiftTraffic(to, former) in undo
        case RollHome():
            return RollHome(back=True) in undo
        case DeleteSpare(index):
            return CreateSpare(index) in undo
        case Detach(slot, _):
            return any(isinstance(found, PutBack) and found.slot == slot for found in undo)
        case ScaleHome(former, to):
            return ScaleHome(to, former) in undo
        case DeletePod(slot):
            return DeletePod(slot) in undo
        case PatchTemplate():
            return PatchTemplate(back=True) in undo
        case UndoRollout():
            return UndoRollout(back=True) in undo
        case WriteLimits():
            return WriteLimits(back=True) in undo
        case TightenGateway(back=False):
            return TightenGateway(back=True) in undo
    return True


def _already_back(act: Act, undo: tuple[Act, ...]) -> bool:
    """True for a spare that goes once it has proved the change, where taking everything back makes it
    go as well.
    """
    match act:
        case LeaveRotation(slot, _):
            return any(isinstance(found, LeaveRotation) and found.slot == slot for found in undo)
        case DeleteSpare():
            return act in undo
    return False


def _touches_home(act: Act) -> bool:
    return isinstance(
        act,
        Detach
        | ScaleHome
        | PatchTemplate
        | UndoRollout
        | StageChange
        | MovePartition
        | OpenCanary
        | RollHome,
    )


def _rotation(before: World, act: Act, name: str) -> Broken:
    """L9: what is deleted or given another template is out of rotation, and its requests were
    waited for.
    """
    pod = find(before, name)
    if isinstance(act, DeleteSpare):
        pod = next((found for found in before.pods if found.owner == f"spare-{act.index}"), None)
    gone = isinstance(act, DeletePod | DeleteSpare | RemoveUnit)
    if gone and pod is not None and (pod.listed or pod.labelled or pod.busy):
        return (f"L9: {pod.name} is deleted in rotation, or while nobody waited for its requests",)
    if isinstance(act, PatchTemplate) and any(found.owner == "home" for found in before.pods):
        return ("L9: home's template is written while it owns replicas",)
    if isinstance(act, UndoRollout) and any(
        found.owner == ROLLOUT and found.serves for found in before.pods
    ):
        return ("L9: a rollout is undone while a replica of it serves",)
    return ()


def of_end(world: World, setting: Setting, state: State) -> Broken:
    """What must be true when a remedy ends by itself: nothing is left behind, and the promise is
    kept.
    """
    if world.disturbed not in ("", "rival", "gpu") or state.phase == "HandedOff":
        return ()
    broken: list[str] = []
    if state.superseded and not world.disturbed:
        broken.append(
            "it is given up as another run's, and there is none: nobody brings it to its end"
        )
    if state.phase in ("Done", "RolledBack", "Refused"):
        ours = world.claim is not None and world.claim.plan >= 0
        belongs = ("home", ROLLOUT) if world.template == OLD else ("home",)
        left = [f"spare {index}" for index, _ in world.spares] + [
            pod.name for pod in world.pods if pod.owner not in (*belongs, KEPT)
        ]
        if setting.keeps and left:
            broken.append(f"L14: {state.phase}: nothing ends {', '.join(left)} any more")
        left += [f"partition {world.partition}"] if world.partition else []
        left += ["a canary"] if world.canary else []
        more = 1 if setting.strategy == "scale-out" and state.phase == "Done" else 0
        if ours or left or world.replicas != setting.replicas + more:
            broken.append(
                f"{state.phase}: left behind: "
                f"{', '.join(left) or 'a claim or a number of replicas'}"
            )
        if world.edge is not None:
            broken.append(f"L12: {state.phase}: the gateway still holds the limit")
        if home_serving(world) < setting.replicas:
            broken.append(f"{state.phase}: home is not whole")
        keeps = state.phase == "Done" and any(map(state.plan.stays_paused, state.plan.owners))
        if setting.owner and world.owner != ("paused" if keeps else "running"):
            broken.append(f"L11: {state.phase}: the owner is {world.owner}")
    wanted = (
        state.plan.lever
        if state.phase == "Done" and setting.strategy not in ("scale-out", "edge-live")
        else OLD
    )
    if state.phase in ("Done", "RolledBack", "Refused") and world.template != wanted:
        broken.append(f"{state.phase}: home has the template {world.template}")
    if state.phase == "Done" and any(
        pod.version != wanted for pod in world.pods if pod.owner != KEPT
    ):
        broken.append("Done: a replica has another version")
    return tuple(broken)
