"""No setting makes a step take a multiple of what the card needs for it.

Meaning: the engine was configured this way, and it is slow: eager mode, debugging variables, layers
divided between nodes, weights in the host's memory, kernels that were not made for the card.
When: steps are far slower than card, model and load should give, and such a setting is there.
Not when: steps are as fast as they should be: eager mode in itself is no fault.
Undo: set it again.
Proof: steps per second rise by as much as they were slow.
Source: vLLM 0.32.0 parallelism guide (tensor parallelism within a node), CompilationConfig; CUDA
environment variables.
"""

from __future__ import annotations

from barostat.catalog.slow_settings import slow_settings_of
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose

NAME = "slow-setting"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """What to set instead of the heaviest of those that are set. A person does it: what else it
    changes is not known here.
    """
    if situation.variant != "slow":
        return NotApplicable(NAME, Prose("steps are not what is slow"))
    found = slow_settings_of(situation.window)
    if not found:
        return NotApplicable(NAME, Prose("no setting that makes steps slow is there"))
    return Proposal(
        NAME, Advise(Prose(f"start it {found[0].instead}")), Prose(found[0].effect), True, 20
    )


LEVER = Lever(NAME, Prose("steps as fast as the card"), "advice", ("bad-config",), propose)
