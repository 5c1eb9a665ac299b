"""Nothing: swapping preempted sequences to host memory is no lever on any engine that is still in use.

Meaning: --swap-space gave the V0 engine host memory into which it swapped sequences.
When: never. It is here to say why.
Not when: V1 accepts and ignores it up to 0.17.1, and the engine does not start with it from 0.18.0 on.
Undo: remove the argument.
Proof: none needed.
Source: vLLM 0.16.0 EngineCore (num_cpu_blocks = 0); 0.18.0 EngineArgs (the argument is gone).
"""

from __future__ import annotations

from barostat.catalog.vllm_behaviours import behaves
from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation

NAME = "swap-space"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The reason why not, for this version."""
    version = situation.window.version
    if behaves("swap-space-refused", version):
        why = f"--swap-space does not exist since vLLM 0.18.0: {version} would refuse to start"
    elif behaves("swap-space-ignored", version):
        why = f"the V1 engine ({version}) accepts --swap-space and never swaps: preempted requests are recomputed"
    elif version is not None:
        why = f"the V0 engine ({version}) swaps only for beams and best-of; it recomputes ordinary requests whatever the swap space is"
    else:
        why = "the V1 engine never swaps, and from vLLM 0.18.0 on the argument keeps the engine from starting"
    return NotApplicable(NAME, why, classic=True)


LEVER = Lever(NAME, "swap to host memory", "supply", KV_CAUSES, propose)
