"""The autoscaler would add replicas and may not.

Meaning: desired replicas are capped by maxReplicas (condition ScalingLimited).

Impact: load that grows further is not answered with capacity.

Evidence: hpa_at_max, with the condition's text.

Not evidence: that more replicas would help: a broken replica or a wrong metric can drive an
autoscaler to its maximum.

Mitigation: raise maxReplicas if there are cards for it; else shed or spread the load.

Source: HPA condition ScalingLimited, reason TooManyReplicas.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted


def judge(window: Window) -> Verdict:
    """Present if the autoscaler wants more than its maximum."""
    return counted(
        window,
        ("hpa_at_max",),
        seen="the autoscaler is at its maximum",
        none="the autoscaler has room",
    )


SYMPTOM = Symptom(
    name="hpa-at-max", title="the autoscaler is at its maximum", judge=judge, needs=("hpa_at_max",)
)
