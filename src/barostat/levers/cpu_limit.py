"""The container is not throttled by its own CPU limit.

Meaning: resources.limits.cpu of the engine's container; beyond it the kernel stops the whole
container for the rest of each period.
When: host-bound, and the container is throttled or uses nearly all of its limit.
Not when: nothing limits it: then one process on one core is the bound, and more API server
processes are the lever.
Undo: restore the former limit.
Proof: the throttled share goes to 0; steps per second rise.
Source: Linux CPU bandwidth control (cpu.max); vLLM 0.33.0 runs an engine core, API servers and one
worker per card.
"""

from __future__ import annotations

import math

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import EditPodSpec, SetCpu
from barostat.core.prose import Prose
from barostat.levers._readings import last_of

NAME = "cpu-limit"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Twice the present limit, at least what the engine's processes need."""
    window = situation.window
    limit, used, throttled = (
        last_of(window, name)
        for name in ("cpu_limit_cores", "cpu_usage_cores", "cpu_throttled_ratio")
    )
    if limit is None or limit <= 0:
        return NotApplicable(NAME, Prose("the container has no CPU limit, or it was not recorded"))
    full = used is not None and used > 0.9 * limit
    if not full and not (throttled is not None and throttled > 0.05):
        return NotApplicable(NAME, Prose(f"the container is not at its limit of {limit:g} cores"))
    cards = window.config.number("tensor_parallel_size") or 1.0
    target = max(math.ceil(2 * limit), int(cards) + 3)
    seen = (
        f"throttled in {throttled:.0%} of the periods"
        if throttled is not None and throttled > 0.05
        else f"{used:.1f} of {limit:g} cores are used"
    )
    return Proposal(
        NAME,
        EditPodSpec(SetCpu(target)),
        Prose(f"{seen} (limit {limit:g})"),
        True,
        20,
    )


LEVER = Lever(NAME, Prose("more CPU"), "host", ("host-bound",), propose)
