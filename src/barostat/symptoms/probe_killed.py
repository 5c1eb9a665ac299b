"""A liveness or startup probe fails and the kubelet ends the container for it.

Meaning: loading weights, compiling and capturing take minutes; a probe that gives up earlier kills
a container that was well. Under load a probe with a short time-out kills an engine that was merely
busy.

Impact: the replica never gets up, or is lost exactly when it is needed most.

Evidence: "Killing ... failed liveness probe" or startup probe events; exit code 137 or 143 with
them.

Not evidence: a readiness probe that fails while starting: that is its purpose. OOMKilled.

Mitigation: give a startupProbe with failureThreshold x periodSeconds above the slowest start;
liveness on /health with timeoutSeconds of 5 or more; readiness on the same path.

Source: kubelet events Unhealthy and Killing; vLLM answers /health only after initialisation.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import found, looked_at, quote, times

KILLS = ("pod_probe_kills",)
FAILURES = ("pod_probe_failures",)


def judge(window: Window) -> Verdict:
    """Present if a restart was caused by a probe, or probes fail while the container keeps being
    restarted.
    """
    evidence = tuple(
        signal.evidence(window.at)
        for signal in looked_at(window, (*KILLS, *FAILURES, "pod_restarts"))
    )
    if kills := found(window, KILLS):
        detail = f": {quote(kills[0].detail)}" if kills[0].detail else ""
        return Present(
            f"a failed probe ended the container{times(kills[0].last)}{detail}", evidence
        )
    failures, restarted = found(window, FAILURES), found(window, ("pod_restarts",))
    if failures and restarted and window.fresh("pod_probe_kills") is None:
        return Present(
            f"probes fail{times(failures[0].last)} and the container is restarted", evidence, 0.6
        )
    if failures:
        return Absent(
            f"probes fail{times(failures[0].last)}, and no restart was caused by it", evidence
        )
    return Absent("no probe fails", evidence)


SYMPTOM = Symptom(
    name="probe-killed",
    title="a failed probe restarts the container",
    judge=judge,
    needs_any=(*KILLS, *FAILURES),
)
