"""Fewer graphs are captured, and their memory stays free.

Meaning: graphs are captured for batch sizes up to a limit; each takes memory, before vLLM 0.20.0 on
top of the utilisation setting.
When: out of memory while graphs are captured.
Not when: the memory ran out elsewhere; in the sampler's warm-up, which comes after the graphs.
Undo: remove the argument.
Proof: the engine gets past "Graph capturing finished".
Source: vLLM 0.11.1 CompilationConfig.max_cudagraph_capture_size; 0.9.0 to 0.12.0
VllmConfig._set_cudagraph_sizes (cuda_graph_sizes); enforce_eager in every version.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import lacks

NAME = "graph-capture-less"
LARGEST = 128
_SIZES = ("max_cudagraph_capture_size", "cuda_graph_sizes")
"""The argument for the largest captured batch: since 0.11.1, and from 0.9.0 until then (one number
there means: up to so many).
"""


def propose(situation: Situation) -> Proposal | NotApplicable:
    """A largest captured batch of 128, by the argument that this version has; no graphs where that
    is set already or the version has none.
    """
    if situation.variant == "sampler":
        return NotApplicable(
            NAME,
            Prose(
                "the graphs were captured; memory ran out after them, in the sampler's warm-up, "
                "which --max-num-seqs sizes"
            ),
            classic=True,
        )
    if situation.variant != "graph-capture":
        return NotApplicable(NAME, Prose("the memory ran out elsewhere than in graph capture"))
    window = situation.window
    eager = window.config.get("enforce_eager")
    if eager is not None and eager.value is True:
        return NotApplicable(NAME, Prose("no graphs are captured: --enforce-eager is set"))
    if (refusal := lacks(NAME, situation, "enforce_eager")) is not None:
        return refusal
    argument = next((name for name in _SIZES if lacks(NAME, situation, name) is None), None)
    now = window.config.number(argument) if argument is not None else None
    if argument is None or (now is not None and now <= LARGEST):
        why = (
            f"graphs up to {now:.0f} requests did not fit beside the pool"
            if now is not None
            else "graphs did not fit beside the pool, and no argument known for this version "
            "captures fewer"
        )
        return Proposal(NAME, SetFlag("enforce_eager", True), Prose(why), True, 28)
    return Proposal(
        NAME,
        SetFlag(argument, LARGEST),
        Prose("graphs did not fit beside the pool; larger batches then run without one"),
        True,
        25,
    )


LEVER = Lever(
    NAME,
    Prose("capture fewer graphs"),
    "demand",
    ("gpu-oom",),
    propose,
    sets=SetsFlag("max_cudagraph_capture_size"),
)
