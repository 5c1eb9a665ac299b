"""Canary: home's owner runs one unit with the change first, and replaces the others by itself
(Rollout).

    live canary    one unit with the change beside the others, proved under load, then home rolls
    dark canary    the same without requests: it proves that the engine starts with the change; home rolls, then the proof
"""

from __future__ import annotations

from barostat.remedy.acts import (
    AwaitCanary,
    AwaitDrained,
    Observe,
    OpenCanary,
    ShiftTraffic,
)
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.roll_owner import rolled
from barostat.remedy.step import Step

SLOT = "canary"


def roll(plan: RemedyPlan) -> tuple[Step, ...]:
    """The canary first, then home."""
    opened = (
        Step("Preparing", OpenCanary(), (OpenCanary(back=True),)),
        Step("Preparing", AwaitCanary(SLOT)),
    )
    if plan.canary == "dark":
        close = Step("Preparing", OpenCanary(back=True))
        return (*opened, close, *rolled("Changing"), Step("Verifying", Observe()))
    return (
        *opened,
        *_shifted(plan),
        Step("Verifying", Observe()),
        *rolled("Promoting", commits=True),
        *_closed(plan),
    )


def _shifted(plan: RemedyPlan) -> tuple[Step, ...]:
    if not plan.canary_percent:
        return ()
    to = plan.canary_percent
    return (Step("Changing", ShiftTraffic(0, to), (AwaitDrained(SLOT), ShiftTraffic(to, 0))),)


def _closed(plan: RemedyPlan) -> tuple[Step, ...]:
    if not plan.canary_percent:
        return ()
    return (
        Step("Promoting", ShiftTraffic(plan.canary_percent, 0)),
        Step("Promoting", AwaitDrained(SLOT)),
        Step("Promoting", OpenCanary(back=True)),
    )
