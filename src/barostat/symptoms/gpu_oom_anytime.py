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

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted

LINES = ("log_gpu_oom", "previous_log_gpu_oom")


def judge(window: Window) -> Verdict:
    """Present if an out-of-memory line is there without its phase."""
    return counted(
        window,
        LINES,
        seen="GPU out of memory",
        none="no out-of-memory line without its moment",
        confidence=0.85,
    )


SYMPTOM = Symptom(
    name="gpu-oom-anytime", title="GPU out of memory, moment unknown", judge=judge, needs_any=LINES
)
