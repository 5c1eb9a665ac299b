"""The GPU itself is the limit: it computes all the time, for a batch worth computing.

Meaning: utilisation at 0.9 or more (or the card at its power cap) in most readings, with requests
running in a real batch, steps following one another and the KV pool not at its ceiling.

Impact: inter-token latency grows with the batch; throughput no longer grows with load.

Evidence: gpu_utilization_ratio held high; power cap; batch and token throughput; requests waiting
or running.

Not evidence: high utilisation with no tokens (a collective that spins: tokens-stalled). High
utilisation with a full pool and preemptions: part of it is work done twice. Utilisation is the
share of time with *any* kernel running, not how full the card is.

Mitigation: more replicas or a faster card; quantised weights; fewer completions per request (n,
logprobs). Fewer concurrent requests trade throughput for latency. Not more KV memory.

Source: NVML utilisation (nvidia-smi, DCGM_FI_DEV_GPU_UTIL), amd-smi gfx activity; clocks event
reason "SW power cap" is normal under load.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import holding, recent_mean, together
from barostat.symptoms._lines import plural
from barostat.symptoms._pool import PINNED_RATIO

BUSY_RATIO = 0.9
REAL_BATCH = 4
"""A batch smaller than this keeps a card "utilised" while most of it idles."""


def judge(window: Window) -> Verdict:
    """Present if the card is busy for a real batch and the pool is not the limit."""
    compute = window["gpu_utilization_ratio"]
    evidence = [compute.evidence(window.at, recent_mean(compute), "mean")]
    others = (
        "gpu_throttle_power_cap",
        "running_requests",
        "kv_usage_ratio",
        "generation_tokens_per_s",
        "prompt_tokens_per_s",
    )
    seen = {name: signal for name in others if (signal := window.fresh(name)) is not None}
    evidence += [signal.evidence(window.at) for signal in seen.values()]
    held = holding(together(compute), lambda busy: busy >= BUSY_RATIO)
    if not held.holds:
        return Absent(
            f"the GPU has slack: utilisation {recent_mean(compute):.0%} on average", tuple(evidence)
        )
    running, usage = seen.get("running_requests"), seen.get("kv_usage_ratio")
    flows = [
        seen[name] for name in ("generation_tokens_per_s", "prompt_tokens_per_s") if name in seen
    ]
    if flows and all(flow.high <= 0 for flow in flows):
        return Absent(
            "the GPU is busy and no token comes out: it spins rather than computes", tuple(evidence)
        )
    if running is not None and recent_mean(running) < REAL_BATCH:
        return Absent(
            f"the GPU is busy for only {plural(running.last, 'running request')}: no batch "
            "to speak of",
            tuple(evidence),
        )
    if usage is not None and recent_mean(usage) >= PINNED_RATIO:
        return Absent(
            f"the KV pool is full ({recent_mean(usage):.0%}): it limits the engine before "
            "the GPU does",
            tuple(evidence),
        )
    because = f"GPU utilisation {recent_mean(compute):.0%}, {held.how}"
    cap = seen.get("gpu_throttle_power_cap")
    if cap is not None and cap.last > 0:
        because += ", at its power cap"
    if running is None:
        return Present(because + " (the batch was not measured)", tuple(evidence), 0.5)
    return Present(
        f"{because}, with {running.last:.0f} requests running", tuple(evidence), held.confidence
    )


SYMPTOM = Symptom(
    name="compute-saturated",
    title="GPU compute is the limit",
    judge=judge,
    needs=("gpu_utilization_ratio",),
    harm=Harm.OF_THE_ENGINE,
)
