"""The classic signature: GPU memory above 85 %, GPU utilisation below 60 %, with traffic.

Meaning: what many guides take for KV pressure. It is shown as one row of evidence and is never a
cause here: vLLM allocates its pool at start, so memory is at the utilisation setting (0.9, from
0.20 on 0.92) from the first minute, full or empty.

Impact: none by itself. Together with a queue, free slots and a full pool it rounds off the picture
of a collapsed batch.

Evidence: fullest card's memory at 0.85 or more and mean utilisation below 0.6 while requests run.

Not evidence: of KV pressure. The same pair is seen with little traffic, with a host that cannot
feed the card, with small batches, while waiting for a transfer. Real KV pressure often shows *high*
utilisation, because preempted prompts are computed again.

Mitigation: none for this alone. Do not lower gpu_memory_utilization because of it: that takes
memory from the pool.

Source: the playbook's diagnostics; vLLM 0.32 Worker.determine_available_memory (the pool takes what
the setting leaves).
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import holding, recent_mean, together

MEMORY_HIGH_RATIO = 0.85
COMPUTE_LOW_RATIO = 0.6
"""The two numbers of the classic advice, kept as they are."""
TRAFFIC = (
    "running_requests",
    "generation_tokens_per_s",
    "arrivals_per_s",
    "gateway_requests_per_s",
)


def judge(window: Window) -> Verdict:
    """Present if memory is high and compute low while there is traffic."""
    memory, compute = window["gpu_memory_used_ratio"], window["gpu_utilization_ratio"]
    traffic = [found for name in TRAFFIC if (found := window.fresh(name)) is not None]
    evidence = (
        memory.evidence(
            window.at, recent_mean(memory), "mean; it is always near the utilisation setting"
        ),
        compute.evidence(window.at, recent_mean(compute), "mean"),
    )
    held = holding(
        together(memory, compute),
        lambda used, busy: used >= MEMORY_HIGH_RATIO and busy < COMPUTE_LOW_RATIO,
    )
    if not held.holds:
        return Absent(
            f"GPU memory {recent_mean(memory):.0%}, GPU utilisation {recent_mean(compute):.0%}",
            evidence,
        )
    if traffic and all(found.high <= 0 for found in traffic):
        return Absent(
            "GPU memory is high and compute low, and there is no traffic: an idle vLLM "
            "looks like this",
            evidence,
        )
    because = (
        f"GPU memory {recent_mean(memory):.0%} with GPU utilisation "
        f"{recent_mean(compute):.0%}, {held.how}"
    )
    if not traffic:
        return Present(because + " (traffic was not measured)", evidence, 0.5)
    return Present(because, evidence, held.confidence)


SYMPTOM = Symptom(
    name="memory-high-compute-low",
    title="GPU memory high, compute low",
    judge=judge,
    needs=("gpu_memory_used_ratio", "gpu_utilization_ratio"),
)
