"""The cause is looked for once more before anything is changed, and for some time: pressure comes
and goes with the traffic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from barostat.io.clock import Clock
from barostat.io.mitigation.performer import Gathering
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.precheck import Facts, is_lull

LOOKS = 4


def with_patience(plan: RemedyPlan, look_s: float) -> RemedyPlan:
    """The plan with time for several looks of that length before its cause is said to be gone."""
    return replace(
        plan, bounds=replace(plan.bounds, confirm_s=max(plan.bounds.confirm_s, LOOKS * look_s))
    )


async def confirming(
    look: Gathering, plan: RemedyPlan, clock: Clock, tell: Callable[[str], None]
) -> Facts:
    """The facts of the first look that shows the cause, or anything else against the plan; of the
    last that there was time for, if none.

    Errors: those of a look.
    """
    began = clock.now()
    while True:
        before = clock.now()
        facts = await look()
        now = clock.now()
        if not is_lull(facts, plan) or now + (now - before) > began + plan.bounds.confirm_s:
            return facts
        left_s = began + plan.bounds.confirm_s - now
        tell(f"no {plan.cause} in this look, {facts.cause}: it is looked for {left_s:.0f} s longer")
