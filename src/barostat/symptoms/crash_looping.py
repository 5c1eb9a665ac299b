"""The container keeps crashing, and Kubernetes waits longer before each restart.

Meaning: the container is in CrashLoopBackOff: it ends soon after each start.

Impact: the replica does not serve; the pause between tries grows to five minutes.

Evidence: state.waiting.reason CrashLoopBackOff, restart count, last exit code.

Not evidence: of the reason: it is in the log before the restart.

Mitigation: kubectl logs --previous; then the symptom that names the error. If a deploy brought it:
roll back.

Source: Pod status.containerStatuses[].state.waiting.
"""

from __future__ import annotations

from barostat.core.symptom import Harm
from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "crash-looping",
    "the container crash-loops",
    ("pod_crash_looping",),
    seen="the container crash-loops",
    none="the container does not crash-loop",
    harm=Harm.DEATH,
)
