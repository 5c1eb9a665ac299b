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
    """Return the plan with time for several observations before its cause counts as gone."""
    return replace(
        plan, bounds=replace(plan.bounds, confirm_s=max(plan.bounds.confirm_s, LOOKS * look_s))
    )


async def confirming(
    look: Gathering, plan: RemedyPlan, clock: Clock, tell: Callable[[str], None]
) -> Facts:
    """Return the facts of the first observation that shows the cause, or another reason against the
    plan; otherwise of the last one.

    Errors: those of an observation.
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
