"""A gateway before the little Kubernetes' engine, in the test's own event loop: its real desk,
limits and admin page, requests through it.

What an engine is here: it answers each request after SERVICE_S and preempts while it holds more
than its pool. `kill` is a kill -9 of the gateway: what was under way in it is cut, what it knew is
gone; `start` is another process.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
from tests.support.gateway_wire import HEAD, Side, World, chat, ok
from tests.support.little_api_server import LittleApiServer, failure
from tests.support.little_kubernetes import NAMESPACE, LittleKubernetes, Object

from barostat.admit.replica_news import Observation
from barostat.gateway.live_limits.admin import AdminDoor
from barostat.gateway.live_limits.limits_in_force import LimitsInForce

TOKEN = "s3cret-of-the-gateway"
SPEC = "request: {maxOutputTokens: 1000}\nedge: {queueDeadlineSeconds: 4}"
TICK_S, ARRIVE_S, SERVICE_S = 0.25, 0.5, 4.0
ANSWER_TOKENS, POOL_TOKENS, BUDGET_TOKENS = 1000, 6000, 3000
NO_ANSWER = "cut by the kill"
DOWN = "nobody listens"


class LoadedKubernetes(LittleKubernetes):
    """One whose engine's metrics are what has come through the gateway."""

    running, preempted = 0, 0.0

    def metrics(self, _: Object) -> str:
        """The engine's page."""
        labels = '{engine="0",model_name="m"}'
        usage = min(1.0, self.running * ANSWER_TOKENS / POOL_TOKENS)
        return (
            f"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{labels} "
            f"{float(self.running)}\n"
            f"# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{labels} 0.0\n"
            f"# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{labels} {usage}\n"
            f"# TYPE vllm:num_preemptions counter\nvllm:num_preemptions_total{labels} "
            f"{self.preempted:.1f}\n"
        )


class LittleGateway:
    """Processes of a gateway that only watches (--shadow), one after the other. `came`: requests by
    what came of them.

    `coming`: requests come. `deaf`: what is put there is taken, and nothing that it answers
    arrives; no take-back reaches it.
    """

    def __init__(self, kube: LoadedKubernetes, folder: Path) -> None:
        self.kube, self._file = kube, folder / "limits.yaml"
        self._file.write_text(HEAD + "  " + SPEC.replace("\n", "\n  ") + "\n")
        self.coming, self.came, self.kills, self.deaf = True, Counter[str](), 0, False
        self._clients: list[Side] = []
        self._began: dict[Side, float] = {}
        self._answered: Counter[Side] = Counter()
        self._looked = 0
        self.door: AdminDoor | None = None
        self.start()
        self._task = asyncio.create_task(self._run())

    def start(self) -> None:
        """A process that knows nothing of the one before, and its pod, which is Ready."""
        self.world = world = World(SPEC, shadow=True, pool_tokens=POOL_TOKENS)
        world.now = time.monotonic()
        world.rounds.tick()
        self.limits = LimitsInForce(self._file, world.metrics)
        self.limits.adopt = world.gateway.adopt
        world.rounds.on_tick.append(self.limits.tick)
        self.door = AdminDoor(world.gateway, self.limits, TOKEN)
        if ("pods", self._pod) not in self.kube.objects:
            owner = {"kind": "ReplicaSet", "name": "gateway-abc", "uid": "", "controller": True}
            labels, fronts = {"pod-template-hash": "abc"}, {"barostat.dev/fronts": "vllm"}
            ports = [{"name": "admin", "containerPort": 8081}]
            self.kube.add("pods", {
                "metadata": {"name": self._pod, "labels": labels, "annotations": fronts, "ownerReferences": [owner]},
                "spec": {"nodeName": "n0", "containers": [{"name": "barostat", "ports": ports}]},
                "status": {"phase": "Running", "podIP": "10.0.0.9", "conditions": [{"type": "Ready", "status": "True"}]},
            })  # fmt: skip

    @property
    def _pod(self) -> str:
        return f"gateway-abc-{self.kills}"

    def kill(self, *, pod: bool) -> None:
        """kill -9. `pod`: the pod is gone with it, and its successor will have another name; else
        it stands there as if it were Ready.
        """
        self.door = None
        self.came[NO_ANSWER] += len(self._clients)
        self._clients.clear()
        self._began.clear()
        if pod:
            self.kube.objects.pop(("pods", self._pod))
            self.kills += 1

    @property
    def override(self) -> Any:
        """What is held there now, None for nothing."""
        return None if self.door is None else self.limits.document(time.monotonic())["override"]

    async def end(self) -> None:
        """No more requests; those that are under way are answered, and a process is there."""
        self.coming = False
        while self._clients or self.door is None:
            await asyncio.sleep(1.0)
        self._task.cancel()

    async def _run(self) -> None:
        due = time.monotonic()
        while True:
            world = self.world
            if self.door is not None:
                world.now = time.monotonic()
                world.rounds.tick()
                world.goes_on()
            if self.coming and world.now >= due - 1e-9:
                due = max(due, world.now) + ARRIVE_S
                self._comes()
            self._engine()
            self._clients = [one for one in self._clients if not self._noted(one)]
            await asyncio.sleep(TICK_S)

    def _comes(self) -> None:
        if self.door is None:
            self.came[DOWN] += 1
            return
        client = self.world.client()
        client.sends(chat("hello " * 20, max_tokens=ANSWER_TOKENS))
        self._clients.append(client)

    def _engine(self) -> None:
        now = time.monotonic()
        if self.door is not None:
            for side in self.world.engines:
                if not side.wire.closing and side.heard.count(b"POST /v1/") > self._answered[side]:
                    self._began.setdefault(side, now)
        usage = {"prompt_tokens": 30, "completion_tokens": ANSWER_TOKENS}
        for side in [side for side, began in self._began.items() if now - began >= SERVICE_S]:
            del self._began[side]
            self._answered[side] += 1
            side.says(
                ok(json.dumps({"choices": [{"finish_reason": "length"}], "usage": usage}).encode())
            )
        self.kube.running = len(self._began)
        self.kube.preempted += TICK_S * max(0, self.kube.running - POOL_TOKENS // ANSWER_TOKENS)
        if self.door is not None and int(now) > self._looked:
            self._looked = int(now)
            usage_ratio = min(1.0, self.kube.running * ANSWER_TOKENS / POOL_TOKENS)
            seen = Observation(usage_ratio, self.kube.running, 0, int(self.kube.preempted))
            self.world.desk.observed(self.world.replicas[0], seen)

    def _noted(self, client: Side) -> bool:
        if client.heard:
            self.came[client.heard.split(b" ", 2)[1].decode()] += 1
            client.leaves()
        return bool(client.heard)


class ApiBeforeTheGateway(LittleApiServer):
    """The API server that passes on to the gateway's pod what is for its admin page, and says so
    where nobody listens there.
    """

    gateway: LittleGateway

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """As an API server: the header Authorization ends with it."""
        target = urlsplit(unquote(request.url.raw_path.decode()))
        pod, found, path = target.path.partition(":8081/proxy")
        if not found:
            return await super().handle_async_request(request)
        await asyncio.sleep(0.002)
        name, door = pod.rpartition("/")[2], self.gateway.door
        if ("pods", name) not in self.kube.objects:
            return httpx.Response(404, json=failure(404, f'pods "{name}" not found', "NotFound")[1])
        if door is None:
            return httpx.Response(
                503, json=failure(503, "error trying to reach service: connection refused")[1]
            )
        token = request.headers.get("x-barostat-token", "").encode()
        whole = f"{path}?{target.query}" if target.query else path
        if self.gateway.deaf and request.method == "DELETE":
            raise httpx.ReadError("reset")
        said = door.answer(request.method.encode(), whole.encode(), token, request.content)
        head, _, body = said.partition(b"\r\n\r\n")
        await asyncio.sleep(0.002)
        if self.gateway.deaf:
            raise httpx.ReadError("reset")
        return httpx.Response(
            int(head.split(b" ", 2)[1]), content=body, headers={"content-type": "application/json"}
        )


__all__ = [
    "BUDGET_TOKENS",
    "DOWN",
    "NAMESPACE",
    "NO_ANSWER",
    "TOKEN",
    "ApiBeforeTheGateway",
    "LittleGateway",
    "LoadedKubernetes",
]
