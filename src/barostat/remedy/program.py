"""A plan as a list of steps, each with its undo. The order here is what keeps the laws;
docs/decisions/one-replica.md draws it.

The undo of the steps done so far is a stack: taking back runs it from the end. Each entry is right
whether or not its step took effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from barostat.remedy.acts import (
    Act,
    AwaitCalm,
    AwaitDrained,
    AwaitHome,
    AwaitSpare,
    ClaimHome,
    CreateSpare,
    DeletePod,
    DeleteSpare,
    Detach,
    JoinRotation,
    LeaveRotation,
    Observe,
    PatchTemplate,
    PauseOwner,
    PickReplica,
    PickSurplus,
    PutBack,
    ReleaseHome,
    ResumeOwner,
    ScaleHome,
    TightenGateway,
    UndoRollout,
    WriteLimits,
)
from barostat.remedy.plan import RemedyPlan

Phase = Literal[
    "Confirming", "Planned", "Preparing", "Draining", "Changing", "Verifying", "Holding", "Promoting", "RollingBack",
    "Done", "RolledBack", "HandedOff", "Refused",
]  # fmt: skip
TERMINAL: frozenset[Phase] = frozenset({"Done", "RolledBack", "HandedOff", "Refused"})


@dataclass(frozen=True, slots=True)
class Step:
    """One act, the phase it belongs to, and what goes on the stack of undos before it is sent.

    `forgets`: how many entries on top of the stack the new ones stand for. `commits`: once it is
    done, the way is forward only.
    """

    phase: Phase
    act: Act
    undo: tuple[Act, ...] = ()
    forgets: int = 0
    commits: bool = False


@cache
def program(plan: RemedyPlan) -> tuple[Step, ...]:
    """Every step of the plan, in order.

    Law: L4, L9 and L10 hold in every state that these steps and their undos can reach; the explorer
    shows it.
    """
    begin = (Step("Preparing", ClaimHome(), (ReleaseHome(),)), *_pause(plan))
    end = (*_hand_back(plan), Step("Promoting", ReleaseHome()))
    if plan.strategy == "edge-only":
        return (
            *begin,
            Step("Changing", WriteLimits(), (WriteLimits(back=True),)),
            Step("Verifying", Observe()),
            *end,
        )
    if plan.strategy == "edge-live":
        return (*begin, *_hold(), *end)
    if plan.strategy == "scale-out":
        return (*begin, *_add(plan), Step("Verifying", Observe()), *end)
    if plan.strategy == "stuck-rollout":
        undo = Step("Changing", UndoRollout(), (UndoRollout(back=True),), commits=True)
        return (*begin, undo, Step("Promoting", AwaitHome(plan.replicas)), *end)
    first: tuple[Step, ...]
    proof: tuple[Step, ...]
    if plan.strategy == "spare":
        first = (*_make(plan, 0, "Preparing", "Changing"), *_take(plan, 0, "Draining"))
        proof = (Step("Verifying", Observe()), _delete(plan, 0, "Promoting"))
    else:
        first = (
            *_take(plan, 0, "Draining"),
            _delete(plan, 0, "Changing"),
            *_make(plan, 0, "Changing", "Changing"),
        )
        proof = (Step("Verifying", Observe()),)
    steps = [*begin, *first, *proof]
    for index in range(1, plan.replicas):
        make = _make(plan, index, "Promoting", "Promoting")
        take = (*_take(plan, index, "Promoting"), _delete(plan, index, "Promoting"))
        steps += (*make, *take) if plan.strategy == "spare" else (*take, *make)
    steps.append(Step("Promoting", PatchTemplate(), (PatchTemplate(back=True),), commits=True))
    for index in reversed(range(plan.replicas)):
        grow, retire = _grow(plan.replicas - 1 - index), _retire(plan, index)
        steps += (*grow, *retire) if plan.strategy == "spare" else (*retire, *grow)
    return (*steps, Step("Promoting", WriteLimits(), (WriteLimits(back=True),)), *end)


def touches_nothing(act: Act) -> bool:
    """True for an act before which, and by which, nothing of the target itself is changed: a plan
    that ends there was only refused.
    """
    return isinstance(act, ClaimHome | PauseOwner)


def _pause(plan: RemedyPlan) -> tuple[Step, ...]:
    """Who would take back what is written leaves home alone first, and has it again when all the
    rest is undone.
    """
    return tuple(
        Step("Preparing", PauseOwner(index), (ResumeOwner(index),))
        for index, owner in enumerate(plan.owners)
        if not owner.by
    )


def _hand_back(plan: RemedyPlan) -> tuple[Step, ...]:
    """Who does not take the change itself back has home again while it is still claimed."""
    over = (index for index, owner in enumerate(plan.owners) if not plan.stays_paused(owner))
    return tuple(Step("Promoting", ResumeOwner(index), (PauseOwner(index),)) for index in over)


def _hold() -> tuple[Step, ...]:
    """The gateways hold the limit while it is needed. The load is gone, or the time is over: from
    there it is only taken back.
    """
    return (
        Step("Changing", TightenGateway(), (TightenGateway(back=True),)),
        Step("Verifying", Observe()),
        Step("Holding", AwaitCalm(), commits=True),
        Step("Holding", TightenGateway(back=True)),
    )


def _make(plan: RemedyPlan, index: int, phase: Phase, joins: Phase) -> tuple[Step, ...]:
    """A spare is made, gets Ready outside and joins. Without a spare GPU, one less may serve while
    it leaves again.
    """
    slot = f"spare-{index}"
    return (
        Step(phase, CreateSpare(index), (DeleteSpare(index),)),
        Step(phase, AwaitSpare(index)),
        Step(
            joins,
            JoinRotation(slot),
            (AwaitDrained(slot), LeaveRotation(slot, plan.kept_in_rotation)),
        ),
    )


def _take(plan: RemedyPlan, index: int, phase: Phase) -> tuple[Step, ...]:
    """A replica of home leaves the rotation, home asks for one less, and the replica drains. It is
    still warm.
    """
    slot, former = f"home-{index}", plan.replicas - index
    return (
        Step(phase, PickReplica(slot)),
        Step(phase, Detach(slot, plan.kept_in_rotation), (PutBack(slot, former),)),
        Step(phase, ScaleHome(former, former - 1), (ScaleHome(former - 1, former),)),
        Step(phase, AwaitDrained(slot)),
    )


def _add(plan: RemedyPlan) -> tuple[Step, ...]:
    """One more replica of home. Its undo finds the surplus one, takes it out and lets it drain
    before it goes.
    """
    now, slot = plan.replicas, "surplus"
    back: tuple[Act, ...] = (
        DeletePod(slot),
        AwaitDrained(slot),
        ScaleHome(now + 1, now),
        Detach(slot, plan.serving),
        PickSurplus(slot, now),
    )
    return (
        Step("Changing", ScaleHome(now, now + 1), back),
        Step("Changing", AwaitHome(plan.serving + 1)),
    )


def _delete(plan: RemedyPlan, index: int, phase: Phase) -> Step:
    """The drained replica goes. From now on its undo is a start and no label: its GPU is freed
    first, then home is awaited whole.
    """
    slot, former = f"home-{index}", plan.replicas - index
    whole = max(0, former - (plan.replicas - plan.serving))
    return Step(
        phase,
        DeletePod(slot),
        (AwaitHome(whole), ScaleHome(former - 1, former), DeletePod(slot)),
        forgets=2,
    )


def _grow(former: int) -> tuple[Step, ...]:
    return (
        Step("Promoting", ScaleHome(former, former + 1), (ScaleHome(former + 1, former),)),
        Step("Promoting", AwaitHome(former + 1)),
    )


def _retire(plan: RemedyPlan, index: int) -> tuple[Step, ...]:
    slot = f"spare-{index}"
    again: tuple[Act, ...] = (JoinRotation(slot), AwaitSpare(index), CreateSpare(index))
    return (
        Step("Promoting", LeaveRotation(slot, plan.kept_in_rotation), (JoinRotation(slot),)),
        Step("Promoting", AwaitDrained(slot)),
        Step("Promoting", DeleteSpare(index), again, forgets=1),
    )
