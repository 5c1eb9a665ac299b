"""The engine's log says that the card failed: uncorrectable ECC, lost from the bus, fabric not
ready.

Meaning: the driver reported to the engine that the card or the link between cards is unusable.

Impact: the engine dies, and dies again on the same node.

Evidence: "uncorrectable ECC error encountered", "GPU is lost" or "fallen off the bus", CUDA error
802 (fabric not initialised).

Not evidence: "illegal memory access" or a device-side assert: those are programs' faults unless the
card's own counters say otherwise (gpu-program-error).

Mitigation: take the pod off the node and hand the node to its owner (cordon; reset or replace the
card). Tuning the engine does not help.

Source: CUDA runtime errors 214, 802; HIP equivalents; NVIDIA fabric manager.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "gpu-fault-in-log",
    "the engine reports a broken GPU",
    ("log_gpu_fault", "previous_log_gpu_fault"),
    seen="the GPU failed",
    none="no line about a failed GPU",
)
