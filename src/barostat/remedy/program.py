"""A plan as a list of steps, each with its undo. The order here is what keeps the laws;
docs/decisions/one-replica.md draws it.

The undo of the steps so far is a stack, and taking back runs it from the end. Each entry is right
whether or not its step took effect. How units get the change depends on how home's kind rolls: one
module for each way (`roll_spares`, `roll_ordinals`, `roll_canary`, `roll_owner`).
"""

from __future__ import annotations

from functools import cache

from barostat.remedy import roll_canary, roll_ordinals, roll_owner, roll_spares
from barostat.remedy.acts import (
    Act,
    AwaitCalm,
    AwaitHome,
    ClaimHome,
    DropPrevious,
    Observe,
    PauseOwner,
    ReleaseHome,
    RemoveStuck,
    ResumeOwner,
    TightenGateway,
    UndoRollout,
    WriteLimits,
)
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.step import Step


@cache
def program(plan: RemedyPlan) -> tuple[Step, ...]:
    """Every step of the plan, in order.

    Law: L4, L9 and L10 hold in every state that these steps and their undos can reach; the explorer
    shows it.
    """
    return (
        Step("Preparing", ClaimHome(), (ReleaseHome(),)),
        *_pause(plan),
        *(Step("Preparing", DropPrevious(index)) for index in range(len(plan.drops))),
        *_change(plan),
        *_hand_back(plan),
        Step("Promoting", ReleaseHome()),
    )


def touches_nothing(act: Act) -> bool:
    """True for an act that comes before any change of the target: a plan that ends there was only
    refused.
    """
    return isinstance(act, ClaimHome | PauseOwner | DropPrevious)


def _change(plan: RemedyPlan) -> tuple[Step, ...]:
    match plan.strategy:
        case "edge-only":
            return (
                Step("Changing", WriteLimits(), (WriteLimits(back=True),)),
                Step("Verifying", Observe()),
            )
        case "edge-live":
            return _hold()
        case "scale-out":
            add = roll_ordinals.add if plan.rolls == "ordinals" else roll_spares.add
            return (*add(plan), Step("Verifying", Observe()))
        case "stuck-rollout":
            undo = Step("Changing", UndoRollout(), (UndoRollout(back=True),), commits=True)
            return (
                undo,
                *((Step("Promoting", RemoveStuck()),) if plan.rolls == "ordinals" else ()),
                Step("Promoting", AwaitHome(plan.replicas)),
            )
        case _:
            rolling = {
                "ordinals": roll_ordinals.replace_units,
                "canary": roll_canary.roll,
                "owner": roll_owner.roll,
            }
            steps = rolling.get(plan.rolls, roll_spares.replace_replicas)(plan)
            return (*steps, Step("Promoting", WriteLimits(), (WriteLimits(back=True),)))


def _pause(plan: RemedyPlan) -> tuple[Step, ...]:
    """Owners that would revert the change leave home alone first; they get it back when everything
    else is undone.
    """
    return tuple(
        Step("Preparing", PauseOwner(index), (ResumeOwner(index),))
        for index, owner in enumerate(plan.owners)
        if not owner.by
    )


def _hand_back(plan: RemedyPlan) -> tuple[Step, ...]:
    """Owners that would not revert the change get home back while it is still claimed."""
    over = (index for index, owner in enumerate(plan.owners) if not plan.stays_paused(owner))
    return tuple(Step("Promoting", ResumeOwner(index), (PauseOwner(index),)) for index in over)


def _hold() -> tuple[Step, ...]:
    """Return the steps that hold the limit at the gateways until the load is gone or the time is
    over. After that it is only removed.
    """
    return (
        Step("Changing", TightenGateway(), (TightenGateway(back=True),)),
        Step("Verifying", Observe()),
        Step("Holding", AwaitCalm(), commits=True),
        Step("Holding", TightenGateway(back=True)),
    )
