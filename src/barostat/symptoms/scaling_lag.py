"""Fewer replicas are ready than are wanted.

Meaning: capacity was requested and is not available yet: pods without a node, images being pulled,
engines starting.

Impact: the ready replicas carry the whole load; they look overloaded and are merely too few.

Evidence: replicas wanted against ready, the autoscaler's desired against current, unschedulable
pods.

Not evidence: a rolling update that keeps the number of ready pods up. An autoscaler at its maximum:
hpa-at-max.

Mitigation: shed load until they are up; see pod-pending and cold-start for what holds each. Scale
earlier: on queue length or time to first token.

Source: Deployment status, HPA status.desiredReplicas, Pod conditions.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import found, looked_at, plural, quote

NEEDS_ANY = ("hpa_lagging", "replicas_wanted", "pods_unschedulable")


def judge(window: Window) -> Verdict:
    """Present if the autoscaler or the workload wants more replicas than are ready."""
    names = (*NEEDS_ANY, "replicas_ready")
    evidence = tuple(signal.evidence(window.at) for signal in looked_at(window, names))
    wanted, ready, stuck = (
        window.fresh("replicas_wanted"),
        window.fresh("replicas_ready"),
        found(window, ("pods_unschedulable",)),
    )
    without_node = f", {stuck[0].last:.0f} without a node" if stuck else ""
    if wanted is not None and ready is not None and ready.last < wanted.last:
        return Present(
            f"{ready.last:.0f} of {wanted.last:.0f} replicas are ready{without_node}", evidence, 0.9
        )
    if lagging := found(window, ("hpa_lagging",)):
        detail = f": {quote(lagging[0].detail)}" if lagging[0].detail else ""
        return Present(
            f"the autoscaler wants more replicas than are ready{detail}{without_node}",
            evidence,
            0.9,
        )
    if stuck:
        return Present(
            f"{plural(stuck[0].last, 'pod')} of the workload without a node", evidence, 0.85
        )
    if wanted is not None and ready is None and len(looked_at(window, NEEDS_ANY)) == 1:
        return Unknown("how many replicas are ready was not measured", ("replicas_ready",))
    return Absent("every replica that is wanted is ready", evidence)


SYMPTOM = Symptom(
    name="scaling-lag", title="replicas are missing", judge=judge, needs_any=NEEDS_ANY
)
