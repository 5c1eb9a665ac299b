"""Shared memory between the engine's processes is too small.

Meaning: several workers exchange data through /dev/shm, and a container gets 64 MiB of it by
default.

Impact: multi-card engines fail at start, or hang in the first collective.

Evidence: "No space left on device" on /dev/shm, bus errors, NCCL's shared-memory errors, a missing
segment.

Not evidence: host memory at its limit (oom-killed), although /dev/shm counts against that limit
once it is larger.

Mitigation: mount an emptyDir with medium: Memory at /dev/shm (sizeLimit of a few GiB), or docker
--shm-size / --ipc=host; raise the pod's memory limit by as much.

Source: Kubernetes emptyDir; NCCL shm transport; vLLM deployment guide for Kubernetes.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "shm-too-small",
    "/dev/shm is too small",
    ("log_shm_too_small",),
    seen="/dev/shm is too small",
    none="no complaint about shared memory",
)
