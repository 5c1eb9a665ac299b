"""The GPU ran out of memory after the pool was allocated, while graphs were captured or the sampler
was warmed up.

Meaning: the pool takes everything that gpu_memory_utilization leaves; graph capture and the
sampler's warm-up need memory on top. Before 0.20 graph memory was not part of the budget, so a high
utilisation ends here.

Impact: the replica never becomes ready.

Evidence: out-of-memory within capture_model or compile_or_warm_up_model, or "occurred when warming
up sampler with N dummy requests".

Not evidence: KV pressure: no request has run yet. Out of memory before the pool was sized:
gpu-oom-startup.

Mitigation: lower --gpu-memory-utilization by 0.01 to 0.03 (here it is the right lever), lower
--max-num-seqs (fewer and smaller graphs, fewer sampler rows), cap the capture sizes, or
--enforce-eager as a stopgap.

Source: vLLM 0.8 to 0.33, GPUModelRunner.capture_model; VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS (on
from 0.20).
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "gpu-oom-graph-capture",
    "GPU out of memory while capturing graphs",
    ("log_gpu_oom_graph_capture",),
    seen="GPU out of memory while capturing graphs or warming up",
    none="no out-of-memory failure during graph capture",
)
