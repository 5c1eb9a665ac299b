"""The log says that memory could not be allocated, on the GPU or for the pool.

Meaning: at least one line of: GPU out of memory (at start, while capturing graphs, while serving,
at a moment unknown), no memory left for the pool, a length or a number of sequences that the pool
cannot hold. Which one it was is a symptom of its own.

Impact: the replica did not start, or has died and restarts.

Evidence: the counts of those lines in the current log and in the one before the restart.

Not evidence: lines of start-up that merely name memory ("Available KV cache memory", "GPU KV cache
size"). The GPU driver's NV_ERR_NO_MEMORY lines in the kernel log: they appear on healthy starts
too. Exit code 137: that is the host's memory.

Mitigation: by phase: gpu-oom-startup, gpu-oom-graph-capture, gpu-oom-serving, no-cache-blocks,
model-too-long, states-exceeded.

Source: PyTorch's OutOfMemoryError (CUDA and HIP), vLLM's start-up checks 0.6 to 0.33. A full KV
pool alone never makes any of them on V1.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "allocation-failures",
    "memory could not be allocated",
    (
        "log_gpu_oom_serving",
        "log_gpu_oom_graph_capture",
        "log_gpu_oom_startup",
        "log_no_cache_blocks",
        "log_model_too_long",
        "log_states_exceeded",
        "log_gpu_oom",
        "previous_log_gpu_oom",
    ),
    seen="memory could not be allocated",
    none="no line about failed allocations",
)
