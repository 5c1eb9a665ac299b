"""A hybrid model keeps fewer states in the pool.

Meaning: with prefix caching a hybrid model (Mamba, gated delta nets) keeps a state every
--mamba-block-size tokens, in blocks of the same pool as the KV cache; by default at each block.
When: KV pressure on an engine that reports that size, and it is below 8,192 tokens.
Not when: prefix caching is off (vLLM refuses the argument then); a model without states.
Undo: remove the argument; drain first.
Proof: fewer blocks for each running request; preemptions fall. Prefixes are found again at fewer
places.
Source: vLLM 0.32.0 CacheConfig.mamba_block_size, VllmConfig.validate_mamba_block_size;
club-3090#1170 (8,192 gave about a fifth of the pool back).
"""

from __future__ import annotations

import math

from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import count, lacks

NAME = "mamba-block-size"
LARGE_TOKENS = 8_192


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The first multiple of the present size from 8,192 tokens on."""
    config = situation.window.config
    now, length = config.number("mamba_block_size"), config.number("max_model_len")
    if now is None or now < 1:
        return NotApplicable(NAME, Prose("the engine reports no states of a hybrid model"))
    caching = config.get("enable_prefix_caching")
    if caching is None or caching.value is not True:
        return NotApplicable(NAME, Prose("without prefix caching each request keeps one state"))
    if now >= LARGE_TOKENS or (length is not None and now >= length):
        return NotApplicable(NAME, Prose(f"a state is kept every {count(now)} tokens already"))
    if (refusal := lacks(NAME, situation, "mamba_block_size")) is not None:
        return refusal
    target = int(now) * math.ceil(LARGE_TOKENS / now)
    return Proposal(
        NAME,
        SetFlag("mamba_block_size", target),
        Prose(
            f"a state is kept every {count(now)} tokens, in the pool; at fewer places, prefixes "
            "are found again at fewer places too"
        ),
        True,
        47,
    )


LEVER = Lever(
    NAME,
    Prose("fewer kept states"),
    "supply",
    KV_CAUSES,
    propose,
    sets=SetsFlag("mamba_block_size"),
)
