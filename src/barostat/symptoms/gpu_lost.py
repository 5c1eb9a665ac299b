"""A card does not answer any more.

Meaning: the vendor tool shows the card as lost or answers N/A for everything, or the driver reports
a firmware (GSP) time-out or a card fallen off the bus.

Impact: the engine on it hangs or dies; a restart on the same node does not help.

Evidence: gpu_lost, the driver's lines in the kernel log.

Not evidence: a vendor tool that is not installed. NV_ERR_NO_MEMORY lines, which healthy starts show
too.

Mitigation: drain the node and hand it to its owner: reset the card, reboot, replace.

Source: NVML "GPU is lost", Xid 79, 119, 154; amd-smi; driver lines of the GSP heartbeat.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "gpu-lost",
    "a GPU does not answer",
    ("gpu_lost", "kernel_gpu_error"),
    seen="a GPU does not answer",
    none="all GPUs answer",
)
