"""Ordinals: home holds the change with a partition above all its units, and each unit is drained
before the partition lets its owner replace it. For kinds whose units are numbered (StatefulSet,
LeaderWorkerSet).

    spare, N = 2        in rotation     in place, N = 2       in rotation
    change staged       0 1             change staged         0 1
    N -> N + 1: unit 2  0 1 2'          1 leaves, drained     0
    1 leaves, WARM      0 2'            partition 1: 1 again  0 1'
    proof               0 2'  <-        proof                 0 1'  <-
    partition 1         0 2' 1'         0 leaves, drained     1'
    0 leaves, drained   2' 1'           partition 0: 0 again  1' 0'
    partition 0         2' 1' 0'
    2 leaves, N + 1 -> N

Going back, the partition moves above the unit that has the change; the unit leaves, drains and is
removed, and its owner makes it again from the former state. That works until every unit has the
change, because the owner then takes the change as the former state: the last partition commits.
"""

from __future__ import annotations

from barostat.remedy.acts import (
    Act,
    AwaitDrained,
    AwaitHome,
    AwaitUnit,
    FinishRollout,
    LeaveRotation,
    MovePartition,
    Observe,
    PickSurplus,
    PickUnit,
    PutBack,
    RemoveUnit,
    ScaleHome,
    StageChange,
)
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.step import Phase, Step

SPARE = "spare"


def replace_units(plan: RemedyPlan) -> tuple[Step, ...]:
    """Every unit is replaced, the highest first and as the proof; with a spare, one unit more
    serves meanwhile.
    """
    steps: list[Step] = [Step("Preparing", StageChange(), (StageChange(back=True),))]
    spare = plan.strategy == "spare"
    if spare:
        steps += _grow(plan)
    for place in reversed(range(plan.replicas)):
        first = place == plan.replicas - 1
        steps += _take(plan, place, "Draining" if first else "Promoting")
        if first and spare:
            steps.append(Step("Verifying", Observe()))
        steps += _replace(plan, place, "Changing" if first and not spare else "Promoting")
        if first and not spare:
            steps.append(Step("Verifying", Observe(), commits=plan.replicas == 1))
    if spare:
        steps += _retire(plan)
    return (*steps, Step("Promoting", FinishRollout()))


def add(plan: RemedyPlan) -> tuple[Step, ...]:
    """One more unit. Its undo drains the unit before home asks for one less."""
    now, slot = plan.replicas, "surplus"
    back: tuple[Act, ...] = (
        RemoveUnit(slot, now, "nothing"),
        ScaleHome(now + 1, now),
        AwaitDrained(slot),
        LeaveRotation(slot, plan.serving),
        PickSurplus(slot, now),
    )
    return (
        Step("Changing", ScaleHome(now, now + 1), back),
        Step("Changing", AwaitHome(plan.serving + 1)),
    )


def _grow(plan: RemedyPlan) -> tuple[Step, ...]:
    """The spare is the unit behind the last one: it is above the partition, so it has the change."""
    now = plan.replicas
    back: tuple[Act, ...] = (
        RemoveUnit(SPARE, now, "nothing"),
        ScaleHome(now + 1, now),
        AwaitDrained(SPARE),
        LeaveRotation(SPARE, plan.kept_in_rotation),
        PickUnit(SPARE, now, changed=True),
    )
    return (
        Step("Preparing", ScaleHome(now, now + 1), back),
        Step("Changing", AwaitUnit(SPARE, now, changed=True)),
    )


def _take(plan: RemedyPlan, place: int, phase: Phase) -> tuple[Step, ...]:
    """A unit leaves the rotation and drains. It stays warm, and its owner makes no other of its
    name.
    """
    slot, asked = f"unit-{place}", plan.replicas + (plan.strategy == "spare")
    return (
        Step(phase, PickUnit(slot, place)),
        Step(phase, LeaveRotation(slot, plan.kept_in_rotation), (PutBack(slot, asked),)),
        Step(phase, AwaitDrained(slot)),
    )


def _replace(plan: RemedyPlan, place: int, phase: Phase) -> tuple[Step, ...]:
    """The drained unit is replaced by one with the change.

    Its owner may replace it as soon as the partition moves, so the undo begins with the partition:
    above the unit, nothing that runs the change is made any more.
    """
    old, new = f"unit-{place}", f"new-{place}"
    alone = plan.replicas == 1 and plan.strategy != "spare"
    # Of an only unit the owner takes the change as the former state, so home goes back first.
    home_first: tuple[Act, ...] = (StageChange(back=True),) if alone else ()
    back: tuple[Act, ...] = (
        AwaitUnit(f"old-{place}", place, changed=False),
        PutBack(old, plan.replicas + (plan.strategy == "spare")),
        RemoveUnit(new, place, "former"),
        *home_first,
        AwaitDrained(new),
        LeaveRotation(new, plan.kept_in_rotation),
        PickUnit(new, place, changed=True),
        MovePartition(place, place + 1),
    )
    return (
        Step(
            phase,
            MovePartition(place + 1, place),
            back,
            forgets=2 if alone else 1,
            commits=place == 0 and not alone,
        ),
        Step(phase, RemoveUnit(old, place, "change")),
        Step(phase, AwaitUnit(new, place, changed=True)),
    )


def _retire(plan: RemedyPlan) -> tuple[Step, ...]:
    now = plan.replicas
    return (
        Step("Promoting", LeaveRotation(SPARE, plan.kept_in_rotation)),
        Step("Promoting", AwaitDrained(SPARE)),
        Step("Promoting", ScaleHome(now + 1, now)),
        Step("Promoting", RemoveUnit(SPARE, now, "nothing")),
    )
