"""What the objects around a Deployment say of it: its pods, its revisions, and which pods its
Services send requests to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from barostat.core.whole_number import whole_number
from barostat.platform.objects import Object, count, instant, mapping, name_of, objects, text, value

Pod = TypeVar("Pod", bound=Object)
_OVER = ("Succeeded", "Failed")
"""Phases of pods that have ended: evicted ones stay on the list so. Their ReplicaSet neither
counts, releases nor deletes them (Kubernetes 1.27 to 1.34, controller.FilterActivePods).
"""


def own_pods(uid: str, sets: Iterable[Object], pods: Iterable[Pod]) -> list[Pod]:
    """The pods whose controller is a ReplicaSet of the Deployment with that uid, but for those that
    have ended or are on their way out.
    """
    made = {text(item, "metadata", "uid") for item in sets if _owned(item, uid)}
    return [
        pod
        for pod in pods
        if not text(pod, "metadata", "deletionTimestamp")
        and text(pod, "status", "phase") not in _OVER
        and any(
            text(owner, "uid") in made and owner.get("controller") is True
            for owner in objects(pod, "metadata", "ownerReferences")
        )
    ]


def revisions(uid: str, sets: Iterable[Object]) -> list[tuple[int, Object]]:
    """The revisions that are kept of the Deployment with that uid, the oldest first."""
    found: list[tuple[int, Object]] = []
    for item in sets:
        number: Any = value(item, "metadata", "annotations", "deployment.kubernetes.io/revision")
        if (
            _owned(item, uid)
            and isinstance(number, str)
            and (revision := whole_number(number)) is not None
        ):
            found.append((revision, item))
    return sorted(found, key=lambda entry: entry[0])


def former_revision(home: Object, sets: Iterable[Object]) -> tuple[str, str] | None:
    """(the present revision, the one to go back to): of those whose pods differ, what serves, else
    the newest. None where there is none.

    A restart, labels and annotations make a revision and no difference.
    """
    kept = revisions(_uid(home), sets)
    if not kept:
        return None
    present, current = kept[-1]
    older = [
        (number, item) for number, item in reversed(kept[:-1]) if _pod_of(item) != _pod_of(current)
    ]
    serves = [entry for entry in older if count(entry[1], "status", "readyReplicas")]
    return (str(present), str((serves or older)[0][0])) if older else None


def since_of_revision(home: Object, sets: Iterable[Object]) -> float | None:
    """When the pods of the present revision were first rolled out as they are, where they were
    restarted since; else None.
    """
    kept = revisions(_uid(home), sets)
    alike: list[Object] = []
    for _, item in reversed(kept):
        if _pod_of(item) != _pod_of(kept[-1][1]):
            break
        alike.append(item)
    return instant(alike[-1], "metadata", "creationTimestamp") if len(alike) > 1 else None


def is_stuck(home: Object, sets: Iterable[Object], rollout_complete: bool) -> bool:
    """A rollout is under way and not paused; none of its pods is Ready, and those of the revision
    to go back to are.
    """
    kept = revisions(_uid(home), sets)
    pair = former_revision(home, sets)
    if rollout_complete or pair is None or value(home, "spec", "paused") is True:
        return False
    ready = {str(number): count(item, "status", "readyReplicas") or 0 for number, item in kept}
    return ready[pair[0]] == 0 and ready[pair[1]] > 0


def _uid(home: Object) -> str:
    return text(home, "metadata", "uid")


def _pod_of(item: Object) -> Object:
    return mapping(item, "spec", "template", "spec")


def _owned(item: Object, uid: str) -> bool:
    return any(text(owner, "uid") == uid for owner in objects(item, "metadata", "ownerReferences"))


def behind(
    services: Iterable[Object], slices: Iterable[Object]
) -> tuple[frozenset[str], frozenset[str]]:
    """(uids of the pods that stand ready behind every one of the Services, uids that stand behind
    any of them in any state).
    """
    ready: dict[str, set[str]] = {name_of(service): set() for service in services}
    seen: set[str] = set()
    for item in slices:
        service = text(item, "metadata", "labels", "kubernetes.io/service-name")
        if service not in ready:
            continue
        for end in objects(item, "endpoints"):
            uid = text(end, "targetRef", "uid")
            seen.add(uid)
            if value(end, "conditions", "ready") is not False:
                ready[service].add(uid)
    everywhere = frozenset.intersection(*map(frozenset, ready.values())) if ready else frozenset()
    return everywhere, frozenset(seen)
