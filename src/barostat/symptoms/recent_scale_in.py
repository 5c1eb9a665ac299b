"""Replicas were taken away not long ago.

Meaning: the autoscaler or a person reduced the number of replicas; those that stay carry more, with
colder prefix caches.

Impact: more concurrency and fewer prefix hits per replica at the same traffic.

Evidence: time since the number of replicas went down.

Not evidence: a rolling update: there the number comes back.

Mitigation: scale out again and slow the scale-in down (stabilizationWindowSeconds).

Source: HPA events SuccessfulRescale, ReplicaSet scaling events.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote

RECENT_S = 1800.0
"""Half an hour: the load of the replicas that went has reached the others by then."""


def judge(window: Window) -> Verdict:
    """Present if replicas were taken away within the last half hour."""
    age = window["scale_in_age_s"]
    evidence = (age.evidence(window.at),)
    if age.last > RECENT_S:
        return Absent(f"the last scale-in is {age.last / 60:.0f} min ago", evidence)
    detail = f": {quote(age.detail)}" if age.detail else ""
    return Present(f"replicas were taken away {age.last / 60:.0f} min ago{detail}", evidence, 0.95)


SYMPTOM = Symptom(
    name="recent-scale-in",
    title="replicas were taken away lately",
    judge=judge,
    needs=("scale_in_age_s",),
)
