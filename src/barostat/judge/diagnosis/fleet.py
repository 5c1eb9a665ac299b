"""From replicas to the fleet: how far a cause reaches, and the one diagnosis for the whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from barostat.core.diagnosis import Diagnosis, ReplicaReport, Scope

SEVERITIES = ("none", "info", "warning", "critical")


def badness(diagnosis: Diagnosis) -> tuple[int, float]:
    """Orders diagnoses by severity, then by confidence."""
    return SEVERITIES.index(diagnosis.severity), diagnosis.confidence


def scope_of(cause: str, replicas: tuple[ReplicaReport, ...]) -> Scope:
    """How far a cause reaches: one replica of several, some, or all of them."""
    count = sum(1 for replica in replicas if replica.diagnosis.cause == cause)
    if count == len(replicas):
        return "fleet"
    return "replica" if count <= 1 else "some"


def with_scope(replicas: tuple[ReplicaReport, ...]) -> tuple[ReplicaReport, ...]:
    """The same reports, each diagnosis with its scope."""
    if len(replicas) < 2:
        return replicas
    return tuple(
        replace(
            replica,
            diagnosis=replace(replica.diagnosis, scope=scope_of(replica.diagnosis.cause, replicas)),
        )
        for replica in replicas
    )


def fleet(replicas: tuple[ReplicaReport, ...]) -> Diagnosis:
    """The worst diagnosis, said for all replicas together; of healthy ones a fleet is busy where
    any of them is.
    """
    if not replicas:
        return Diagnosis("unknown", "info", 0.0, "Cannot tell: there is no replica to look at.")
    found = [replica.diagnosis for replica in replicas]
    busy = any(one.cause == "healthy-busy" for one in found)
    worst = max((one for one in found if not (busy and one.cause == "healthy-idle")), key=badness)
    if len(replicas) == 1:
        return worst
    counts = Counter(replica.diagnosis.cause for replica in replicas)
    alike = [replica.name for replica in replicas if replica.diagnosis.cause == worst.cause]
    named = ", ".join(alike[:5]) + (f" and {len(alike) - 5} more" if len(alike) > 5 else "")
    mix = ", ".join(f"{count} {cause}" for cause, count in counts.most_common())
    scope = scope_of(worst.cause, replicas)
    where = (
        "every replica"
        if scope == "fleet"
        else f"{len(alike)} of {len(replicas)} replicas ({named})"
    )
    return replace(worst, scope=scope, summary=f"{worst.cause} on {where}. All replicas: {mix}.")
