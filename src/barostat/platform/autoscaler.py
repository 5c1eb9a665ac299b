"""The horizontal autoscaler: at its maximum, behind its own wish, and when replicas were last taken
away.

Source: autoscaling/v2 and v1 HorizontalPodAutoscaler; events SuccessfulRescale and
ScalingReplicaSet, Kubernetes 1.27 to 1.34.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from barostat.core.signal import Signal
from barostat.platform.events import Event
from barostat.platform.objects import (
    Object,
    ago,
    condition,
    count,
    fact,
    items,
    mapping,
    name_of,
    objects,
    quantity,
    text,
)
from barostat.platform.workload import Workload, ready_replicas

_SCALED_DOWN = re.compile(
    r"Scaled down replica set (\S+) (?:to (\d+) from (\d+)|from (\d+) to (\d+)|to (\d+))"
)
_V1_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"


def signals(documents: Mapping[str, Any], workload: Workload | None, at: float) -> list[Signal]:
    """Return hpa_at_max and hpa_lagging of the workload's autoscaler, if it has one."""
    found = _autoscaler(documents, workload)
    if found is None:
        return []
    source = f"HPA {name_of(found)}"
    desired, current = (
        count(found, "status", "desiredReplicas"),
        count(found, "status", "currentReplicas"),
    )
    most = count(found, "spec", "maxReplicas")
    limited = _condition(found, "ScalingLimited")
    notes = [
        f"{kind}: {text(entry, 'reason')} {text(entry, 'message')}"
        for kind in ("AbleToScale", "ScalingActive")
        if _is_false(entry := _condition(found, kind))
    ]
    made: list[Signal] = []
    if desired is not None and most is not None:
        wants_more = (
            text(limited, "reason") == "TooManyReplicas" if limited else _over_target(found)
        )
        at_max = desired >= most and wants_more
        detail = (
            f"wants {desired}, has {current}, maximum {most}; {text(limited, 'message')}"
            if at_max
            else ""
        )
        made += fact("hpa_at_max", float(at_max), at, source, detail)
    ready = ready_replicas(workload)
    have = ready if ready is not None else current
    if desired is not None and have is not None:
        words = [f"wants {desired}, ready {have}"] if desired > have else []
        made += fact("hpa_lagging", float(desired > have), at, source, "; ".join([*words, *notes]))
    return made


def _autoscaler(documents: Mapping[str, Any], workload: Workload | None) -> Object | None:
    known = items(documents.get("hpas"))
    if workload is None:
        return known[0] if len(known) == 1 else None
    for item in known:
        target = mapping(item, "spec", "scaleTargetRef")
        if text(target, "name") == workload.name and text(target, "kind") in ("", workload.kind):
            return item
    return None


def _condition(hpa: Object, kind: str) -> Object:
    """The condition; v1 keeps them as JSON in an annotation."""
    if found := condition(hpa, kind):
        return found
    written = text(hpa, "metadata", "annotations", _V1_CONDITIONS)
    try:
        entries = json.loads(written) if written else []
    except (ValueError, RecursionError):
        return {}
    return (
        next(
            (entry for entry in entries if isinstance(entry, dict) and entry.get("type") == kind),
            {},
        )
        if isinstance(entries, list)
        else {}
    )


def _is_false(entry: Object) -> bool:
    return entry.get("status") == "False"


def _over_target(hpa: Object) -> bool:
    """True if a metric is over its target: then an autoscaler at its maximum would go on."""
    percent = count(hpa, "status", "currentCPUUtilizationPercentage")
    wanted = count(hpa, "spec", "targetCPUUtilizationPercentage")
    if percent is not None and wanted is not None and percent > wanted:
        return True
    for want, have in zip(
        objects(hpa, "spec", "metrics"), objects(hpa, "status", "currentMetrics"), strict=False
    ):
        kind = next(
            (
                key
                for key in ("resource", "pods", "external", "object", "containerResource")
                if key in want and key in have
            ),
            "",
        )
        for name in ("averageUtilization", "averageValue", "value"):
            limit, seen = (
                quantity(mapping(want, kind, "target").get(name)),
                quantity(mapping(have, kind, "current").get(name)),
            )
            if limit is not None and seen is not None and seen > limit:
                return True
    return False


def scale_in_signals(
    events: Iterable[Event], workload: Workload | None, newest_set: str, at: float
) -> list[Signal]:
    """scale_in_age_s: since replicas were last taken away.

    `newest_set`: the ReplicaSet of the current revision. A rollout shrinks the older ones too, and
    that takes nothing away.
    """
    last: tuple[float, str] | None = None
    for event in events:
        if event.last_at is None or (
            workload is not None
            and event.name
            and event.name != workload.name
            and event.kind != "HorizontalPodAutoscaler"
        ):
            continue
        taken = False
        if event.reason == "ScalingReplicaSet" and (found := _SCALED_DOWN.search(event.message)):
            taken = bool(newest_set) and found[1] == newest_set
        elif event.reason == "SuccessfulRescale":
            taken = "below target" in event.message
        if taken and (last is None or event.last_at > last[0]):
            last = (event.last_at, event.message)
    if last is None:
        return []
    age_s = max(0.0, at - last[0])
    return fact("scale_in_age_s", age_s, at, "events", f"{ago(age_s)} ago: {last[1]}")
