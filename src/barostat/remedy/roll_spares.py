"""Spares: each replica gets the change in an object of its own beside home, and home's template is
written while it owns no pod. For a kind whose owner would replace pods in rotation (Deployment).
"""

from __future__ import annotations

from barostat.remedy.acts import (
    Act,
    AwaitDrained,
    AwaitHome,
    AwaitSpare,
    CreateSpare,
    DeletePod,
    DeleteSpare,
    Detach,
    JoinRotation,
    KeepPrevious,
    LeaveRotation,
    Observe,
    PatchTemplate,
    PickReplica,
    PickSurplus,
    PutBack,
    ScaleHome,
)
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.step import Phase, Step

PREVIOUS = "previous"
"""The slot of the unit of the former version."""


def replace_replicas(plan: RemedyPlan) -> tuple[Step, ...]:
    """Every replica of home is replaced by a spare, the first one as the proof; then home grows
    again with the new template. Then one unit of the former version starts again, if the plan
    keeps one: only now is its GPU free.
    """
    spare = plan.strategy == "spare"
    first: tuple[Step, ...]
    proof: tuple[Step, ...]
    if spare:
        first = (*make_spare(plan, 0, "Preparing", "Changing"), *_take(plan, 0, "Draining"))
        proof = (Step("Verifying", Observe()), _delete(plan, 0, "Promoting"))
    else:
        made = make_spare(plan, 0, "Changing", "Changing")
        first = (*_take(plan, 0, "Draining"), _delete(plan, 0, "Changing"), *made)
        proof = (Step("Verifying", Observe()),)
    steps = [*first, *proof]
    for index in range(1, plan.replicas):
        make = make_spare(plan, index, "Promoting", "Promoting")
        take = (*_take(plan, index, "Promoting"), _delete(plan, index, "Promoting"))
        steps += (*make, *take) if spare else (*take, *make)
    steps.append(Step("Promoting", PatchTemplate(), (PatchTemplate(back=True),), commits=True))
    for index in reversed(range(plan.replicas)):
        grow, retire = _grow(plan.replicas - 1 - index), _retire(plan, index)
        steps += (*grow, *retire) if spare else (*retire, *grow)
    if plan.keep_previous_s:
        steps.append(Step("Promoting", KeepPrevious(PREVIOUS)))
    return tuple(steps)


def add(plan: RemedyPlan) -> tuple[Step, ...]:
    """Add one replica to the target. The undo finds the surplus replica, takes it out of rotation
    and drains it before deletion.
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


def make_spare(plan: RemedyPlan, index: int, phase: Phase, joins: Phase) -> tuple[Step, ...]:
    """A spare is made, gets Ready out of rotation, and joins. Without a spare GPU, one less may
    serve while it leaves again.
    """
    slot = f"spare-{index}"
    undo = (AwaitDrained(slot), LeaveRotation(slot, plan.kept_in_rotation))
    return (
        Step(phase, CreateSpare(index), (DeleteSpare(index),)),
        Step(phase, AwaitSpare(index)),
        Step(joins, JoinRotation(slot), undo),
    )


def _take(plan: RemedyPlan, index: int, phase: Phase) -> tuple[Step, ...]:
    """A replica of home leaves the rotation, home asks for one less, and the replica drains. It
    stays warm.
    """
    slot, former = f"home-{index}", plan.replicas - index
    return (
        Step(phase, PickReplica(slot)),
        Step(phase, Detach(slot, plan.kept_in_rotation), (PutBack(slot, former),)),
        Step(phase, ScaleHome(former, former - 1), (ScaleHome(former - 1, former),)),
        Step(phase, AwaitDrained(slot)),
    )


def _delete(plan: RemedyPlan, index: int, phase: Phase) -> Step:
    """The drained replica goes. Its undo is from now on a start and no label: its GPU is freed
    first, then home is awaited complete.
    """
    slot, former = f"home-{index}", plan.replicas - index
    complete = max(0, former - (plan.replicas - plan.serving))
    undo = (AwaitHome(complete), ScaleHome(former - 1, former), DeletePod(slot))
    return Step(phase, DeletePod(slot), undo, forgets=2)


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
