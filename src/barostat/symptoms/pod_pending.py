"""The pod cannot be scheduled.

Meaning: no node has what the pod asks for: a free GPU, memory, the right labels, or a volume in its
zone.

Impact: requested capacity is missing; the others carry its load.

Evidence: phase Pending with the scheduler's reason.

Not evidence: an image that is being pulled: then the pod has its node already.

Mitigation: read the reason: add GPU nodes or wait for the autoscaler, free cards, correct
nodeSelector, tolerations and requests.

Source: Pod condition PodScheduled=False, reason Unschedulable.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Evidence, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote

WHY_LENGTH = 160
"""The scheduler counts its reasons in one line, and the one about GPUs often comes last."""
LONG_S = 60.0
"""Scheduling takes seconds; after a minute there is no node, and a new one takes minutes."""


def judge(window: Window) -> Verdict:
    """Present if the pod is pending."""
    pending, pending_s = window["pod_pending"], window.fresh("pod_pending_s")
    evidence: tuple[Evidence, ...] = (pending.evidence(window.at),)
    if pending.last <= 0:
        return Absent("the pod has a node", evidence)
    because = "no node takes the pod"
    if pending_s is not None:
        evidence += (pending_s.evidence(window.at),)
        because += f", for {pending_s.last:.0f} s"
    if pending.detail:
        because += f": {quote(pending.detail, WHY_LENGTH)}"
    return Present(
        because, evidence, 0.7 if pending_s is not None and pending_s.last < LONG_S else 0.95
    )


SYMPTOM = Symptom(
    name="pod-pending", title="the pod waits for a node", judge=judge, needs=("pod_pending",)
)
