"""The engine's last run ended because it was asked to stop.

Meaning: SIGTERM was sent from outside: a rollout, a scale-in, an eviction, a drain, or a kubelet
whose liveness probe had failed.

Impact: requests in flight were aborted unless a shutdown timeout was set (0.18 on).

Evidence: the shutdown line at the end of the previous log.

Not evidence: of a crash. Of memory.

Mitigation: find who sent it (events, rollout, autoscaler). Give in-flight requests time:
--shutdown-timeout, a preStop sleep and a longer terminationGracePeriodSeconds.

Source: vLLM 0.18 on, EngineCore shutdown modes; Kubernetes pod termination.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "told-to-stop",
    "the engine was told to stop",
    ("previous_log_shutdown",),
    seen="the last life ended on request (SIGTERM)",
    none="the last life did not end on request",
    confidence=0.9,
)
