"""The requests in flight together never ask for more KV tokens than the pool has.

Meaning: the gateway counts prompt plus expected output tokens of what it has let in, and holds back
or refuses what goes beyond the budget.
When: KV pressure of any kind. It is what the engine itself lacks: the engine admits a prompt
without room for its answer. Live.
Not when: the size of the pool is not known.
Undo: take the budget out of the limits file.
Proof: KV usage stays below the budget's share; preemptions and capacity-waiting go to 0.
Source: vLLM 0.33.0 KVCacheManager.allocate_slots: output growth is never reserved.
"""

from __future__ import annotations

from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, SetsEdgeLimit, Situation
from barostat.core.proposed_change import SetEdgeLimit
from barostat.core.prose import Prose
from barostat.levers._readings import count, last_of, round_down_tokens

NAME = "edge-admission-budget"
SHARE = 0.9


def propose(situation: Situation) -> Proposal | NotApplicable:
    """A budget of 90 % of the pool of one engine, times the engines behind the endpoint."""
    pool = last_of(situation.window, "kv_pool_tokens")
    if pool is None:
        return NotApplicable(NAME, Prose("the size of the KV pool is not known"))
    engines = max(1.0, last_of(situation.window, "data_parallel_engines") or 1.0)
    budget = round_down_tokens(SHARE * pool * engines)
    where = f"{engines:.0f} pools of {count(pool)}" if engines > 1 else f"a pool of {count(pool)}"
    return Proposal(
        NAME,
        SetEdgeLimit("edge.kvTokenBudget", budget),
        Prose(f"{where} tokens, of which 10 % stay free for growth"),
        False,
        10,
    )


LEVER = Lever(
    NAME,
    Prose("admit by a KV-token budget at the edge"),
    "edge",
    KV_CAUSES,
    propose,
    sets=SetsEdgeLimit("edge.kvTokenBudget"),
)
