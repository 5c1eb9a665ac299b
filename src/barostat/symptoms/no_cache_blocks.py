"""After weights and activations nothing is left for the KV pool: the engine refuses to start.

Meaning: the share of the card that vLLM may use (gpu_memory_utilization) is spent by weights,
profiled activations and, from 0.20 on, CUDA graphs. What remains for the pool is nothing, or
negative.

Impact: the replica never becomes ready.

Evidence: "No available memory for the cache blocks", or a negative "Available KV cache memory".

Not evidence: CUDA out of memory (gpu-oom-startup): there the allocation itself failed. A small but
positive pool.

Mitigation: raise --gpu-memory-utilization, shard the model over more cards, quantise the weights,
lower max_num_batched_tokens, max_num_seqs or multimodal limits (they set the profiled peak), or
--enforce-eager to save the graphs. Make sure that no other process holds memory on the card.

Source: vLLM 0.6 to 0.33, check_enough_kv_cache_memory; Worker.determine_available_memory.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "no-cache-blocks",
    "no memory left for the KV pool",
    ("log_no_cache_blocks",),
    seen="no memory is left for the KV pool",
    none="the pool got memory",
)
