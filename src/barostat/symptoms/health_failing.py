"""The server itself says that its engine is dead.

Meaning: /health answers 503 once the core process has died, or does not answer at all.

Impact: Kubernetes takes the pod out of the service and restarts it.

Evidence: health_ok 0.

Not evidence: 200 is no sign of progress: a stopped or hung core still answers 200.

Mitigation: read why the core ended (engine-died) before the log is gone.

Source: vLLM GET /health (AsyncLLM.check_health), 0.8 to 0.33.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window


def judge(window: Window) -> Verdict:
    """Present if /health did not answer 200."""
    health = window["health_ok"]
    evidence = (health.evidence(window.at),)
    if health.last >= 1:
        return Absent("/health answers 200 (which does not say that tokens flow)", evidence)
    failed = sum(1 for value in health.values if value < 1)
    return Present("/health does not answer 200", evidence, 0.95 if failed > 1 else 0.75)


SYMPTOM = Symptom(
    name="health-failing",
    title="/health does not answer 200",
    judge=judge,
    needs=("health_ok",),
    harm=Harm.DEATH | Harm.UNHEALTHY,
)
