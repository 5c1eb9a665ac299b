"""The GPU ran out of memory while the model was loaded or profiled, or had less free memory than
asked for.

Meaning: weights, the profiling run or the start-up check of free memory failed. The pool does not
exist yet, so this is never KV pressure.

Impact: the replica never becomes ready.

Evidence: out-of-memory lines before the pool is sized; "Free memory on device ... is less than
desired GPU memory utilization"; memory of other processes on the same card.

Not evidence: an out-of-memory line after the server was ready (gpu-oom-serving) or while capturing
graphs (gpu-oom-graph-capture).

Mitigation: if others hold the card: free it or lower --gpu-memory-utilization to what is free. If
the weights do not fit: quantise, shard over more cards. If profiling fails: lower
max_num_batched_tokens or multimodal limits. One process per card: do not start the server under
torchrun.

Source: PyTorch OutOfMemoryError; vLLM request_memory check (0.9.1 on).
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted

LINES = ("log_gpu_oom_startup",)
NOTABLE_FOREIGN_BYTES = 1 << 30
"""A display or a monitoring agent holds some hundred MiB; from 1 GiB on another workload uses the
card.
"""


def judge(window: Window) -> Verdict:
    """Present if memory ran out before the pool was there; shows whether another process holds it."""
    verdict = counted(
        window,
        LINES,
        seen="GPU out of memory at start",
        none="the start did not run out of GPU memory",
    )
    foreign = window.fresh("gpu_foreign_memory_bytes")
    if not isinstance(verdict, Present) or foreign is None or foreign.last < NOTABLE_FOREIGN_BYTES:
        return verdict
    because = f"{verdict.because} ({foreign.last / (1 << 30):.1f} GiB of the card belong to others)"
    return Present(because, (*verdict.evidence, foreign.evidence(window.at)), verdict.confidence)


SYMPTOM = Symptom(
    name="gpu-oom-startup", title="GPU out of memory at start", judge=judge, needs=LINES
)
