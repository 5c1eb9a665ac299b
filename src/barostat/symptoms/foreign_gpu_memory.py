"""Processes other than this engine hold memory on its GPU.

Meaning: the card is shared, by intent or because an old process did not end.

Impact: the start-up check of free memory fails, profiling goes wrong, or a pool sized for the whole
card runs into the other's growth.

Evidence: the vendor tool's process list without this engine's own processes.

Not evidence: the engine's own workers and graphs. Process ids of another container, which the tool
may not be able to name.

Mitigation: end the other process, or place the two apart; where sharing is meant, set
--gpu-memory-utilization of each to its share (from 0.9 on it counts per engine).

Source: nvidia-smi compute apps, amd-smi process; vLLM "Error in memory profiling" when another
process's use changes during start.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote

NOTABLE_BYTES = 1 << 30
"""Displays and monitoring agents hold some hundred MiB; from 1 GiB on it is another workload."""


def judge(window: Window) -> Verdict:
    """Present if others hold a GiB or more."""
    foreign, total = window["gpu_foreign_memory_bytes"], window.fresh("gpu_memory_total_bytes")
    evidence = (foreign.evidence(window.at),)
    gib = foreign.last / (1 << 30)
    if foreign.last < NOTABLE_BYTES:
        return Absent(f"others hold {gib:.2f} GiB of the card", evidence)
    of = f" of {total.last / (1 << 30):.0f}" if total is not None else ""
    whose = f": {quote(foreign.detail)}" if foreign.detail else ""
    return Present(f"others hold {gib:.1f}{of} GiB of the card{whose}", evidence, 0.9)


SYMPTOM = Symptom(
    name="foreign-gpu-memory",
    title="others hold memory on the GPU",
    judge=judge,
    needs=("gpu_foreign_memory_bytes",),
)
