"""The pods of a Deployment are followed over a real connection to an API server, and their engines
asked over real ones.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.support.gateway_wire import World
from tests.support.small_servers import answer, serving, vllm

from barostat.core.errors import InputError, OutsideError
from barostat.gateway.bounds import Bounds
from barostat.gateway.settings import FollowedWorkload
from barostat.gateway.watching.following import Following
from barostat.gateway.watching.health import Health

SELECTOR = {"matchLabels": {"app": "vllm"}}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"


@dataclass
class Pods:
    """An API server with one Deployment and its pods. `forbids`: paths that end so are answered
    with 403; `closing`: no watch goes on.
    """

    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    forbids: tuple[str, ...] = ()
    down: bool = False
    closing: bool = False
    asked: list[str] = field(default_factory=list)
    _log: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    version: int = 10

    def handle(self, connection: socket.socket, request: str) -> None:
        """One request."""
        target = request.split(" ")[1]
        self.asked.append(target)
        path = target.partition("?")[0]
        if self.down:
            return
        if path.endswith(self.forbids or ("nothing",)):
            body = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "message": "no",
                "reason": "Forbidden",
                "code": 403,
            }
            connection.sendall(answer(json.dumps(body), "403 Forbidden", "application/json"))
        elif path.endswith("/deployments/vllm"):
            found = {"metadata": {"name": "vllm"}, "spec": {"selector": SELECTOR}}
            connection.sendall(answer(json.dumps(found), kind="application/json"))
        elif not path.endswith("/pods"):
            body = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "message": "not found",
                "reason": "NotFound",
                "code": 404,
            }
            connection.sendall(answer(json.dumps(body), "404 Not Found", "application/json"))
        elif "watch=true" in target:
            self._watch(connection, int(target.partition("resourceVersion=")[2].partition("&")[0]))
        else:
            with self._lock:
                listed = {
                    "kind": "PodList",
                    "apiVersion": "v1",
                    "metadata": {"resourceVersion": str(self.version)},
                    "items": list(self.items.values()),
                }
            connection.sendall(answer(json.dumps(listed), kind="application/json"))

    def _watch(self, connection: socket.socket, version: int) -> None:
        connection.sendall(HEAD)
        while not self.closing and not self.down:
            with self._lock:
                new = [
                    event
                    for event in self._log
                    if int(event["object"]["metadata"]["resourceVersion"]) > version
                ]
                version = self.version
            connection.sendall(b"".join(json.dumps(event).encode() + b"\n" for event in new))
            time.sleep(0.02)

    def has(
        self,
        name: str,
        port: int,
        *,
        ready: bool = True,
        uid: str = "",
        host: str = "127.0.0.1",
        going: bool = False,
    ) -> None:
        """The pod is so from now on, and who watches hears of it."""
        metadata = {"name": name, "uid": uid or name, "labels": {"app": "vllm"}}
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if going else {}
        container = {
            "name": "vllm",
            "image": "vllm/vllm-openai:v0.32.0",
            "args": ["--model", "m", "--port", str(port)],
        }
        status = {
            "podIP": host,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        }
        self._tell(
            "MODIFIED",
            {"metadata": metadata, "spec": {"containers": [container]}, "status": status},
        )

    def goes(self, name: str) -> None:
        """The pod is deleted."""
        self._tell("DELETED", self.items[name])

    def _tell(self, kind: str, pod: dict[str, Any]) -> None:
        with self._lock:
            self.version += 1
            pod = {**pod, "metadata": {**pod["metadata"], "resourceVersion": str(self.version)}}
            if kind == "DELETED":
                del self.items[pod["metadata"]["name"]]
            else:
                self.items[pod["metadata"]["name"]] = pod
            self._log.append({"type": kind, "object": pod})


@pytest.fixture
def pods() -> Iterator[Pods]:
    """An API server's pods, and no watch left at the end."""
    found = Pods()
    yield found
    found.closing = True


def followed(
    pods: Pods,
    folder: Path,
    what: Callable[[World, Following], Coroutine[Any, Any, None]],
    name: str = "vllm",
) -> None:
    """`what` is done while a gateway without engines of its own follows them."""

    async def go(port: int) -> None:
        config = folder / "kubeconfig"
        config.write_text(json.dumps({
            "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "x"}}], "users": [{"name": "u", "user": {}}],
        }))  # fmt: skip
        world = World(replicas=0)
        health = Health(world.desk)
        following = Following(
            FollowedWorkload(name, kubeconfig=str(config)), world.gateway, health, Bounds(), None
        )
        try:
            await what(world, following)
        finally:
            await following.stop()
            await health.stop()
            pods.closing = True

    with serving(pods.handle) as (port, _):
        asyncio.run(go(port))


async def until(holds: Callable[[], bool], within_s: float = 15.0) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def standing(world: World) -> dict[str, str]:
    return {name: replica.standing for name, replica in world.desk.replicas.items()}


def test_who_is_ready_at_the_start_has_joined_and_nobody_else(pods: Pods, tmp_path: Path) -> None:
    async def what(world: World, following: Following) -> None:
        await following.start()
        assert standing(world) == {f"127.0.0.1:{port}": "up"}
        assert "labelSelector=app%3Dvllm" in next(
            target for target in pods.asked if "/pods" in target
        )

    with serving(vllm()) as (port, _):
        pods.has("a", port)
        pods.has("not-ready", port + 1, ready=False)
        pods.has("going", port + 2, going=True)
        pods.has("nowhere", port + 3, host="")
        followed(pods, tmp_path, what)


def test_one_that_comes_joins_and_one_that_goes_leaves(
    pods: Pods, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def what(world: World, following: Following) -> None:
        await following.start()
        pods.has("b", second)
        await until(
            lambda: standing(world) == {f"127.0.0.1:{first}": "up", f"127.0.0.1:{second}": "up"}
        )
        pods.goes("a")
        await until(lambda: list(standing(world)) == [f"127.0.0.1:{second}"])
        pods.has("b", second, ready=False)
        await until(lambda: not standing(world))
        assert f"127.0.0.1:{second} (b) has joined: up" in capsys.readouterr().err

    with serving(vllm()) as (first, _), serving(vllm()) as (second, _):
        pods.has("a", first)
        followed(pods, tmp_path, what)


def test_what_is_under_way_is_answered_before_it_leaves(pods: Pods, tmp_path: Path) -> None:
    async def what(world: World, following: Following) -> None:
        await following.start()
        (replica,) = world.desk.replicas.values()
        replica.active = 1
        pods.goes("a")
        await until(lambda: replica.standing == "leaving")
        assert world.desk.any_replica(()) is None
        pods.has("b", port, uid="another-at-the-same-address")
        await asyncio.sleep(0.5)
        assert world.desk.replicas[replica.name] is replica
        replica.active = 0
        await until(lambda: standing(world) == {replica.name: "up"})
        assert world.desk.replicas[replica.name] is not replica

    with serving(vllm()) as (port, _):
        pods.has("a", port)
        followed(pods, tmp_path, what)


@pytest.mark.sweep
def test_one_that_was_not_ready_for_a_moment_is_taken_back_with_what_is_under_way(
    pods: Pods, tmp_path: Path
) -> None:
    """A probe that came too late on a busy engine: streams of many minutes must not keep it out."""

    async def what(world: World, following: Following) -> None:
        await following.start()
        (replica,) = world.desk.replicas.values()
        for _ in range(2):
            replica.active = 3
            pods.has("a", port, ready=False)
            await until(lambda: replica.standing == "leaving")
            pods.has("a", port)
            await until(lambda: replica.standing == "up")
        replica.active = 0
        await asyncio.sleep(0.5)
        assert world.desk.replicas == {replica.name: replica}
        assert replica.standing == "up"
        pods.goes("a")
        await until(lambda: not world.desk.replicas)

    with serving(vllm()) as (port, _):
        pods.has("a", port)
        followed(pods, tmp_path, what)


def test_while_the_api_server_is_away_the_engines_stay_and_then_it_is_taken_up_again(
    pods: Pods, tmp_path: Path
) -> None:
    async def what(world: World, following: Following) -> None:
        await following.start()
        pods.down = True
        await asyncio.sleep(0.5)
        assert standing(world) == {f"127.0.0.1:{first}": "up"}
        pods.has("b", second)
        pods.down = False
        await until(lambda: len(standing(world)) == 2)

    with serving(vllm()) as (first, _), serving(vllm()) as (second, _):
        pods.has("a", first)
        followed(pods, tmp_path, what)


def test_what_is_not_there_or_forbidden_is_said_at_the_start(pods: Pods, tmp_path: Path) -> None:
    async def missing(_: World, following: Following) -> None:
        with pytest.raises(InputError, match="there is no such Deployment in namespace x"):
            await following.start()

    async def forbidden(_: World, following: Following) -> None:
        with pytest.raises(OutsideError):
            await following.start()

    followed(pods, tmp_path, missing, name="another")
    for path in ("/deployments/vllm", "/pods"):
        pods.forbids, pods.closing = (path,), False
        followed(pods, tmp_path, forbidden)
