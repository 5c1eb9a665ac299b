"""Fewer graphs are captured, and their memory stays free.

Meaning: graphs are captured for batch sizes up to a limit; each takes memory, before vLLM 0.20.0 on
top of the utilisation setting.
When: out of memory while graphs are captured.
Not when: the memory ran out elsewhere.
Undo: remove the argument.
Proof: the engine gets past "Graph capturing finished".
Source: vLLM 0.11.1 CompilationConfig.max_cudagraph_capture_size; enforce_eager in every version.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import lacks

NAME = "graph-capture-less"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """A largest captured batch of 128; without that argument, no graphs."""
    if situation.variant != "graph-capture":
        return NotApplicable(NAME, Prose("the memory ran out elsewhere than in graph capture"))
    eager = situation.window.config.get("enforce_eager")
    if eager is not None and eager.value is True:
        return NotApplicable(NAME, Prose("no graphs are captured: --enforce-eager is set"))
    now = situation.window.config.number("max_cudagraph_capture_size")
    if (refusal := lacks(NAME, situation, "enforce_eager")) is not None:
        return refusal
    if lacks(NAME, situation, "max_cudagraph_capture_size") is not None:
        return Proposal(
            NAME,
            SetFlag("enforce_eager", True),
            Prose(
                "graphs did not fit beside the pool, and no argument known for this version "
                "captures fewer"
            ),
            True,
            28,
        )
    if now is not None and now <= 128:
        return Proposal(
            NAME,
            SetFlag("enforce_eager", True),
            Prose(f"graphs up to {now:.0f} requests did not fit beside the pool"),
            True,
            28,
        )
    return Proposal(
        NAME,
        SetFlag("max_cudagraph_capture_size", 128),
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
