"""The little Kubernetes' Deployment with owners: one that undoes what is written to it, one that
scales it.
"""

from __future__ import annotations

import json
from typing import Any

from dev.cluster import chaos
from tests.support.little_kubernetes import HOME, NAMESPACE, Object
from tests.support.remedy_runs import ACCESS, Scene, by, marks

from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.live import Options
from barostat.io.mitigation.campaign import Campaign
from barostat.io.mitigation.owner_pausing import hand_back, pause
from barostat.judge.mitigation.paused_mark import noted_of
from barostat.platform.owner import Switch, owners
from barostat.remedy.annotations import PAUSED
from barostat.remedy.plan import Target

AUTOMATED = {"selfHeal": True, "prune": True}
TRACKED = {"argocd.argoproj.io/tracking-id": f"chat:apps/Deployment:{NAMESPACE}/{HOME}"}


class Owned:
    """The little Kubernetes' Deployment, written by an Argo CD application that heals drift, and
    scaled by an HPA between 2 and 4.
    """

    def __init__(self, found: Scene) -> None:
        self.kube, self.api = found.kube, found.api
        self.cluster = by(Cluster(ACCESS), found.api)
        self.home["metadata"].setdefault("annotations", {}).update(TRACKED)
        spec: dict[str, Any] = {
            "source": {"repoURL": "https://git.example/deploy", "path": "chat"},
            "syncPolicy": {"automated": AUTOMATED},
        }
        self.chat = self.kube.add("applications", {"metadata": {"name": "chat"}, "spec": spec})
        spec = {
            "scaleTargetRef": {"kind": "Deployment", "name": HOME},
            "minReplicas": 2,
            "maxReplicas": 4,
        }
        self.hpa = self.kube.add(
            "horizontalpodautoscalers", {"metadata": {"name": "h"}, "spec": spec}
        )
        self.before = json.dumps([self.chat["spec"], self.hpa["spec"]])

    @property
    def home(self) -> Object:
        return self.kube.home

    @property
    def target(self) -> Target:
        return Target("apps/v1", "Deployment", NAMESPACE, HOME, self.home["metadata"]["uid"])

    @property
    def mark(self) -> Any:
        return json.loads(marks(self.home).get(PAUSED, "[]"))

    @property
    def is_as_before(self) -> bool:
        return json.dumps([self.chat["spec"], self.hpa["spec"]]) == self.before

    def switches(self) -> list[Switch]:
        """Of those who would undo a write, or fight it, as they are now."""
        found = owners(
            self.home, hpas=[self.hpa], applications=[self.chat], paused=noted_of(self.home)
        )
        return [
            owner.switch
            for owner in found
            if owner.switch and (owner.hinders("everything") or owner.hinders("replicas"))
        ]

    async def pause(self, incident: str, *switches: Switch) -> list[str]:
        return await pause(self.cluster, self.target, switches or self.switches(), incident)

    async def back(self, *incidents: str, keep: tuple[str, ...] = ()) -> list[str]:
        return (await hand_back(self.cluster, self.target, incidents, keep)).told

    @property
    def campaign(self) -> Campaign:
        return Campaign(self.cluster, NAMESPACE, HOME, Options(), SteadyClock(), lambda _: None)

    def marked(self, written: str) -> None:
        self.home["metadata"]["annotations"][PAUSED] = written
        self.kube.touch(self.home)


def once(method: str, where: str, kind: chaos.Kind) -> chaos.Choose:
    """That befalls the first such request."""
    left = [kind]
    return lambda asked, path: left.pop() if asked == method and where in path and left else None
