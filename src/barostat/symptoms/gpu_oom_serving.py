"""The GPU ran out of memory after the engine was ready, outside the KV pool.

Meaning: the pool never grows, so something beside it did: activations of a prompt or image larger
than the profiled peak, log-probabilities, adapters, a workspace allocated late, fragmentation, or
another process on the card.

Impact: the engine dies with everything in flight and restarts cold.

Evidence: an out-of-memory line after the line that says the server is ready.

Not evidence: a full KV pool: V1 queues and preempts, it does not run out. Exit code 137: that is
host memory.

Mitigation: here less --gpu-memory-utilization (0.01 to 0.03 at a time) is right: it leaves room
outside the pool. Limit images, logprobs and n per request; look for other processes on the card;
PYTORCH_ALLOC_CONF=expandable_segments:True against fragmentation.

Source: PyTorch OutOfMemoryError (CUDA, HIP, XPU); reports of prefill beyond the profiled peak and
of multimodal growth, vLLM 0.11 to 0.23.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "gpu-oom-serving",
    "GPU out of memory while serving",
    ("log_gpu_oom_serving",),
    seen="GPU out of memory while serving",
    none="no out-of-memory failure while serving",
)
