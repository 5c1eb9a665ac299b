"""The rights that the chart gives the observer are those that its code uses: none is missing and
none is unused. Each request says which right it takes (`get pods/log in x`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.watched_cluster import WatchedCluster, live, operator_on
from tests.unit.operator.test_loop import Pressed, on_a_cluster

from barostat.io.kubernetes.client.cluster import Cluster
from barostat.platform.workloads import kinds

PLAIN = Path(__file__).parents[2] / "deploy" / "operator" / "operator.yaml"
"""The chart with its default values, as `make docs` renders it."""
ELSEWHERE = {
    ("delete", "pressureincidents"): "retention: an incident is deleted after 30 days",
    ("get", "pods/proxy"): "asked by path, where engines are not asked at their addresses",
    ("watch", "pods"): "a stream, which is no single request",
    ("get", "pods/log"): "asked by path",
    ("patch", "events"): "the second Event of a reason",
    ("get", "events"): "the second Event of a reason",
    ("patch", "servinglimits/status"): "where there are ServingLimits",
    ("update", "leases"): "renewals",
    ("create", "pressureincidents"): "server-side apply of one that is not there",
    ("get", "configmaps"): "the file behind --config, variables of a pod",
    ("list", "configmaps"): "records of remedies, before a plan",
    ("list", "inferencepools"): "what sends requests to the pods of KServe's kinds, before a plan",
    (
        "get",
        "llminferenceserviceconfigs",
    ): "the preset that holds an LLMInferenceService's template",
}
"""What the observer uses beyond the hour of this test, and where."""
OF_THE_CLUSTER = {("get", "nodes"), ("list", "nodes")}
"""Given with `scope: cluster` only; otherwise the diagnosis says that nodes were not read."""
OF_KINDS = {
    right
    for kind in kinds()
    for verb in ("get", "list")
    for right in [(verb, kind.api.plural), *((verb, plural) for plural in kind.reads)]
}
"""Read where pods belong to such a workload."""


def granted() -> set[tuple[str, str]]:
    found = set()
    for one in yaml.safe_load_all(PLAIN.read_text(encoding="utf-8")):
        for rule in (one or {}).get("rules", []):
            found |= {(verb, plural) for verb in rule["verbs"] for plural in rule["resources"]}
    return found


def used(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """What an operator that observes asks for, from its start to an incident and its end."""
    found: set[tuple[str, str]] = set()
    request = Cluster.request

    async def recorded(self: Cluster, method: str, path: str, what: str, **more: Any) -> Any:
        verb, right, *_ = what.split(" ")
        plural, _, subresource = right.partition("/")
        found.add((verb, plural.partition(".")[0] + (f"/{subresource}" if subresource else "")))
        return await request(self, method, path, what, **more)

    monkeypatch.setattr(Cluster, "request", recorded)

    async def go(kube: Pressed, api: WatchedCluster) -> None:
        life = asyncio.create_task(live(operator_on(api, "a"), 400.0))
        await asyncio.sleep(60.0)
        kube.press()
        await asyncio.sleep(120.0)
        kube.pressed = False
        await life

    on_a_cluster(go)
    return found


def test_no_right_of_the_observer_is_missing_or_unused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, given = used(monkeypatch), granted()
    assert len(asked) > 10
    assert asked - given - OF_KINDS - OF_THE_CLUSTER == set(), (
        "the code asks for what the chart does not give"
    )
    unused = given - asked - OF_KINDS - set(ELSEWHERE)
    assert unused == set(), "the chart gives what the code does not ask for"
