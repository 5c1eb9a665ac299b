"""One request of max_model_len needs more KV memory than there is: the engine refuses to start.

Meaning: at start vLLM checks that a single sequence of max_model_len fits into the pool. It does
not, so there is no engine: this is sizing, not load.

Impact: the replica never becomes ready; Kubernetes restarts it into the same error.

Evidence: the start-up error that names the length, the memory needed and the memory available; from
0.8.5 on it also estimates the longest length that would fit.

Not evidence: requests refused with "maximum context length": that is one client's prompt.
Preemptions: the check is about start-up only.

Mitigation: set --max-model-len to the estimate in the message (auto from 0.14 on), or make room:
fp8 KV cache, more gpu_memory_utilization in small steps, more tensor parallelism up to the number
of KV heads, quantised weights. For a full-attention model a smaller length does not add blocks; it
only lets the engine start.

Source: vLLM 0.6 to 0.33: V0 "max seq len ... larger than the maximum number of tokens that can be
stored in KV cache"; V1 "To serve at least one request with the model's max seq len".
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "model-too-long",
    "max_model_len does not fit the pool",
    ("log_model_too_long",),
    seen="one request of max_model_len does not fit the KV pool",
    none="the pool holds a request of full length",
)
