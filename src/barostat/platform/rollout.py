"""The last rollout of a workload: when, and what it changed.

Source: apps/v1 ReplicaSet revisions (annotation deployment.kubernetes.io/revision), Deployment
condition Progressing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barostat.core.signal import Signal
from barostat.platform.objects import (
    Object,
    condition,
    fact,
    instant,
    items,
    mapping,
    name_of,
    objects,
    text,
)
from barostat.platform.pods import find_pod
from barostat.platform.template_diff import changes
from barostat.platform.workload import workload_of

_REVISION = "deployment.kubernetes.io/revision"


@dataclass(frozen=True, slots=True)
class Rollout:
    """The rollout that made a pod what it is. `changes` is empty if nothing is known to have
    changed (a restart, a first revision).

    Units: `age_s` seconds before the judgement. `previous_*` are empty if no older revision is
    kept.
    """

    age_s: float
    workload: str
    replica_set: str
    revision: int
    kind: str = "deployment"
    previous_revision: int | None = None
    changes: tuple[str, ...] = ()
    pending_revision: int | None = None
    """A newer revision that is rolling out and has not reached this pod."""

    @property
    def detail(self) -> str:
        """The changes as a clause for reports."""
        if self.previous_revision is None:
            said = "first revision that is kept"
        elif not self.changes:
            said = "no change to the engine's container (a restart, labels or annotations)"
        else:
            said = "; ".join(self.changes)
        newer = (
            f"; revision {self.pending_revision} is rolling out"
            if self.pending_revision is not None
            else ""
        )
        return f"revision {self.revision} of {self.workload}: {said}{newer}"


def last_rollout(documents: Mapping[str, Any], pod: str, at: float) -> Rollout | None:
    """Return the rollout that the pod runs (or its workload, if the pod is unknown); None if no
    ReplicaSet shows it.
    """
    found = find_pod(documents, pod)
    workload = workload_of(documents, found)
    if workload is None:
        return None
    sets = sorted(_sets_of(documents, workload.name, workload.replica_set), key=_revision)
    if not sets:
        return None
    own = (
        workload.replica_set
        if workload.replica_set is not None and _revision(workload.replica_set) > 0
        else sets[-1]
    )
    revision = _revision(own)
    older = [item for item in sets if _revision(item) < revision]
    newest = _revision(sets[-1])
    began_at = _began_at(documents, own, sets, workload.document)
    if began_at is None:
        return None
    template = mapping(own, "spec", "template")
    before = mapping(older[-1], "spec", "template") if older else {}
    return Rollout(
        age_s=max(0.0, at - began_at),
        workload=workload.name,
        replica_set=name_of(own),
        revision=revision,
        kind=workload.kind.lower(),
        previous_revision=_revision(older[-1]) if older else None,
        changes=changes(before, template) if older else (),
        pending_revision=newest if newest > revision else None,
    )


def _sets_of(documents: Mapping[str, Any], workload: str, own: Object | None) -> list[Object]:
    found = [
        item
        for item in items(documents.get("replicasets"))
        if any(
            text(owner, "name") == workload
            for owner in objects(item, "metadata", "ownerReferences")
        )
    ]
    return found or ([own] if own is not None else [])


def _revision(item: Object) -> int:
    written = mapping(item, "metadata", "annotations").get(_REVISION)
    return (
        int(written)
        if isinstance(written, str)
        and written.isascii()
        and written.isdigit()
        and len(written) < 10
        else 0
    )


def _began_at(
    documents: Mapping[str, Any], own: Object, sets: list[Object], deployment: Object | None
) -> float | None:
    """When the revision was rolled out.

    A rollback revives an old ReplicaSet, whose creation says nothing: then its first pod, or the
    Deployment's progress, tells.
    """
    created = instant(own, "metadata", "creationTimestamp")
    births = [
        instant(item, "metadata", "creationTimestamp")
        for item in sets
        if _revision(item) < _revision(own)
    ]
    revived = created is not None and any(birth is not None and birth > created for birth in births)
    if not revived:
        return created
    pods = [
        born
        for item in items(documents.get("pods"))
        if any(
            text(owner, "name") == name_of(own)
            for owner in objects(item, "metadata", "ownerReferences")
        )
        and (born := instant(item, "metadata", "creationTimestamp")) is not None
    ]
    progressing = condition(deployment, "Progressing") if deployment else {}
    return min(pods, default=None) or instant(progressing, "lastUpdateTime") or created


def newest_replica_set(documents: Mapping[str, Any], workload: str) -> str:
    """The name of the ReplicaSet of the highest revision, or an empty text."""
    sets = _sets_of(documents, workload, None)
    return name_of(max(sets, key=_revision)) if sets else ""


def signals(rollout: Rollout | None, at: float) -> list[Signal]:
    """rollout_age_s with what changed as its detail."""
    if rollout is None:
        return []
    return fact(
        "rollout_age_s",
        rollout.age_s,
        at,
        f"ReplicaSet {rollout.replica_set} of {rollout.kind}/{rollout.workload}",
        rollout.detail,
    )
