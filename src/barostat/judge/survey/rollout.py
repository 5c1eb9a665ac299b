"""Whether a workload would keep serving through its next rollout, from the object and the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from barostat.platform.objects import Object, text
from barostat.platform.placing import Used, placeable_beside
from barostat.platform.workloads import WorkloadKind

Outcome = Literal["serves", "outage", "stuck", "unknown"]
"""serves: replicas stay in rotation. outage: none is left while the next one loads. stuck: the new
replica finds no node and the rollout does not end.
"""


@dataclass(frozen=True, slots=True)
class Rollout:
    """Effect of a workload's next rollout, with reasons."""

    outcome: Outcome
    because: str


@dataclass(frozen=True, slots=True)
class Room:
    """Every node of the cluster, and what all pods request of them."""

    nodes: Sequence[Object]
    used: Used


NOT_READ = Rollout("unknown", "its workload could not be read")


def rollout(kind: WorkloadKind, item: Object, room: Room | None) -> Rollout:
    """Predict the rollout after a change of the workload's template. `room`: None if not every node
    and pod could be read.

    Source: Kubernetes Deployment and StatefulSet strategies (defaults and rounding);
    `platform/workloads` for other kinds.
    """
    replicas, surge = kind.replicas(item), kind.surge(item)
    if replicas == 0:
        return Rollout("serves", "scaled to zero")
    if text(item, "spec", "strategy", "type") == "Recreate":
        return Rollout("outage", "Recreate stops every replica before a new one loads")
    if surge == 0:
        if replicas == 1:
            return Rollout("outage", "the only replica stops before the next one loads")
        return Rollout("serves", f"replaces one of {replicas} replicas at a time")
    gpus = surge * kind.unit_gpus(item)
    needed = f"{gpus} more {'GPU' if gpus == 1 else 'GPUs'}" if gpus else "one more pod"
    if room is None:
        return Rollout("unknown", f"needs {needed}; not every node and pod could be read")
    fits, why = placeable_beside(kind.unit_templates(item) * surge, room.nodes, room.used)
    return (
        Rollout("serves", f"starts the new replica first; there is room for {needed}")
        if fits
        else Rollout("stuck", f"needs {needed}: {why}")
    )
