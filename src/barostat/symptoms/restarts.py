"""The engine's container has been restarted.

Meaning: Kubernetes counts restarts of this container. The current log only knows the present life;
what ended the last one is in the previous log and in the container's last state.

Impact: each restart loses what ran and waited, the prefix cache, and minutes of loading and graph
capture.

Evidence: pod_restarts, with the last exit code; stronger where the count grew within the window.

Not evidence: a restart from weeks ago. A low uptime after a rollout: new pods start at 0.

Mitigation: read the cause first (exit code 137 is the host's memory or a kill, 1 mostly a Python
error, 2 a refused argument, 139 a crash in native code). Restarting by hand only hides it.

Source: Pod status.containerStatuses[].restartCount, lastState.terminated.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Evidence, Present, Verdict
from barostat.core.window import Window


def judge(window: Window) -> Verdict:
    """Present if the container was restarted at least once."""
    restarts, code = window["pod_restarts"], window.fresh("pod_last_exit_code")
    evidence: tuple[Evidence, ...] = (restarts.evidence(window.at),)
    if restarts.last <= 0:
        return Absent("the container was not restarted, or long ago", evidence)
    because = (
        f"the container has been restarted {restarts.last:.0f} "
        f"time{'s' if restarts.last > 1 else ''}"
    )
    if code is not None:
        evidence += (code.evidence(window.at),)
        because += f", last exit code {code.last:.0f}"
    if restarts.last > restarts.first:
        return Present(because + ", within this window", evidence, 1.0)
    return Present(because, evidence, 0.9 if restarts.last > 1 else 0.7)


SYMPTOM = Symptom(
    name="restarts",
    title="the container was restarted",
    judge=judge,
    needs=("pod_restarts",),
    harm=Harm.PLAIN,
)
