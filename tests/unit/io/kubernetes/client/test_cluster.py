"""An API server that throttles, breaks off, stalls, expires and forbids: answers are values, in
time, and no write is done twice.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from tests.support.small_servers import (
    METRICS,
    Handler,
    always,
    answer,
    closed_port,
    reset,
    serving,
    silence,
)

from barostat.io.engine_http.http import Answer, Failure
from barostat.io.kubernetes.client import cluster as client
from barostat.io.kubernetes.client.cluster import Cluster, Listed
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess
from barostat.io.kubernetes.client.resources import DEPLOYMENTS, EVENTS, NODES, PODS
from barostat.io.kubernetes.client.watching import Changed, Relisted, watch
from barostat.io.kubernetes.recording.pod_route import PodRoute
from barostat.judge.evidence.endpoint import Endpoint

T = TypeVar("T")
pytestmark = pytest.mark.usefixtures("on_virtual_time")
POD = {"metadata": {"name": "vllm-0", "namespace": "x", "resourceVersion": "7"}}


def ok(document: Any) -> Handler:
    return always(answer(json.dumps(document), kind="application/json"))


def status(code: int, message: str = "no", reason: str = "", more: str = "") -> Handler:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return always(
        answer(json.dumps(body), f"{code} Some Words", kind="application/json", more=more)
    )


def in_turn(*handlers: Handler) -> Handler:
    """The first request gets the first, and so on; the last one again and again."""
    left = list(handlers)
    lock = threading.Lock()

    def handle(connection: socket.socket, request: str) -> None:
        with lock:
            chosen = left.pop(0) if len(left) > 1 else left[0]
        chosen(connection, request)

    return handle


def asked(handler: Handler, what: Callable[[Cluster], Awaitable[T]]) -> tuple[T, list[str], float]:
    """The result, the requests that were made, and how long it took."""

    async def run(port: int) -> T:
        cluster = Cluster(ClusterAccess(f"http://127.0.0.1:{port}", context="test"))
        try:
            return await what(cluster)
        finally:
            await cluster.close()

    with serving(handler) as (port, requests):
        began = time.monotonic()
        found = asyncio.run(run(port))
        return found, requests, time.monotonic() - began


def failed(found: Any) -> RequestFailed:
    assert isinstance(found, RequestFailed), found
    return found


@pytest.mark.parametrize(
    "trouble",
    [
        status(500),
        status(503),
        status(429),
        reset,
        always(b'HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{"k'),
    ],
)
def test_a_read_is_repeated(trouble: Handler) -> None:
    found, requests, _ = asked(
        in_turn(trouble, trouble, ok(POD)), lambda cluster: cluster.get(PODS, "vllm-0", "x")
    )
    assert found == POD
    assert len(requests) == 3


def test_a_read_ends_at_its_deadline() -> None:
    found, _, took_s = asked(
        silence, lambda cluster: cluster.get(PODS, "vllm-0", "x", within_s=0.5)
    )
    assert failed(found).kind == "time-out"
    assert took_s < 2.5
    found, requests, took_s = asked(
        status(500), lambda cluster: cluster.get(PODS, "vllm-0", "x", within_s=1.0)
    )
    assert failed(found).kind == "server"
    assert 1 < len(requests) < 9
    assert took_s < 2.5


def test_the_server_says_when_to_come_again() -> None:
    found, requests, took_s = asked(
        in_turn(status(429, more="retry-after: 1\r\n"), ok(POD)),
        lambda cluster: cluster.get(PODS, "p", "x"),
    )
    assert found == POD
    assert len(requests) == 2
    assert 1.0 <= took_s < 3.0
    found, requests, took_s = asked(
        status(429, more="retry-after: 60\r\n"),
        lambda cluster: cluster.get(PODS, "p", "x", within_s=5.0),
    )
    assert (failed(found).kind, failed(found).retry_after_s) == ("throttled", 60.0)
    assert len(requests) == 1
    assert took_s < 1.0


@pytest.mark.parametrize(
    ("trouble", "uncertain"),
    [
        (reset, True),
        (silence, True),
        (status(500), True),
        (status(409), False),
        (status(422), False),
    ],
)
def test_a_write_is_sent_once(trouble: Handler, uncertain: bool) -> None:
    found, requests, _ = asked(
        in_turn(trouble, ok(POD)),
        lambda cluster: cluster.patch(DEPLOYMENTS, "vllm", {}, "x", how="merge", within_s=0.5),
    )
    assert failed(found).uncertain is uncertain
    assert len(requests) == 1


def test_a_write_that_was_not_taken_is_sent_again() -> None:
    found, requests, _ = asked(
        in_turn(status(429), ok(POD)),
        lambda cluster: cluster.patch(
            DEPLOYMENTS, "vllm", {"a": 1}, "x", how="apply", dry_run=True, force=True
        ),
    )
    assert found == POD
    assert len(requests) == 2
    assert requests[0].startswith("PATCH /apis/apps/v1/namespaces/x/deployments/vllm?")
    assert all(
        part in requests[0]
        for part in ("fieldManager=barostat", "dryRun=All", "force=true", '{"a": 1}')
    )


def test_a_server_that_is_not_there() -> None:
    async def run() -> Any:
        cluster = Cluster(ClusterAccess(f"http://127.0.0.1:{closed_port()}"))
        found = await cluster.delete(PODS, "p", "x", uid="u", within_s=0.6)
        await cluster.close()
        return found

    found = failed(asyncio.run(run()))
    assert (found.kind, found.uncertain, found.may_pass) == ("refused", False, True)


def test_a_missing_right_is_told_as_rbac_names_it() -> None:
    listed, requests, _ = asked(
        status(403, 'events is forbidden: User "o" cannot list'),
        lambda cluster: cluster.list(EVENTS, "x"),
    )
    assert failed(listed).right == "list events in x"
    assert len(requests) == 1
    got, _, _ = asked(status(403), lambda cluster: cluster.get(NODES, "n"))
    assert failed(got).right == "get nodes"


@pytest.mark.parametrize(
    ("code", "kind"),
    [(401, "unauthorized"), (404, "not-found"), (409, "conflict"), (410, "gone"), (422, "invalid")],
)
def test_refusals_are_told_apart(code: int, kind: str) -> None:
    found, requests, _ = asked(status(code), lambda cluster: cluster.get(PODS, "p", "x"))
    assert failed(found).kind == kind
    assert not failed(found).may_pass
    assert len(requests) == 1


@pytest.mark.parametrize("body", ["<html>login</html>", "", "[1]", "null"])
def test_what_is_no_api_server(body: str) -> None:
    found, _, _ = asked(always(answer(body)), lambda cluster: cluster.get(PODS, "p", "x"))
    assert "answers 200, but not as a Kubernetes API server" in failed(found).why


def page(*names: str, more: str = "") -> Handler:
    return ok(
        {
            "kind": "PodList",
            "metadata": {"resourceVersion": "9", "continue": more},
            "items": [{"metadata": {"name": name}} for name in names],
        }
    )


def names(found: Listed | RequestFailed) -> list[str]:
    assert isinstance(found, Listed), found
    return [item["metadata"]["name"] for item in found.items]


def test_a_list_comes_page_by_page() -> None:
    found, requests, _ = asked(
        in_turn(page("a", more="t1"), page("b")),
        lambda cluster: cluster.list(PODS, labels="app=vllm"),
    )
    assert names(found) == ["a", "b"]
    assert isinstance(found, Listed)
    assert found.items[0]["kind"] == "Pod"
    assert "labelSelector=app%3Dvllm" in requests[0]
    assert "continue=t1" in requests[1]


def test_a_list_that_expires_between_pages_is_begun_anew() -> None:
    found, requests, _ = asked(
        in_turn(page("a", more="t1"), status(410, reason="Expired"), page("a", "b")),
        lambda cluster: cluster.list(PODS),
    )
    assert names(found) == ["a", "b"]
    assert "continue" not in requests[2]


def stream(*events: Any, then: Handler | None = None) -> Handler:
    def handle(connection: socket.socket, request: str) -> None:
        body = b"".join(json.dumps(event).encode() + b"\n" for event in events)
        connection.sendall(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n" + body
        )
        if then is not None:
            then(connection, request)

    return handle


def event(kind: str, name: str, version: str) -> dict[str, Any]:
    return {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": version}}}


def seen(handler: Handler, for_s: float = 1.5) -> tuple[list[Any], list[str], float]:
    async def collect(cluster: Cluster) -> list[Any]:
        return [found async for found in watch(cluster, PODS, "x", for_s=for_s)]

    return asked(handler, collect)


def test_a_watch_goes_on_where_it_broke_off() -> None:
    found, requests, took_s = seen(
        in_turn(
            page("a"),
            stream(event("ADDED", "b", "10"), then=reset),
            stream(event("DELETED", "b", "11")),
            silence,
        )
    )
    assert isinstance(found[0], Relisted)
    changed = [
        (one.object["metadata"]["name"], one.gone) for one in found if isinstance(one, Changed)
    ]
    assert changed == [("b", False), ("b", True)]
    assert "resourceVersion=9" in requests[1]
    assert "resourceVersion=10" in requests[2]
    assert took_s < 3.0


def test_a_watch_whose_version_has_expired_lists_again() -> None:
    gone = {
        "type": "ERROR",
        "object": {"kind": "Status", "apiVersion": "v1", "code": 410, "message": "too old"},
    }
    found, _, _ = seen(in_turn(page("a"), stream(gone), page("a", "b"), silence))
    assert [len(one.items) for one in found if isinstance(one, Relisted)] == [1, 2]
    assert not [one for one in found if isinstance(one, RequestFailed)]


def test_a_silent_watch_ends_and_a_forbidden_one_says_so() -> None:
    found, _, took_s = seen(in_turn(page("a"), silence), for_s=0.7)
    assert [type(one) for one in found] == [Relisted]
    assert took_s < 2.0
    found, requests, _ = seen(in_turn(page("a"), status(403)))
    assert [type(one) for one in found] == [Relisted, RequestFailed]
    assert len(requests) == 2


def through(
    handler: Handler, *ports: int, may_forward: bool = False
) -> tuple[Answer | Failure, PodRoute]:
    doors: list[PodRoute] = []

    async def ask(cluster: Cluster) -> Answer | Failure:
        doors.append(
            PodRoute(
                cluster,
                "x",
                "vllm-0",
                "vllm-0",
                [Endpoint(port) for port in ports or (8000,)],
                may_forward=may_forward,
            )
        )
        return await doors[0].ask("/metrics", within_s=2.0)

    found, _, _ = asked(handler, ask)
    return found, doors[0]


DIAL = "error trying to reach service: dial tcp 10.0.0.9:8000: "


@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        (status(503, DIAL + "connect: connection refused"), "refused"),
        (status(503, DIAL + "i/o timeout"), "time-out"),
        (status(503, DIAL + "connect: no route to host"), "unreachable"),
        (status(502, "error trying to reach service: EOF"), "reset"),
        (status(400, "address not allowed"), "unreachable"),
        (status(404, 'pods "vllm-0" not found'), "unreachable"),
        (silence, "time-out"),
    ],
)
def test_a_pod_that_does_not_answer_is_told_as_if_it_had_been_asked_itself(
    handler: Handler, kind: str
) -> None:
    found, door = through(handler)
    assert isinstance(found, Failure)
    assert found.kind == kind
    assert not door.lacking


@pytest.mark.parametrize("handler", [status(500, "etcd is down"), status(429), reset, status(401)])
def test_trouble_on_the_way_says_nothing_of_the_pod(handler: Handler) -> None:
    found, door = through(handler)
    assert isinstance(found, Failure)
    assert found.kind == "between"
    assert not door.lacking


def test_a_missing_right_to_ask_is_noted() -> None:
    found, door = through(status(403))
    assert isinstance(found, Failure)
    assert found.kind == "between"
    assert door.lacking == ["get pods/proxy in x"]


def test_the_port_that_has_the_metrics_is_found() -> None:
    def handle(connection: socket.socket, request: str) -> None:
        right = "vllm-0:8001/" in request
        connection.sendall(answer(METRICS) if right else answer("not here", "404 Not Found"))

    found, door = through(handle, 8000, 8001)
    assert isinstance(found, Answer)
    assert "vllm:" in found.text
    assert door.base == "pod x/vllm-0:8001"


def test_a_side_port_that_answers_while_the_engine_loads_is_not_taken_for_ever() -> None:
    rounds = iter((0, 1, 1, 2, 2))

    def handle(connection: socket.socket, request: str) -> None:
        if "vllm-0:8000/" not in request:
            connection.sendall(answer("side_requests_total 1\n"))
        elif next(rounds) < 2:
            status(503, DIAL + "connect: connection refused")(connection, request)
        else:
            connection.sendall(answer(METRICS))

    async def ask(cluster: Cluster) -> list[tuple[str, bool]]:
        door = PodRoute(
            cluster, "x", "vllm-0", "vllm-0", [Endpoint(8000), Endpoint(9090)], may_forward=False
        )
        found = [await door.ask("/metrics", within_s=2.0) for _ in range(5)]
        return [(door.base, isinstance(one, Answer) and "vllm:" in one.text) for one in found]

    found, requests, _ = asked(handle, ask)
    assert [engine for _, engine in found] == [False, False, False, True, True]
    assert found[-1][0] == "pod x/vllm-0:8000"
    assert (
        sum("vllm-0:9090/" in one for one in requests) == 3
    )  # once the engine is there, only it is asked


def test_what_the_engine_itself_refuses_is_its_answer() -> None:
    found, _ = through(
        always(answer('{"error": "no"}', "503 Service Unavailable", kind="application/json"))
    )
    assert isinstance(found, Answer)
    assert found.status == 503


def test_a_redirect_into_the_cluster_is_not_followed() -> None:
    """A pod must not be able to make us read a Secret for it."""
    found, requests, _ = asked(
        always(
            answer("", "302 Found", more="location: /api/v1/namespaces/kube-system/secrets\r\n")
        ),
        lambda cluster: PodRoute(cluster, "x", "p", "p", [Endpoint(8000)], may_forward=False).ask(
            "/metrics", within_s=1.0
        ),
    )
    assert isinstance(found, Answer)
    assert found.status == 302
    assert len(requests) == 1


def test_an_address_that_is_kept_is_that_of_its_own_path_and_parameters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "KEPT_ADDRESSES", 3)
    wanted: list[tuple[str, dict[str, Any] | None]] = [
        ("/a", {"x": True}), ("/a", {"x": 1}), ("/a", None), ("/a", {}), ("/b%2Fc", {"x": "1 2"}), ("/a", {"x": True}), ("/d", None),
    ]  # fmt: skip

    async def go(cluster: Cluster) -> int:
        for path, params in wanted:
            await cluster.exchange("GET", path, within_s=5.0, params=params)
        return len(cluster._addresses)

    kept, requests, _ = asked(ok({}), go)
    targets = [request.split()[1] for request in requests]
    assert targets == ["/a?x=true", "/a?x=1", "/a", "/a", "/b%2Fc?x=1+2", "/a?x=true", "/d"]
    assert kept <= 3
