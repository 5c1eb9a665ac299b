"""A real Kubernetes for tests: ours (`make cluster`), or the one that BAROSTAT_KUBECONFIG names.

    def test_something(cluster, space): ...
        cluster     the cluster (dev/cluster/client.py), for the session
        space       a namespace for this test, gone afterwards
        engines     the same for a whole module, with one real vLLM replica Ready behind the Service `vllm`

A cluster of `make cluster` stays; one that tests started goes with the last of them. Without one:
skipped, saying so; with CI=true: failed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from dev import engine
from dev.cluster import binaries, lifetime, workloads
from dev.cluster.client import Cluster, Workspace


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if kubeconfig := os.environ.get("BAROSTAT_KUBECONFIG"):
        yield lifetime.adopt(Path(kubeconfig), tmp_path_factory.mktemp("kubeconfig"))
        return
    why = lifetime.why_not()
    if why is None and not binaries.are_built():
        why = (
            "its binaries are not built: run `make cluster`, once (minutes), then `make "
            "cluster-down`"
        )
    if why:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            f"there is no Kubernetes for tests here: {why}"
        )
    with lifetime.in_use() as ours:
        yield ours


@pytest.fixture
def space(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Workspace]:
    with cluster.workspace(request.node.name.removeprefix("test_")) as workspace:
        yield workspace


@pytest.fixture(scope="session")
def real_vllm(cluster: Cluster) -> bool:
    """Pods of the real vLLM can be made, else the test is skipped (with CI=true: fails)."""
    assert cluster
    if engine.is_installed() or "BAROSTAT_VLLM_IMAGE" in os.environ:
        return True
    return bool(
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "the real vLLM is not installed here: run `make vllm`"
        )
    )


@pytest.fixture(scope="module")
def engines(
    cluster: Cluster, real_vllm: bool, request: pytest.FixtureRequest
) -> Iterator[Workspace]:
    assert real_vllm
    with cluster.workspace(request.node.name.rsplit("/", 1)[-1].removesuffix(".py")) as workspace:
        workspace.apply(workloads.vllm())
        workspace.wait_ready("deploy/vllm")
        yield workspace
