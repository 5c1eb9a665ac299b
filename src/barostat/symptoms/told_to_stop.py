"""The engine's last life ended because it was told to stop.

Meaning: somebody sent SIGTERM: a rollout, a scale-in, an eviction, a drain, or a kubelet whose
liveness probe had failed.

Impact: requests in flight were aborted unless a shutdown timeout was set (0.18 on).

Evidence: the shutdown line at the end of the previous log.

Not evidence: of a crash. Of memory.

Mitigation: find who sent it (events, rollout, autoscaler). Give in-flight requests time:
--shutdown-timeout, a preStop sleep and a longer terminationGracePeriodSeconds.

Source: vLLM 0.18 on, EngineCore shutdown modes; Kubernetes pod termination.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted

LINES = ("previous_log_shutdown",)


def judge(window: Window) -> Verdict:
    """Present if the log before the restart ends in a requested shutdown."""
    return counted(
        window,
        LINES,
        seen="the last life ended on request (SIGTERM)",
        none="the last life did not end on request",
        confidence=0.9,
    )


SYMPTOM = Symptom(
    name="told-to-stop", title="the engine was told to stop", judge=judge, needs=LINES
)
