"""The target of a remedy with everything around it, as it was read at one moment; and what follows from that alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from barostat.core.diagnosis import Report
from barostat.core.window import Window
from barostat.judge.assemble import windows
from barostat.judge.recording import Recording
from barostat.judge.remedy_change import selecting
from barostat.platform.objects import Object, count, instant, mapping, name_of, objects, text, value
from barostat.platform.owner import Owner, owners

ALL_PODS = "all pods"


@dataclass(slots=True)
class Seen:
    """What was read. `lists`: objects by plural name (pods of the namespace; `all pods` of the cluster). `unread`: why a list is absent.

    `lacking`: rights that carrying out a plan needs and that are not there; None where that could not be asked.
    """

    at: float
    home: Object
    recording: Recording
    report: Report
    lists: dict[str, list[Object]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    lacking: tuple[str, ...] | None = None

    @property
    def template(self) -> Object:
        """Home's pod template."""
        return mapping(self.home, "spec", "template")

    @property
    def replicas(self) -> int:
        """What home asks for."""
        found = count(self.home, "spec", "replicas")
        return 1 if found is None else found

    def services(self) -> list[Object] | None:
        """The Services that home's pods are behind; None where they could not be read."""
        found = self.lists.get("services")
        return None if found is None else selecting(found, self.template)

    def pods(self) -> list[Object] | None:
        """Home's pods."""
        sets, pods = self.lists.get("replicasets"), self.lists.get("pods")
        return None if sets is None or pods is None else own_pods(self.home, sets, pods)

    def serving(self) -> int | None:
        """How many of home's pods stand ready behind every one of its Services."""
        services, slices, pods = self.services(), self.lists.get("endpointslices"), self.pods()
        return None if services is None or slices is None or pods is None else serving(services, slices, pods)

    def writers(self) -> tuple[Owner, ...]:
        """Everyone who writes home besides us."""
        lists = self.lists
        return owners(
            self.home,
            hpas=lists.get("horizontalpodautoscalers", []),
            scaled_objects=lists.get("scaledobjects", []),
            applications=lists.get("applications", []),
            flux=[*lists.get("kustomizations", []), *lists.get("helmreleases", [])],
        )

    def windows(self) -> dict[str, Window]:
        """The window of each replica (of its first engine, where it has several)."""
        found = {replica.name: windows(self.recording, replica)[0] for replica in self.recording.replicas}
        return {name: next(iter(made.values())) for name, made in found.items() if made}


def own_pods(home: Object, sets: Iterable[Object], pods: Iterable[Object]) -> list[Object]:
    """The pods whose controller is a ReplicaSet of home."""
    uid = text(home, "metadata", "uid")
    made = {text(item, "metadata", "uid") for item in sets if _owned(item, uid)}
    return [
        pod
        for pod in pods
        if not text(pod, "metadata", "deletionTimestamp")
        and any(text(owner, "uid") in made and owner.get("controller") is True for owner in objects(pod, "metadata", "ownerReferences"))
    ]


def revisions(home: Object, sets: Iterable[Object]) -> list[tuple[int, Object]]:
    """Home's revisions that are kept, the oldest first."""
    uid = text(home, "metadata", "uid")
    found: list[tuple[int, Object]] = []
    for item in sets:
        number: Any = value(item, "metadata", "annotations", "deployment.kubernetes.io/revision")
        if _owned(item, uid) and isinstance(number, str) and number.isdigit():
            found.append((int(number), item))
    return sorted(found, key=lambda entry: entry[0])


def former_revision(home: Object, sets: Iterable[Object]) -> tuple[str, str] | None:
    """(the present revision, the one to go back to): of those whose pods differ, what serves, else the newest. None where there is none.

    A restart, labels and annotations make a revision and no difference.
    """
    kept = revisions(home, sets)
    if not kept:
        return None
    present, current = kept[-1]
    older = [(number, item) for number, item in reversed(kept[:-1]) if _pod_of(item) != _pod_of(current)]
    serves = [entry for entry in older if count(entry[1], "status", "readyReplicas")]
    return (str(present), str((serves or older)[0][0])) if older else None


def since_of_revision(home: Object, sets: Iterable[Object]) -> float | None:
    """When the pods of the present revision were first rolled out as they are, where they were restarted since; else None."""
    kept = revisions(home, sets)
    alike: list[Object] = []
    for _, item in reversed(kept):
        if _pod_of(item) != _pod_of(kept[-1][1]):
            break
        alike.append(item)
    return instant(alike[-1], "metadata", "creationTimestamp") if len(alike) > 1 else None


def is_stuck(home: Object, sets: Iterable[Object], rollout_complete: bool) -> bool:
    """A rollout is under way and not paused; none of its pods is Ready, and those of the revision to go back to are."""
    kept = revisions(home, sets)
    pair = former_revision(home, sets)
    if rollout_complete or pair is None or value(home, "spec", "paused") is True:
        return False
    ready = {str(number): count(item, "status", "readyReplicas") or 0 for number, item in kept}
    return ready[pair[0]] == 0 and ready[pair[1]] > 0


def _pod_of(item: Object) -> Object:
    return mapping(item, "spec", "template", "spec")


def _owned(item: Object, uid: str) -> bool:
    return any(text(owner, "uid") == uid for owner in objects(item, "metadata", "ownerReferences"))


def serving(services: list[Object], slices: list[Object], pods: list[Object]) -> int:
    """How many of these pods stand ready behind every one of the Services."""
    ready: dict[str, set[str]] = {name_of(service): set() for service in services}
    for item in slices:
        service = text(item, "metadata", "labels", "kubernetes.io/service-name")
        for end in objects(item, "endpoints"):
            if service in ready and value(end, "conditions", "ready") is not False:
                ready[service].add(text(end, "targetRef", "uid"))
    return sum(bool(ready) and all(text(pod, "metadata", "uid") in found for found in ready.values()) for pod in pods)
