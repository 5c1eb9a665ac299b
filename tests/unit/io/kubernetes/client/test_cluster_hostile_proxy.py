"""The chaos proxy as an API server that means harm: each form reaches the client as it says, over a
real socket, and is held by it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import Any

import pytest
from dev.cluster import chaos
from dev.cluster.hostile import HOSTILE, OF_LISTS, lies, spoiled
from tests.support.small_servers import Handler, answer, serving

from barostat.io.kubernetes.client.cluster import Cluster, Listed
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess
from barostat.io.kubernetes.client.resources import CONFIG_MAPS
from barostat.io.kubernetes.client.watching import Changed, Relisted, watch

ITEM = {"metadata": {"name": "c", "namespace": "x", "resourceVersion": "7"}, "data": {"k": "v"}}
LIST = {
    "kind": "ConfigMapList",
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "7"},
    "items": [ITEM],
}
LIST_ANSWER = answer(json.dumps(LIST), kind="application/json")
TRUE = {
    "type": "MODIFIED",
    "object": {
        "metadata": {"name": "c", "namespace": "x", "resourceVersion": "8"},
        "data": {"k": "w"},
    },
}
SLOWEST_S = 2.0


def api() -> Handler:
    """A list of one object, whose watch tells one true change; and a log of two kilobytes."""

    def handle(connection: socket.socket, request: str) -> None:
        path = request.split(" ", 2)[1]
        if "watch=true" in path:
            line = json.dumps(TRUE).encode() + b"\n"
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
            connection.sendall(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(line), line))
        else:
            connection.sendall(answer("x" * 2000) if "/log" in path else LIST_ANSWER)

    return handle


def through(kind: chaos.Kind, ask: Any) -> tuple[Any, float]:
    """What the client makes of it, and the CPU time that it took."""

    async def go(port: int) -> Any:
        trouble = chaos.Trouble(f"http://127.0.0.1:{port}", lambda _, __: kind)
        async with trouble.listening() as url:
            cluster = Cluster(ClusterAccess(url))
            began = time.process_time()
            found = await ask(cluster)
            took_s = time.process_time() - began
            await cluster.close()
            assert {befell for _, _, befell in trouble.passed} == {kind}
            return found, took_s

    with serving(api()) as (port, _):
        found: tuple[Any, float] = asyncio.run(go(port))
        return found


@pytest.mark.sweep
@pytest.mark.parametrize("kind", OF_LISTS)
def test_a_list_that_means_harm_is_read_within_its_bounds_or_refused(kind: chaos.Kind) -> None:
    found, took_s = through(kind, lambda cluster: cluster.list(CONFIG_MAPS, "x", within_s=20.0))
    assert isinstance(
        found, Listed if kind in ("megabyte", "odd-names") else Listed | RequestFailed
    )
    if kind in ("endless-list", "deep"):
        assert isinstance(found, RequestFailed)
    if isinstance(found, Listed):
        assert all(isinstance(item, dict) for item in found.items)
    assert took_s < SLOWEST_S * 1.5, "half as much again for a machine that is busy"


@pytest.mark.sweep
def test_of_a_watch_that_lies_only_what_may_be_true_is_told() -> None:
    async def ask(cluster: Cluster) -> list[Any]:
        heard = []
        async for one in watch(cluster, CONFIG_MAPS, "x", for_s=2.0):
            heard.append(one)
            if len(heard) > 60:
                break
        return heard

    heard, _ = through("lying-events", ask)
    lists = [
        [item["metadata"]["name"] for item in one.items]
        for one in heard
        if isinstance(one, Relisted)
    ]
    assert lists[:2] == [["c"], ["c"]], "asked for anew behind an event that is too large"
    changed = [one.object for one in heard if isinstance(one, Changed)]
    assert changed, "what may be true is told"
    assert all(
        isinstance(item["metadata"]["name"], str) and "annotations" not in item["metadata"]
        for item in changed
    )
    assert all(item["metadata"]["name"] != "lie" for item in changed), "an event of no type is none"
    assert any("larger than 4 MiB" in one.why for one in heard if isinstance(one, RequestFailed))


def test_a_log_that_comes_slowly_ends_when_its_time_is_over() -> None:
    async def ask(cluster: Cluster) -> tuple[Any, float]:
        began = time.monotonic()
        found = await cluster.request(
            "GET", "/api/v1/namespaces/x/pods/p/log", "get pods/log", within_s=1.0
        )
        return found, time.monotonic() - began

    (found, waited_s), _ = through("slow-stream", ask)
    assert isinstance(found, RequestFailed)
    assert waited_s < 3.0


def test_an_answer_that_comes_in_chunks_is_changed_as_one_that_does_not() -> None:
    body = json.dumps(LIST).encode()
    chunked = (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n"
        % (body[:5], len(body) - 5, body[5:])
    )
    assert spoiled("megabyte", chunked) == spoiled("megabyte", LIST_ANSWER)
    for other in (
        answer('{"metadata": {}}'),
        answer("no JSON"),
        answer(json.dumps(LIST), "403 Forbidden"),
    ):
        assert spoiled("wrong-kinds", other) == other


def test_each_kind_befalls_what_it_is_made_for() -> None:
    paths = (
        "/api/v1/namespaces/x/pods",
        "/api/v1/namespaces/x/pods?watch=true",
        "/api/v1/namespaces/x/pods/p/log?tailLines=5",
    )
    choose = chaos.seeded(1, chaos.HOSTILE_SHARES)
    drawn = [{choose("GET", path) for _ in range(400)} - {None} for path in paths]
    assert drawn == [set(OF_LISTS), {"lying-events"}, {"slow-stream"}]
    assert set().union(*drawn) == set(HOSTILE)
    assert {choose("PATCH", paths[0]) for _ in range(400)} == {None}
    assert lies("/api/v1/namespaces/x/pods?watch=true").count(b'"x"') == 2
