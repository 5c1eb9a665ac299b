"""A capacity question answered whole: the plan, the limits that follow, and what would make it
start where it does not.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.judge.sizing.fitting_changes import (
    FittingChange,
    changes_that_fit,
    may_not_start,
    why_not,
)
from barostat.judge.sizing.limits_from import Derived, limits_from
from barostat.judge.sizing.plan import CapacityPlan, PlanRequest, plan
from barostat.judge.sizing.request_shape import Traffic


@dataclass(frozen=True, slots=True)
class CapacityAnswer:
    """A plan with what follows from it.

    `refused`: why vLLM ends the engine before memory matters, a sentence each. `doubt`: why an
    engine that fits may not start after all, as the estimate's ends differ.
    """

    plan: CapacityPlan
    derived: Derived
    traffic: Traffic | None
    refusal: str
    changes: tuple[FittingChange, ...]
    refused: tuple[str, ...] = ()
    doubt: str = ""

    @property
    def starts(self) -> bool:
        """True if the command line is accepted and the memory is enough."""
        return self.plan.fits and not self.refused

    @property
    def why_not(self) -> str:
        """Reasons why the engine does not start, in the order of its checks; empty if it starts."""
        return "; ".join((*self.refused, *([self.refusal] if self.refusal else [])))


def answered(
    request: PlanRequest,
    traffic: Traffic | None,
    headroom_ratio: float,
    refused: tuple[str, ...] = (),
) -> CapacityAnswer:
    """The plan and what follows from it.

    Errors: InputError as `plan`.
    """
    made = plan(request)
    own = made.sized.refused if request.measured is None else ()
    derived = limits_from(made, traffic, str(request.version), headroom_ratio=headroom_ratio)
    return CapacityAnswer(
        made,
        derived,
        traffic,
        why_not(made),
        tuple(changes_that_fit(made)),
        (*refused, *own),
        may_not_start(made),
    )
