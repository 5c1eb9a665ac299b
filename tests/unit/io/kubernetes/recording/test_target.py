"""What is meant by a target: a LeaderWorkerSet is its leaders, and the workers that answer for
themselves.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.little_api_server import Answered, LittleApiServer, failure
from tests.support.little_kubernetes import NAMESPACE, LittleKubernetes
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.core.errors import InputError, OutsideError
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.target import Wanted, each_target, parsed, select
from barostat.platform.objects import name_of
from barostat.platform.workload import workload_of

SET = "leaderworkerset.sigs.k8s.io"


def test_kinds_are_named_as_kubectl_takes_them() -> None:
    for kind in (
        "deploy",
        "deployment",
        "deployments",
        "deployment.apps",
        "deployments.apps",
        "sts",
        "pod",
        "po",
        "pods",
        "rs",
        "lws",
    ):
        assert parsed(f"{kind}/x")[1] == "x"
    assert (
        parsed("leaderworkersets.leaderworkerset.x-k8s.io/x")[0].api.kind
        == parsed("lws/x")[0].api.kind
        == "LeaderWorkerSet"
    )
    with pytest.raises(InputError, match="write deploy/NAME"):
        parsed("job/x")


def test_targets_of_one_kind_may_stand_behind_it_as_kubectl_takes_them() -> None:
    assert each_target(["deployment", "a", "b"]) == ["deployment/a", "deployment/b"]
    assert each_target(["pod/a", "pod/b"]) == ["pod/a", "pod/b"]
    for other in (
        [],
        ["deploy"],
        ["deploy", "pod/a"],
        ["http://a:8000", "http://b:8000"],
        ["deploy", "http://a"],
    ):
        assert each_target(other) == other


def _pod(kube: LittleKubernetes, name: str, place: str, answers: bool) -> None:
    labels = {f"{SET}/name": "big", f"{SET}/worker-index": place, f"{SET}/group-index": "0"}
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "big", "controller": True}
    container = {"name": "vllm", "image": "x/y", "command": ["vllm", "serve", "m"], "args": []}
    status = {"phase": "Running", **({"podIP": "10.0.0.9"} if answers else {})}
    kube.add(
        "pods",
        {
            "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
            "spec": {"containers": [container]},
            "status": status,
        },
    )


def test_a_leader_worker_set_is_its_leaders() -> None:
    async def go(found: Scene) -> None:
        found.kube.add("leaderworkersets", {"metadata": {"name": "big"}, "spec": {"replicas": 1}})
        _pod(found.kube, "big-0", "0", answers=False)
        _pod(found.kube, "big-0-1", "1", answers=False)
        cluster = by(Cluster(ACCESS), found.api)
        chosen = await select(cluster, Wanted(("lws/big",), namespace=NAMESPACE), 1e9)
        assert [name_of(pod) for pod in chosen.pods] == ["big-0"]
        assert [name_of(one) for one in chosen.workloads] == ["big"]
        owner = workload_of({"leaderworkersets": chosen.workloads}, chosen.pods[0])
        assert owner is not None
        assert (owner.kind, owner.name, owner.document) == (
            "LeaderWorkerSet",
            "big",
            chosen.workloads[0],
        )
        with pytest.raises(
            InputError, match="no such LeaderWorkerSet in namespace x; there are: big"
        ):
            await select(cluster, Wanted(("lws/bgi",), namespace=NAMESPACE), 1e9)

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("targets", [("deploy/vllm",), ("pod/vllm-0",), ()])
def test_a_namespace_that_does_not_exist_is_named_and_not_read_as_empty(
    targets: tuple[str, ...],
) -> None:
    class Elsewhere(LittleApiServer):
        """All that is there is in another namespace."""

        def answer(self, method: str, target: str, body: Any) -> Answered:
            if "/namespaces/typo/" in target and target.partition("?")[0].count("/") > 5:
                return failure(404, "not found", "NotFound")
            return (
                super().answer(method, target, body)
                if "typo/" not in target
                else (200, {"kind": "List", "metadata": {}, "items": []})
            )

    async def go(found: Scene) -> None:
        cluster = by(Cluster(ACCESS), Elsewhere(found.kube))
        with pytest.raises(InputError, match="no such namespace"):
            await select(cluster, Wanted(targets, namespace="typo"), 1e9)

    on_a_little_kubernetes(go)


def test_who_may_not_list_every_namespace_is_told_how_to_name_one() -> None:
    class Narrow(LittleApiServer):
        """Pods may be listed in one namespace only."""

        def answer(self, method: str, target: str, body: Any) -> Answered:
            if target.startswith("/api/v1/pods"):
                return failure(403, "pods is forbidden: at the cluster scope", "Forbidden")
            return super().answer(method, target, body)

    async def go(found: Scene) -> None:
        cluster = by(Cluster(ACCESS), Narrow(found.kube))
        with pytest.raises(OutsideError, match=r"cluster scope; for one namespace: -n NAMESPACE$"):
            await select(cluster, Wanted(all_namespaces=True), 1e9)

    on_a_little_kubernetes(go)
