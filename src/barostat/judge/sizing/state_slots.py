"""A hybrid's decoding requests hold a block each for their states: an engine with fewer blocks than
sequences refuses to record graphs.

    max_num_seqs 1024                                 939 blocks
    [ one block of states for each decoding request ] [ the pool ]   -> "max_num_seqs (1024) exceeds
    available Mamba cache blocks (939)"

Source: vLLM 0.26.0, CompilationConfig.adjust_cudagraph_sizes_for_mamba_cache; logs of 0.26.0 and
0.27.1, and vllm-project/recipes#831. A log of 0.17.1 starts with 88 blocks and 256 sequences, one
of 0.20.0 with drafts (no graph of whole decoding steps) with 132.
"""

from __future__ import annotations

from barostat.kv.architecture import Architecture
from barostat.kv.deployment import Deployment

# The first version that is taken to refuse. Between the logs of 0.17.1 and 0.26.0 none says.
_REFUSES_SINCE = "0.20.0"


def lacking_states(model: Architecture, flags: Deployment, blocks: int, *, eager: bool) -> int:
    """How many sequences more than blocks there are, where that ends the start; 0 where it does
    not.
    """
    records = not eager and not flags.num_speculative_tokens and flags.generation == "V1"
    if not model.keeps_state or not records or flags.version.before(_REFUSES_SINCE):
        return 0
    return max(0, flags.max_num_seqs - blocks)
