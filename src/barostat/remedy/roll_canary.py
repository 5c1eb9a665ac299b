"""Canary and owner: home's owner replaces the units by itself once home is written. For kinds that
are written again from their own object (InferenceService, LLMInferenceService, RayService, Rollout).

    live canary    one unit with the change beside the others, proved under load, then home rolls
    dark canary    the same without requests: it proves that the engine starts with the change; home rolls, then the proof
    no canary      home rolls, then the proof
"""

from __future__ import annotations

from typing import Literal

from barostat.remedy.acts import (
    AwaitCanary,
    AwaitDrained,
    AwaitRolled,
    Observe,
    OpenCanary,
    RollHome,
    ShiftTraffic,
)
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.step import Step

SLOT = "canary"


def roll(plan: RemedyPlan) -> tuple[Step, ...]:
    """The canary first, where there is one; then home."""
    opened = (
        Step("Preparing", OpenCanary(), (OpenCanary(back=True),)),
        Step("Preparing", AwaitCanary(SLOT)),
    )
    match plan.canary:
        case "live":
            return (
                *opened,
                *_shifted(plan),
                Step("Verifying", Observe()),
                *_rolled("Promoting", commits=True),
                *_closed(plan),
            )
        case "dark":
            close = Step("Preparing", OpenCanary(back=True))
            return (*opened, close, *_rolled("Changing"), Step("Verifying", Observe()))
        case _:
            return (*_rolled("Changing"), Step("Verifying", Observe()))


def _shifted(plan: RemedyPlan) -> tuple[Step, ...]:
    if not plan.canary_percent:
        return ()
    to = plan.canary_percent
    return (Step("Changing", ShiftTraffic(0, to), (AwaitDrained(SLOT), ShiftTraffic(to, 0))),)


def _rolled(phase: Literal["Changing", "Promoting"], *, commits: bool = False) -> tuple[Step, ...]:
    undo = (AwaitRolled(), RollHome(back=True))
    return (
        Step(phase, RollHome(), undo),
        Step(phase, AwaitRolled(), commits=commits),
    )


def _closed(plan: RemedyPlan) -> tuple[Step, ...]:
    if not plan.canary_percent:
        return ()
    return (
        Step("Promoting", ShiftTraffic(plan.canary_percent, 0)),
        Step("Promoting", AwaitDrained(SLOT)),
        Step("Promoting", OpenCanary(back=True)),
    )
