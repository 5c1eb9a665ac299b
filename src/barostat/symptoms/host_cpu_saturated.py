"""The container uses all the CPU that it may.

Meaning: all processes of the container together are at its CPU limit.

Impact: API server, engine core and workers take turns; the card waits for whoever is late.

Evidence: cpu_usage_cores at 0.9 of cpu_limit_cores or more.

Not evidence: a CPU engine: there the CPU is the device. One process at one core with others idle
(api-server-saturated).

Mitigation: raise the CPU limit; fewer threads (OMP_NUM_THREADS); move preprocessing elsewhere.

Source: cgroup cpu.stat and cpu.max; kubelet metrics.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import holding, recent_mean, together

FULL_RATIO = 0.9
ENGINE_SHARE = 0.7
"""Most of the CPU is used by the engine core and its worker: on a CPU engine that is the model's
own computation.
"""


def judge(window: Window) -> Verdict:
    """Present if CPU use is at the limit and is not the model's own computation."""
    used, limit = window["cpu_usage_cores"], window["cpu_limit_cores"]
    evidence = (used.evidence(window.at, recent_mean(used), "mean"), limit.evidence(window.at))
    held = holding(together(used), lambda cores: cores >= FULL_RATIO * limit.last)
    if limit.last <= 0 or not held.holds:
        return Absent(f"{recent_mean(used):.1f} of {limit.last:g} cores in use", evidence)
    engine = sum(
        found.mean
        for name in ("engine_core_cpu_cores", "worker_cpu_cores")
        if (found := window.fresh(name)) is not None
    )
    card = window.fresh("gpu_utilization_ratio") or window.fresh("gpu_count")
    if card is None and engine >= ENGINE_SHARE * used.mean:
        why = (
            f"{engine:.1f} of {used.mean:.1f} cores are the engine's own: on a CPU engine that "
            "is the model, and no GPU was seen"
        )
        return Unknown(why, ("gpu_utilization_ratio",))
    return Present(
        f"{recent_mean(used):.1f} of {limit.last:g} cores in use, {held.how}",
        evidence,
        min(held.confidence, 0.85),
    )


SYMPTOM = Symptom(
    name="host-cpu-saturated",
    title="the container uses all its CPU",
    judge=judge,
    needs=("cpu_usage_cores", "cpu_limit_cores"),
)
