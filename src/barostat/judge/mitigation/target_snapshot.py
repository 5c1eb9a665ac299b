"""The target of a remedy and its surroundings, as read at one moment; and the facts derived from
them alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from barostat.core.diagnosis import Report
from barostat.core.window import Window
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.recording import Recording
from barostat.judge.mitigation.gateways import SeenGateway
from barostat.judge.mitigation.paused_mark import noted_of
from barostat.judge.mitigation.rotation import routing_services
from barostat.judge.mitigation.target_objects import behind
from barostat.platform.objects import Object, text
from barostat.platform.owner import Owner, owners
from barostat.platform.workloads import Api, OwnedKind, Revision, WorkloadKind, kind_named

ALL_PODS = "all pods"


@dataclass(slots=True)
class TargetSnapshot:
    """The target as read at one moment. `lists`: objects by plural name (pods of the namespace;
    `all pods` of the cluster). `unread`: why a list is missing.

    `lacking`: missing rights that carrying out a plan needs; None if unknown. `cannot_read`:
    missing read rights; `cannot_pause`: missing rights to write owners, by kind, namespace and
    name. `cannot_keep`: missing rights to keep a unit of the former version; None if nobody asked.
    `held`: the object that holds the target's templates, which are also in `home`.
    """

    at: float
    home: Object
    recording: Recording
    report: Report
    lists: dict[str, list[Object]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    lacking: tuple[str, ...] | None = None
    cannot_read: list[str] = field(default_factory=list)
    cannot_pause: dict[tuple[str, str, str], str] = field(default_factory=dict)
    cannot_keep: tuple[str, ...] | None = None
    gateways: tuple[SeenGateway, ...] = ()
    held: tuple[Api, str] | None = None
    _windows: tuple[Recording, dict[str, Window]] | None = None

    @property
    def kind(self) -> WorkloadKind:
        """Return the target's kind. Errors: KeyError for an unknown kind (a bug)."""
        found = kind_named(text(self.home, "kind"))
        if found is None:
            raise KeyError(text(self.home, "kind"))
        return found

    @property
    def template(self) -> Object:
        """Return the target's template of the pods that serve requests."""
        return self.kind.template(self.home)

    @property
    def source(self) -> Object:
        """Return the part of the target that a change edits."""
        return self.kind.source(self.home)

    @property
    def replicas(self) -> int:
        """Return the target's desired number of units."""
        return self.kind.replicas(self.home)

    def revisions(self) -> list[Revision] | None:
        """Return the target's former revisions in the cluster, oldest first; None if unreadable."""
        if not all(plural in self.lists for plural in self.kind.reads):
            return None
        return self.kind.revisions(self.home, self.lists)

    def services(self) -> list[Object] | None:
        """Return the Services that select the target's pods; None if unreadable."""
        found = self.lists.get("services")
        if found is None:
            return None
        return routing_services(self.kind, self.home, found, self.pods() or (), self.lists)

    def why_not(self) -> str:
        """Return why a remedy cannot change the target and how a person can; empty if it can."""
        if self.held is not None and isinstance(self.kind, OwnedKind):
            api, name = self.held
            return (
                f"its template is in the {api.kind} {name}, which others may use: apply the patch "
                "there, or give the object a template of its own"
            )
        return self.kind.why_not(self.home)

    def pods(self) -> list[Object] | None:
        """Return the target's pods that serve requests for a unit."""
        if not all(plural in self.lists for plural in ("pods", *self.kind.reads)):
            return None
        return self.kind.own_pods(self.home, self.lists)

    def serving(self) -> int | None:
        """Return how many of the target's pods are ready in every one of its Services."""
        services, slices, pods = self.services(), self.lists.get("endpointslices"), self.pods()
        if services is None or slices is None or pods is None:
            return None
        ready, _ = behind(services, slices)
        return sum(text(pod, "metadata", "uid") in ready for pod in pods)

    def writers(self) -> tuple[Owner, ...]:
        """Return all other writers of the target."""
        lists = self.lists
        return owners(
            self.home,
            hpas=lists.get("horizontalpodautoscalers", []),
            scaled_objects=lists.get("scaledobjects", []),
            applications=lists.get("applications", []),
            paused=noted_of(self.home),
            flux=[*lists.get("kustomizations", []), *lists.get("helmreleases", [])],
        )

    def windows(self) -> dict[str, Window]:
        """Return the window of each replica (of its first engine, if it has several). Cached,
        because planning needs it often.
        """
        if self._windows is None or self._windows[0] is not self.recording:
            found = {
                replica.name: windows(self.recording, replica)[0]
                for replica in self.recording.replicas
            }
            self._windows = (
                self.recording,
                {name: next(iter(made.values())) for name, made in found.items() if made},
            )
        return dict(self._windows[1])
