"""The node has GPUs that it cannot hand out.

Meaning: the device plugin marked cards as unhealthy (capacity above allocatable), or a health
monitor set a bad GPU condition on the node.

Impact: pods that need those cards stay pending; the engine that used them is likely to be broken.

Evidence: node capacity against allocatable for nvidia.com/gpu or amd.com/gpu; conditions of GPU
health monitors.

Not evidence: cards that are merely in use: they stay allocatable.

Mitigation: look at the node's kernel log (Xid); hand the node to its owner.

Source: Node status.capacity and status.allocatable; device plugin health checks.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "node-unhealthy",
    "the node's GPUs are not all usable",
    ("node_gpu_unhealthy",),
    seen="the node has GPUs that it cannot hand out",
    none="all GPUs of the node can be handed out",
    confidence=0.9,
)
