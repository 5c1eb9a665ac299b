"""The container is close to its memory limit.

Meaning: the memory cgroup is almost used up.

Impact: one more large request, download or leak and the kernel kills the engine (oom-killed).

Evidence: memory in use against the limit, and whether it grows.

Not evidence: page cache of model files, where the number counts it: the kernel gives that back.

Mitigation: raise the limit, or shrink the KV offload tier, multimodal caches and /dev/shm.

Source: cgroup memory.current and memory.max.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window

NEAR_RATIO = 0.9


def judge(window: Window) -> Verdict:
    """Present if nine tenths of the limit are in use."""
    used, limit = window["host_memory_bytes"], window["host_memory_limit_bytes"]
    evidence = (used.evidence(window.at), limit.evidence(window.at))
    ratio = used.last / limit.last if limit.last > 0 else 0.0
    if ratio < NEAR_RATIO:
        return Absent(f"host memory at {ratio:.0%} of the limit", evidence)
    grows = used.last > used.first
    because = (
        f"host memory at {ratio:.0%} of {limit.last / (1 << 30):.0f} "
        f"GiB{', and growing' if grows else ''}"
    )
    return Present(because, evidence, 0.9 if ratio >= 0.95 or grows else 0.7)


SYMPTOM = Symptom(
    name="host-memory-high",
    title="host memory near its limit",
    judge=judge,
    needs=("host_memory_bytes", "host_memory_limit_bytes"),
)
