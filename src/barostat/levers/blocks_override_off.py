"""Let vLLM size the pool from the card's memory instead of a fixed number of blocks.

Meaning: --num-gpu-blocks-override sets the number of blocks whatever the memory is. It is a knob
for tests.
When: KV pressure, a pool too small, or no room on the card for that pool, on an engine that has it
set.
Not when: it is not set.
Undo: put it back.
Proof: the pool logged at start is that of the memory profile.
Source: vLLM 0.33.0 kv_cache_planning (override).
"""

from __future__ import annotations

from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import UnsetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import count, given, setting, short_of_the_pool

NAME = "blocks-override-off"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Remove the argument where it is set."""
    found = setting(situation.window, "num_gpu_blocks_override")
    blocks = situation.window.config.number("num_gpu_blocks_override")
    if found is None or blocks is None or not given(situation.window, "num_gpu_blocks_override"):
        return NotApplicable(NAME, Prose("the number of blocks is not set by hand"))
    if situation.cause == "gpu-oom" and not short_of_the_pool(situation):
        return NotApplicable(NAME, Prose("memory did not run out as the pool was allocated"))
    return Proposal(
        NAME,
        UnsetFlag("num_gpu_blocks_override", int(blocks)),
        Prose(f"{count(blocks)} blocks were set by hand, regardless of the available memory"),
        True,
        15 if situation.cause == "kv-pool-too-small" else 25,
    )


LEVER = Lever(
    NAME,
    Prose("let the memory size the pool"),
    "supply",
    (*KV_CAUSES, "kv-pool-too-small", "gpu-oom"),
    propose,
)
