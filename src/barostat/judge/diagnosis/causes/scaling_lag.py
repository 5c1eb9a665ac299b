"""Requested capacity is not available yet: pods wait for a GPU or load their model.

Meaning: the autoscaler or a person wants more replicas than are Ready. A pending pod waits for a
node; a starting one loads weights for minutes.

Impact: the replicas that serve carry the load of those that do not yet.

Evidence: Pending with the scheduler's reason; a container that runs and is not Ready, its log still
before `Application startup complete`; wanted above Ready in the autoscaler's status.

Not evidence: a pod that is not Ready because it crashed (that has its own cause) or because a probe
is too strict.

Mitigation: wait, with the edge capped so that the serving replicas survive it; free or add a GPU;
raise the autoscaler's minimum before the peak; keep the model on a fast volume.

Source: Kubernetes 1.34 pod conditions, HorizontalPodAutoscaler v2 status.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open

DIED = (
    "crash-looping",
    "engine-died",
    "oom-killed",
    "probe-killed",
    "image-or-container-error",
    "unknown-argument",
    "invalid-config",
    "model-not-found",
)


def judge(case: Case) -> Judgement:
    """Claim if the replica is pending or starting and has not failed."""
    if case.present("pod-pending"):
        return Claim(
            confidence=case.confidence("pod-pending") * 0.95,
            severity="warning",
            summary=f"The pod is not scheduled yet: {case.because('pod-pending')}.",
            rests_on=("pod-pending", *case.present("scaling-lag", "hpa-at-max")),
            variant="pending",
        )
    if case.present("cold-start") and not case.present(*DIED):
        return Claim(
            confidence=case.confidence("cold-start") * 0.9,
            severity="info",
            summary=f"The replica is still starting: {case.because('cold-start')}.",
            rests_on=("cold-start", *case.present("scaling-lag", "hpa-at-max")),
            variant="cold-start",
        )
    if lacking := case.present("scaling-lag", "hpa-at-max"):
        return Claim(
            confidence=case.confidence(*lacking) * 0.9,
            severity="warning",
            summary=f"Replicas are missing beside this one: {case.because(lacking[0])}.",
            rests_on=lacking,
            variant="pending",
            only_contributes=True,
        )
    if case.absent("pod-pending", "cold-start"):
        return Cleared(case.because("pod-pending", "cold-start"))
    if case.present("engine-busy", "engine-idle"):
        return Cleared("the replica is up and answers")
    return Open("the pod's status was not given", case.missing("pod-pending", "cold-start"))


CAUSE = Cause("scaling-lag", "Requested capacity is not available yet", 25, judge)
