"""Perform one command of the machine: an act in, its answer out. Every failure of the world becomes
an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from barostat.core.errors import InputError, OutsideError
from barostat.io.mitigation import gateway_limits, kept_unit, owner_pausing, rotation, spares
from barostat.io.mitigation import numbered_units as units
from barostat.io.mitigation import owner_rollout as canary
from barostat.io.mitigation import target_acts as home
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.observing import observe
from barostat.io.mitigation.target_reader import Denied
from barostat.remedy.acts import (
    AwaitCalm,
    AwaitCanary,
    AwaitDrained,
    AwaitHome,
    AwaitRolled,
    AwaitSpare,
    AwaitUnit,
    ClaimHome,
    CreateSpare,
    DeletePod,
    DeleteSpare,
    Detach,
    DropPrevious,
    FinishRollout,
    Gather,
    JoinRotation,
    KeepPrevious,
    LeaveRotation,
    Lost,
    MovePartition,
    Observe,
    OpenCanary,
    PatchTemplate,
    PauseOwner,
    PickReplica,
    PickSurplus,
    PickUnit,
    PutBack,
    Refused,
    ReleaseHome,
    RemoveStuck,
    RemoveUnit,
    ResumeOwner,
    RollHome,
    ScaleHome,
    StageChange,
    TightenGateway,
    UndoRollout,
    WriteLimits,
)
from barostat.remedy.precheck import Facts
from barostat.remedy.state import Answer, Answered, Do, Gathered

Gathering = Callable[[], Awaitable[Facts]]


async def perform(
    ground: ActContext, do: Do, gather: Gathering, limits: str
) -> Answered | Gathered:
    """Return the world's answer to the command."""
    try:
        if isinstance(do.act, Gather):
            facts = await gather()
            return Gathered(ground.clock.now(), do.key, facts)
        answer = await _answer(ground, do, limits)
    except Denied as denied:
        answer = denied.answer
    except OutsideError as error:
        answer = Lost(str(error)) if error.retryable else Refused(str(error))
    except InputError as error:
        answer = Refused(str(error))
    return Answered(ground.clock.now(), do.key, answer)


async def _answer(ground: ActContext, do: Do, limits: str) -> Answer:
    match do.act:
        case ClaimHome():
            return await home.claim(ground, do)
        case ReleaseHome():
            return await home.release(ground, do)
        case PauseOwner() as act:
            return await owner_pausing.pause_owner(ground, do, act)
        case ResumeOwner() as act:
            return await owner_pausing.resume_owner(ground, do, act)
        case CreateSpare() as act:
            return await spares.create(ground, do, act)
        case AwaitSpare() as act:
            return await spares.await_spare(ground, do, act)
        case DeleteSpare() as act:
            return await spares.delete(ground, do, act)
        case KeepPrevious():
            return await kept_unit.keep(ground, do)
        case DropPrevious() as act:
            return await kept_unit.drop(ground, do, act)
        case JoinRotation() as act:
            return await rotation.join(ground, do, act)
        case LeaveRotation() | Detach() as act:
            return await rotation.leave(ground, do, act)
        case PickReplica():
            return await rotation.pick_replica(ground, do)
        case PickSurplus() as act:
            return await rotation.pick_surplus(ground, do, act)
        case PutBack() as act:
            return await rotation.put_back(ground, do, act)
        case ScaleHome() as act:
            return await home.scale(ground, do, act)
        case AwaitHome() as act:
            return await home.await_home(ground, do, act)
        case AwaitDrained():
            return await rotation.await_drained(ground, do)
        case DeletePod():
            return await rotation.delete_pod(ground, do)
        case PatchTemplate() | UndoRollout() as act:
            return await home.patch_template(ground, do, act)
        case StageChange() as act:
            return await units.stage(ground, do, act)
        case MovePartition() as act:
            return await units.move_partition(ground, do, act)
        case FinishRollout() as act:
            return await units.finish(ground, do, act)
        case PickUnit() as act:
            return await units.pick_unit(ground, do, act)
        case AwaitUnit() as act:
            return await units.await_unit(ground, do, act)
        case RemoveUnit() as act:
            return await units.remove_unit(ground, do, act)
        case RemoveStuck() as act:
            return await units.remove_stuck(ground, do, act)
        case OpenCanary() as act:
            return await canary.open_canary(ground, do, act)
        case AwaitCanary() as act:
            return await canary.await_canary(ground, do, act)
        case RollHome() as act:
            return await canary.roll_home(ground, do, act)
        case AwaitRolled() as act:
            return await canary.await_rolled(ground, do, act)
        case WriteLimits() as act:
            return await home.write_limits(ground, do, act, limits)
        case TightenGateway() as act:
            return await gateway_limits.tighten(ground, do, act)
        case AwaitCalm():
            return await gateway_limits.await_calm(ground, do)
        case Observe():
            return await observe(ground, do)
        case _:
            return Refused(f"{type(do.act).__name__} is no act that is performed")
