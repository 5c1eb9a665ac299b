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

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "hpa-at-max",
    "the autoscaler is at its maximum",
    ("hpa_at_max",),
    seen="the autoscaler is at its maximum",
    none="the autoscaler has room",
)
