"""What changed before the harm: a deploy, the traffic's shape, fewer replicas, the node."""

from __future__ import annotations

from barostat.core.diagnosis import NOTHING_WRONG, CauseName, Trigger, TriggerKind
from barostat.judge.diagnosis.case import Case

# Symptom -> trigger; a change that a person made explains more than a change of traffic.
ORDER: tuple[tuple[str, TriggerKind], ...] = (
    ("recent-rollout", "deploy"),
    ("recent-scale-in", "scale-in"),
    ("longer-prompts", "longer-prompts"),
    ("longer-outputs", "longer-outputs"),
    ("long-streams", "longer-outputs"),
    ("arrival-burst", "burst"),
    ("concurrency-up", "more-concurrency"),
)
LOAD: tuple[CauseName, ...] = (
    "kv-preemption-thrash",
    "kv-admission-queueing",
    "slot-bound",
    "prefill-bound",
    "compute-bound",
    "host-bound",
    "network-or-gateway",
    "scaling-lag",
)


def trigger(case: Case, cause: CauseName) -> Trigger | None:
    """The likeliest trigger of this cause, or None if nothing that was measured changed."""
    if cause in NOTHING_WRONG:
        return None
    if cause == "node-fault":
        return Trigger(
            "node",
            case.because(
                *case.present("gpu-ecc", "gpu-xid", "gpu-lost", "gpu-throttled", "node-unhealthy")[
                    :1
                ]
            ),
        )
    for symptom, kind in ORDER:
        if case.present(symptom) and (kind == "deploy" or cause in LOAD):
            return Trigger(kind, case.because(symptom))
    return None
