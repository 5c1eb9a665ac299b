"""The node is not Ready, or it is short of memory, disk or process ids.

Meaning: the kubelet reports a bad condition, or does not report at all.

Impact: pods on it may be evicted or are unreachable; new ones go elsewhere.

Evidence: the node's conditions: Ready is not True; MemoryPressure, DiskPressure or PIDPressure is
True.

Not evidence: a cordoned node that is otherwise Ready.

Mitigation: leave the node to its owner; make sure that the workload has room elsewhere.

Source: Node status.conditions.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "node-not-ready",
    "the node is not Ready or under pressure",
    ("node_not_ready",),
    seen="the node is not well",
    none="the node is Ready",
)
