"""Owner: home's owner replaces every unit by itself once home is written, and nothing below home is
written. For kinds that are written again from their own object (InferenceService,
LLMInferenceService, RayService).

    spare      a spare beside home proves the change, then home rolls. It goes before the rollout, whose
               extra units may need its GPU; it stays where the rollout takes units away first
    rolling    home rolls, then the proof
"""

from __future__ import annotations

from typing import Literal

from barostat.remedy.acts import (
    AwaitDrained,
    AwaitRolled,
    DeleteSpare,
    LeaveRotation,
    Observe,
    RollHome,
)
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.roll_spares import make_spare
from barostat.remedy.step import Step

_SLOT = "spare-0"


def roll(plan: RemedyPlan) -> tuple[Step, ...]:
    """The proof on a spare first, where one is made; then home."""
    if plan.strategy != "spare":
        return (*rolled("Changing"), Step("Verifying", Observe()))
    proof = (*make_spare(plan, 0, "Preparing", "Changing"), Step("Verifying", Observe()))
    home = rolled("Promoting", commits=True)
    return (*proof, *home, *_gone(plan)) if plan.spare_stays else (*proof, *_gone(plan), *home)


def rolled(phase: Literal["Changing", "Promoting"], *, commits: bool = False) -> tuple[Step, ...]:
    """Home is written, and its owner has replaced every unit."""
    undo = (AwaitRolled(), RollHome(back=True))
    return (
        Step(phase, RollHome(), undo),
        Step(phase, AwaitRolled(), commits=commits),
    )


def _gone(plan: RemedyPlan) -> tuple[Step, ...]:
    """The spare has proved the change. What takes it back is on the stack since it joined."""
    return (
        Step("Promoting", LeaveRotation(_SLOT, plan.kept_in_rotation)),
        Step("Promoting", AwaitDrained(_SLOT)),
        Step("Promoting", DeleteSpare(0)),
    )
