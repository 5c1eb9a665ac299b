"""The GPU ran out of memory at a moment that the log at hand does not tell, or in the life before
this one.

Meaning: an out-of-memory line without the lines around it that say whether the engine was loading,
capturing or serving; or one in the log before the restart (its detail may quote the phase).

Impact: the engine died.

Evidence: the line itself, with the size that was asked for.

Not evidence: the phase: do not choose a lever before it is known.

Mitigation: get the whole log of that life (kubectl logs --previous) and read what came before the
line. Then gpu-oom-startup, gpu-oom-graph-capture or gpu-oom-serving.

Source: PyTorch OutOfMemoryError; kubectl logs --previous.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "gpu-oom-anytime",
    "GPU out of memory, moment unknown",
    ("log_gpu_oom", "previous_log_gpu_oom"),
    seen="GPU out of memory",
    none="no out-of-memory line of unknown time",
    confidence=0.85,
)
