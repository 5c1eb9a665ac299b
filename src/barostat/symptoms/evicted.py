"""The pod was evicted, or its node ran short of memory or disk.

Meaning: the kubelet ended the pod to save the node: memory, disk or process ids ran short; or the
pod wrote more than its own limit of disk or of an emptyDir allows.

Impact: requests in flight are lost; the pod is not restarted in place.

Evidence: status.reason Evicted with its message; eviction events.

Not evidence: OOMKilled: there the container's own limit was passed, the node may have had room. GPU
memory: the kubelet does not know it.

Mitigation: set memory requests equal to limits, mind /dev/shm, model downloads and logs on
ephemeral storage; find out who filled the node.

Source: kubelet node-pressure eviction.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "evicted",
    "the pod was evicted",
    ("pod_evicted",),
    seen="the pod was evicted",
    none="no eviction",
)
