"""The container ends again and again, and Kubernetes waits longer each time before it tries anew.

Meaning: the container is in CrashLoopBackOff: it ends soon after each start.

Impact: the replica does not serve; the pause between tries grows to five minutes.

Evidence: state.waiting.reason CrashLoopBackOff, restart count, last exit code.

Not evidence: of the reason: it is in the log before the restart.

Mitigation: kubectl logs --previous; then the symptom that names the error. If a deploy brought it:
roll back.

Source: Pod status.containerStatuses[].state.waiting.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted

LINES = ("pod_crash_looping",)


def judge(window: Window) -> Verdict:
    """Present if the container waits in CrashLoopBackOff."""
    return counted(
        window, LINES, seen="the container crash-loops", none="the container does not crash-loop"
    )


SYMPTOM = Symptom(name="crash-looping", title="the container crash-loops", judge=judge, needs=LINES)
