"""The same memory holds twice the tokens.

Meaning: --kv-cache-dtype fp8 stores keys and values in one byte each instead of two.
When: KV pressure or a pool too small, and the quality was checked on your own tasks.
Not when: nothing at all is left for the pool; the cache is quantised already; on the CPU backend;
where an evaluation forbids it.
Undo: remove the argument; drain first.
Proof: the pool logged at start holds about twice the tokens; the evaluation passes.
Source: vLLM 0.32.0 CacheDType; 0.8.5 is the oldest version whose values were read.
"""

from __future__ import annotations

from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import count, given, is_cpu, last_of, setting

NAME = "kv-cache-dtype-fp8"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """fp8, where the cache still has the model's precision and the version is known to have it."""
    window = situation.window
    if situation.variant == "states":
        return NotApplicable(
            NAME, Prose("the state blocks of a hybrid model do not shrink with it")
        )
    if situation.variant == "no-blocks":
        return NotApplicable(
            NAME, Prose("nothing is left for the pool: smaller tokens leave no more")
        )
    if window.version is None:
        return NotApplicable(
            NAME,
            Prose(
                "--kv-cache-dtype fp8 needs vLLM >= 0.8.5, and this engine's version is not known"
            ),
        )
    if window.version.before("0.8.5"):
        return NotApplicable(
            NAME,
            Prose(
                "--kv-cache-dtype fp8 needs vLLM >= 0.8.5 on this path (this engine is "
                f"{window.version})"
            ),
        )
    if is_cpu(window):
        return NotApplicable(
            NAME,
            Prose(
                "on the CPU backend more memory (VLLM_CPU_KVCACHE_SPACE) is the plain way to a "
                "larger pool"
            ),
        )
    if given(window, "num_gpu_blocks_override"):
        return NotApplicable(
            NAME,
            Prose(
                "the number of blocks is set by hand (--num-gpu-blocks-override): cheaper "
                "tokens add none"
            ),
        )
    found = setting(window, "kv_cache_dtype")
    if found is None or str(found.value) not in ("auto", "bfloat16", "float16"):
        return NotApplicable(
            NAME,
            Prose(
                f"the cache is {found.value} already"
                if found
                else "the cache's precision is not known"
            ),
        )
    pool = last_of(window, "kv_pool_tokens")
    size = (
        f"the pool holds {count(pool)} tokens at {found.value}; fp8 about twice as many"
        if pool
        else f"the cache is {found.value}; fp8 holds about twice the tokens"
    )
    return Proposal(
        NAME,
        SetFlag("kv_cache_dtype", "fp8"),
        Prose(f"{size}; check the answers' quality first"),
        True,
        52,
    )


LEVER = Lever(
    NAME, Prose("halve the bytes per token"), "supply", (*KV_CAUSES, "kv-pool-too-small"), propose
)
