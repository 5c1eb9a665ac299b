"""A kernel failed on the GPU: illegal access, misaligned address, device-side assert.

Meaning: code on the card did something forbidden. Nearly always a fault of the engine, a kernel
library or the model's inputs.

Impact: the engine dies with everything in flight.

Evidence: "an illegal memory access was encountered", "device-side assert triggered", HSA memory
faults.

Not evidence: of broken hardware: only ECC counters, fatal Xid codes or the same failure on one node
only say that. Of memory running out.

Mitigation: another engine version, attention backend or --enforce-eager to find out;
CUDA_LAUNCH_BLOCKING=1 for the report. Keep the node unless its counters speak.

Source: CUDA errors 700, 710, 716; ROCm HSA_STATUS_ERROR; Xid 13 and 31 are the driver's side of the
same.
"""

from __future__ import annotations

from barostat.core.symptom import Harm
from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "gpu-program-error",
    "a GPU kernel failed",
    ("log_gpu_program_error",),
    seen="a GPU kernel failed",
    none="no failed kernel",
    confidence=0.9,
    harm=Harm.DEATH,
)
