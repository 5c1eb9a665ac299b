"""Units of a former version that stay warm after a change, as seen beside the target; and whether a
plan can keep one.
"""

from __future__ import annotations

from barostat.judge.mitigation.target_snapshot import TargetSnapshot
from barostat.platform.objects import Object, is_going, mapping, name_of, text
from barostat.remedy.annotations import INCIDENT, PREVIOUS, SPARE, TARGET
from barostat.remedy.plan import Strategy

RIGHTS = (
    ("get", "batch", "jobs"),
    ("create", "batch", "jobs"),
    ("patch", "batch", "jobs"),
    ("delete", "batch", "jobs"),
)
"""What keeping a unit takes beyond the rights of any plan: verb, group, resource."""


def kept_units(seen: TargetSnapshot) -> list[Object]:
    """Return the pods that keep a former version of the target warm and that we may end."""
    if seen.cannot_keep != () or seen.kind.rolls != "spares":
        return []
    target = name_of(seen.home)[:63]
    return [
        pod
        for pod in seen.lists.get("pods", [])
        if is_kept(pod) and text(pod, "metadata", "labels", TARGET) == target
    ]


def is_kept(pod: Object) -> bool:
    """True for a pod that keeps a former version warm and that no rollback uses."""
    labels = mapping(pod, "metadata", "labels")
    over = text(pod, "status", "phase") in ("Succeeded", "Failed")
    return PREVIOUS in labels and SPARE not in labels and not over and not is_going(pod)


def job_of(pod: Object) -> str:
    """Return the name of the Job that keeps the pod."""
    return text(pod, "metadata", "labels", PREVIOUS)


def jobs_of(seen: TargetSnapshot) -> tuple[str, ...]:
    """Return the Jobs of all kept units of the target."""
    return tuple(sorted(set(map(job_of, kept_units(seen)))))


def kept_of(seen: TargetSnapshot, incident: str) -> str:
    """Return the Job that keeps the version before that incident on a node; empty if none does."""
    return next(
        (
            job_of(pod)
            for pod in kept_units(seen)
            if text(pod, "metadata", "labels", INCIDENT) == incident
            and text(pod, "spec", "nodeName")
        ),
        "",
    )


def why_not_kept(seen: TargetSnapshot, strategy: Strategy, place: tuple[bool, str] | None) -> str:
    """Why no unit of the former version can stay warm after a plan of that strategy; empty if one
    can. `place`: whether a node takes one more replica now, and why not.
    """
    if strategy in ("edge-only", "edge-live", "scale-out"):
        return "no replica is replaced"
    if strategy == "stuck-rollout":
        return "no replica of the version before serves"
    if seen.kind.rolls != "spares":
        return f"the units of a {seen.kind.api.kind} belong to its controller"
    if seen.cannot_keep is None:
        return "whether the rights for it are there could not be read"
    if seen.cannot_keep:
        return f"rights are missing: {', '.join(seen.cannot_keep)}"
    if strategy == "in-place" and place is None:
        return "whether a node takes one more replica could not be read"
    if strategy == "in-place" and place is not None and not place[0]:
        return f"no node takes one more replica ({place[1]})"
    return ""
