"""The admin page of a gateway, through the API server's proxy or by its URL: what it says, and what
is said where it says nothing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.support.little_gateway import TOKEN, ApiBeforeTheGateway, LittleGateway, LoadedKubernetes
from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.remedy_runs import ACCESS, by
from tests.support.small_servers import answer, closed_port, serving
from tests.support.virtual_time import virtual_time

from barostat.core.errors import InputError
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.gateway_door import (
    GatewayDoors,
    GatewayResponse,
    admin_url,
    limits_path,
    until_answered,
)
from barostat.judge.mitigation.gateways import SeenGateway
from barostat.remedy.plan import GatewayRef

REF = GatewayRef("Deployment", "gateway", NAMESPACE, 8081)
PUT = {"holder": "i1", "epoch": 1, "leaseSeconds": 5, "limits": {"maxOutputTokens": 50}}


def by_pods(
    folder: Path,
    what: Callable[[LittleGateway, GatewayDoors], Coroutine[Any, Any, None]],
    token: str = TOKEN,
) -> None:
    """`what` is given a gateway without load, and its doors."""

    async def go() -> None:
        kube = LoadedKubernetes(1, 1, start_s=0.1)
        api = ApiBeforeTheGateway(kube)
        api.gateway = LittleGateway(kube, folder)
        api.gateway.coming = False
        doors = GatewayDoors(by(Cluster(ACCESS), api), NAMESPACE, HOME, token=token)
        await what(api.gateway, doors)
        await doors.close()
        await api.gateway.end()

    with virtual_time() as run:
        run(go())


def test_the_gateways_are_the_pods_that_say_so_and_are_ready(tmp_path: Path) -> None:
    async def what(gateway: LittleGateway, doors: GatewayDoors) -> None:
        assert list(await doors.find()) == [REF]
        assert await doors.places([REF]) == [(REF, "gateway-abc-0")]
        gateway.kill(pod=True)
        assert await doors.places([REF]) == []
        gateway.start()
        assert await doors.places([REF]) == [(REF, "gateway-abc-1")]

    by_pods(tmp_path, what)


@pytest.mark.parametrize("name", [HOME, "another"])
def test_a_gateway_that_says_nothing_of_itself_is_found_by_its_answers(
    name: str, tmp_path: Path
) -> None:
    """Its command is hidden in an entry point, and no annotation is there."""

    async def what(gateway: LittleGateway, doors: GatewayDoors) -> None:
        (pod,) = [one for one in gateway.kube.all("pods") if "gateway" in one["metadata"]["name"]]
        del pod["metadata"]["annotations"]
        assert await doors.find() == {}
        file = tmp_path / "limits.yaml"
        file.write_text(file.read_text() + f"  targetRef: {{kind: Deployment, name: {name}}}\n")
        gateway.start()
        found = await doors.find()
        assert list(found) == ([REF] if name == HOME else [])
        if found:
            assert await doors.places([REF]) == [(REF, "gateway-abc-0")]
            (seen,) = await doors.look(None)
            assert seen.why == ""

    by_pods(tmp_path, what)


def test_a_look_tells_what_is_held_and_why_nothing_can_be_set(tmp_path: Path) -> None:
    async def what(gateway: LittleGateway, doors: GatewayDoors) -> None:
        (seen,) = await doors.look(None)
        assert (seen.ref, seen.why, seen.watches, seen.now("request.maxOutputTokens")) == (
            REF,
            "",
            True,
            1000,
        )
        assert (await doors.ask(REF, "gateway-abc-0", "PUT", "/limits", PUT)).status == 200
        (seen,) = await doors.look(None)
        assert seen.taken_by("another") == "i1"
        (page,) = await doors.pages([REF], 5.0)
        assert page.is_gateway
        assert (await doors.ask(REF, "gateway-abc-0", "DELETE", limits_path("i1", 1))).status == 200
        assert gateway.override is None
        gateway.kill(pod=False)
        (seen,) = await doors.look(None)
        assert seen.documents == ()
        assert "gateway-abc-0" in seen.why
        assert await doors.pages([REF], 5.0) == ()
        gateway.start()

    by_pods(tmp_path, what)


def test_without_a_token_one_may_look_and_not_write(tmp_path: Path) -> None:
    async def what(gateway: LittleGateway, doors: GatewayDoors) -> None:
        (seen,) = await doors.look(None)
        assert "--gateway-token-file" in seen.why
        said = await doors.ask(REF, "gateway-abc-0", "PUT", "/limits", PUT)
        assert (said.status, said.document) == (401, None)
        assert "token is missing or wrong" in said.told
        assert gateway.override is None

    by_pods(tmp_path, what, token="")


def test_the_api_servers_no_is_not_taken_for_the_gateways(tmp_path: Path) -> None:
    async def what(_: LittleGateway, doors: GatewayDoors) -> None:
        said = await doors.ask(REF, "no-such-pod", "GET", "/limits")
        assert said.status == 0
        assert "no-such-pod" in said.told

    by_pods(tmp_path, what)


@pytest.mark.parametrize(
    ("raw", "status"),
    [(answer('{"writable": true}'), 200), (answer("{}", "500 Oh"), 500), (b"nonsense\r\n\r\n", 0)],
)
def test_by_its_url(raw: bytes, status: int) -> None:
    async def go(port: int) -> tuple[GatewayResponse, tuple[SeenGateway, ...]]:
        url = f"http://127.0.0.1:{port}"
        doors = GatewayDoors(Cluster(ACCESS), NAMESPACE, HOME, url, TOKEN)
        try:
            return await doors.ask(
                GatewayRef("URL", url), "", "PUT", "/limits", PUT
            ), await doors.look(None)
        finally:
            await doors.close()

    requests: list[str] = []

    def handle(connection: socket.socket, request: str) -> None:
        requests.append(request)
        connection.sendall(raw)

    with serving(handle) as (port, _):
        said, (seen,) = asyncio.run(go(port))
    assert said.status == status
    assert bool(seen.why) == (status != 200)
    assert f"x-barostat-token: {TOKEN}" in requests[0].lower()
    assert all(TOKEN not in request for request in requests[1:])  # a look needs none


def test_nobody_there() -> None:
    async def go() -> GatewayResponse:
        url = f"http://127.0.0.1:{closed_port()}"
        doors = GatewayDoors(Cluster(ACCESS), NAMESPACE, HOME, url, TOKEN)
        try:
            return await doors.ask(GatewayRef("URL", url), "", "GET", "/limits")
        finally:
            await doors.close()

    said = asyncio.run(go())
    assert said.status == 0
    assert said.why


def test_what_a_person_writes_as_the_url() -> None:
    written = ("g:8081", "http://g:8081/", "http://g:8081/limits", "http://g:8081/metrics/")
    assert {admin_url(one) for one in written} == {"http://g:8081"}
    for wrong in ("", "ftp://g", "http://u:p@g", "http://g?x=1", "http://g#x"):
        with pytest.raises(InputError, match="is no URL of a gateway's admin page"):
            admin_url(wrong)


def test_a_holder_of_any_name_is_named_whole() -> None:
    assert limits_path("a/b&c=d", 3) == "/limits?holder=a%2Fb%26c%3Dd&epoch=3"


def test_it_is_asked_again_only_while_it_cannot_answer() -> None:
    async def go(statuses: list[int], within_s: float) -> tuple[int, int]:
        left = list(statuses)

        async def ask() -> GatewayResponse:
            return GatewayResponse("g", left.pop(0) if len(left) > 1 else left[0])

        found = await until_answered(ask, within_s)
        return found.status, len(statuses) - len(left)

    with virtual_time() as run:
        assert run(go([0, 503, 429, 200], 10.0)) == (200, 3)
        assert run(go([409, 200], 10.0)) == (409, 1)
        assert run(go([0], 2.0))[0] == 0
