"""An alert on GPU memory, which is always high.

Meaning: vLLM takes its share of the card's memory at the start and keeps it: 90 % at zero traffic,
90 % in a collapse.
Impact: the alert fires from the first minute and says nothing; KV pressure shows in requests that
wait for capacity and in preemptions.

Bad:

    groups: [{name: vllm, rules: [{alert: VllmGpuMemoryHigh,
      expr: "DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE) > 0.9"},
      {alert: W, expr: "vllm:num_requests_waiting > 10"}]}]

Good:

    groups: [{name: vllm, rules: [{alert: VllmWaiting, expr:
    "vllm:num_requests_waiting_by_reason{reason=\\"capacity\\"} > 0"}]}]

Fix: `vllm:num_requests_waiting_by_reason{reason="capacity"} > 0` for some minutes, and the rate of
`vllm:num_preemptions_total`.
Source: vLLM 0.32.0 v1/worker/gpu_worker.py; the guide's page on prevention.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog import metric_names as names
from barostat.lint.facts import Scene
from barostat.lint.promql import compared
from barostat.lint.rule import Found, Rule

_MEMORY = (
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_FB_FREE",
    "nvidia_gpu_memory_used",
    "nvidia_smi_memory_used",
    "DCGM_FI_DEV_FB_USED_PERCENT",
    "gpu_memory_used",
    "amd_gpu_used_vram",
)


def judge(scene: Scene) -> Iterator[Found]:
    """Every alert on used memory in a file that watches vLLM."""
    ours = {
        query.place.file
        for query in scene.queries
        if "vllm" in (query.expression + query.name).lower()
    }
    for query in scene.queries:
        end = compared(query.expression)
        if (
            query.what != "alert"
            or query.place.file not in ours
            or end is None
            or "vllm:" in query.expression
        ):
            continue
        share = end.operator in (">", ">=") and end.number <= 100
        if share and any(name in query.expression for name in _MEMORY):
            yield Found(query.place, f"{query.name}: vLLM holds its share of the card's memory from its start on: this is always true",
                        f"{names.WAITING_FOR_CAPACITY} > 0")  # fmt: skip


RULE = Rule("gpu-memory-alert", "an alert on GPU memory, which is always high", judge, "warning")
