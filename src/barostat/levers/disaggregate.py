"""Prefill and decode run in pools of their own, each scaled by its own need.

Meaning: one set of engines computes prompts, another generates; KV blocks travel between them
(--kv-transfer-config).
When: long or varied prompts at high volume, after the limits are set and replicas added. A planned
change, no lever of an incident.
Not when: a single replica, short prompts, or a slow network between the cards.
Undo: route to the former pool, which is kept until the new one is proven.
Proof: inter-token latency no longer moves with the prompts.
Source: vLLM 0.33.0 KV connectors; requests park in WAITING_FOR_REMOTE_KVS.
"""

from __future__ import annotations

from barostat.catalog.vllm_behaviours import behaves
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.levers._readings import count, last_of

NAME = "disaggregate"
LONG_TOKENS = 4096


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Only where prompts are long."""
    if behaves("kv-connectors", situation.window.version) is not True:
        return NotApplicable(
            NAME,
            Prose(
                "it needs vLLM >= 0.9.0 (this engine is "
                f"{situation.window.version or 'of unknown version'})"
            ),
        )
    high = last_of(situation.window, "prompt_tokens_p95")
    if high is None or high < LONG_TOKENS:
        return NotApplicable(
            NAME, Prose("the prompts are not long enough for it to pay, or were not measured")
        )
    return Proposal(
        NAME,
        Advise(Prose("plan separate prefill and decode pools (--kv-transfer-config)")),
        Prose(f"prompts reach {count(high)} tokens (95th percentile)"),
        True,
        90,
    )


LEVER = Lever(
    NAME,
    Prose("separate prefill and decode"),
    "advice",
    ("prefill-bound", "kv-preemption-thrash"),
    propose,
)
