"""`barostat mitigate` on workloads that somebody else writes, too: seen, told with a patch, paused
on demand, handed back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dev.cluster import workloads
from dev.cluster.client import Cluster, Workspace
from tests.cluster.test_mitigate import (
    QUICK,
    incidents,
    mitigate,
    nothing_of_ours_is_left,
    preempted,
    pressed_twins,
)

from barostat.shells.cli.main import main

TRACKED = {"argocd.argoproj.io/tracking-id": "chat:apps/Deployment:x/twin"}


@pytest.fixture
def argo_cd(cluster: Cluster) -> Iterator[None]:
    """The kind of Argo CD's applications, which nobody looks after."""
    version = {
        "name": "v1alpha1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }  # fmt: skip
    names = {
        "kind": "Application",
        "plural": "applications",
        "singular": "application",
        "listKind": "ApplicationList",
    }
    spec = {"group": "argoproj.io", "scope": "Namespaced", "names": names, "versions": [version]}
    kind = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "applications.argoproj.io"},
        "spec": spec,
    }
    cluster.admin("apply", "-f", "-", stdin=workloads.as_list([kind]))
    cluster.admin(
        "wait", "--for=condition=Established", "crd/applications.argoproj.io", "--timeout=30s"
    )
    yield
    cluster.admin("delete", "crd", "applications.argoproj.io", "--wait=true")


def autoscaler(least: int, most: int, **behavior: Any) -> dict[str, Any]:
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
    }
    spec: dict[str, Any] = {"minReplicas": least, "maxReplicas": most, "metrics": [metric]} | (
        {"behavior": behavior} if behavior else {}
    )
    spec["scaleTargetRef"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "twin"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "twin"},
        "spec": spec,
    }


def application(space: Workspace) -> dict[str, Any]:
    source = {
        "repoURL": "https://git.example/deploy",
        "path": "chat/twin",
        "targetRevision": "main",
    }
    spec = {"source": source, "syncPolicy": {"automated": {"selfHeal": True, "prune": True}}}
    metadata = {"name": "chat", "namespace": space.namespace}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": metadata,
        "spec": spec,
    }


@pytest.mark.long
def test_an_autoscaler_that_would_fight_is_seen_paused_and_handed_back(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    with pressed_twins(space, rate_per_s=4.0) as load:
        space.apply([autoscaler(2, 4, scaleDown={"stabilizationWindowSeconds": 120})])
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        before = space.get("hpa/twin")["spec"]
        assert mitigate(space, "--yes", *QUICK) == 5
        told = capsys.readouterr().out
        assert "HPA twin sets the replicas by itself, between 2 and 4" in told
        assert "selectPolicy: Disabled" in told
        assert incidents(space) == []
        assert mitigate(space, "--lever", "scale-out", "--dry-run", *QUICK) == 5
        assert "minReplicas: 3" in capsys.readouterr().out
        assert mitigate(space, "--pause-owner", "--autonomy", "act", *QUICK) == 0
        assert incidents(space)[0]["phase"] == "Done"
        nothing_of_ours_is_left(space)
        assert space.get("hpa/twin")["spec"] == before
        assert "barostat.dev/paused" not in space.get("deploy/twin")["metadata"]["annotations"]
        assert load.counts.failed == {}


@pytest.mark.long
@pytest.mark.usefixtures("argo_cd")
def test_argo_cd_stays_paused_until_its_source_holds_the_change(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    with pressed_twins(space, rate_per_s=4.0, annotations=TRACKED) as load:
        space.apply([application(space)])
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        assert mitigate(space, "--yes", *QUICK) == 5
        told = capsys.readouterr().out
        assert "tracked by Argo CD application chat, which undoes drift by itself" in told
        assert "# https://git.example/deploy, chat/twin at main" in told
        assert "- --max-num-active-seqs" in told
        assert mitigate(space, "--pause-owner", "--autonomy", "act", *QUICK) == 0
        told = capsys.readouterr().out
        (incident,) = incidents(space)
        assert incident["phase"] == "Done"
        assert "argo-cd chat stays paused" in told
        assert space.get("application/chat")["spec"]["syncPolicy"] == {}
        place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("admin"))]
        assert main(["incident", "resume", incident["id"], *place]) == 0
        assert space.get("application/chat")["spec"]["syncPolicy"] == {
            "automated": {"selfHeal": True, "prune": True}
        }
        nothing_of_ours_is_left(space)
        assert load.counts.failed == {}
