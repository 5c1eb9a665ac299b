"""The little API server with what an operator needs besides: watches, server-side apply, status as
a subresource, leases, and custom resources that may be missing.

An operator runs on it in virtual time: minutes within a second, the same each time.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from tests.support.little_api_server import LittleApiServer, failure, merged
from tests.support.little_kubernetes import LittleKubernetes, Object
from tests.support.remedy_runs import ACCESS, by

from barostat.io.clock import SteadyClock
from barostat.operator import loop
from barostat.operator.loop import Operator
from barostat.operator.policy import Defaults
from barostat.operator.settings import OperatorSettings

OWN = ("pressureincidents", "leases", "events")
"""What an operator in `observe` may write."""


class Watching(httpx.AsyncByteStream):
    """Changes of pods, for as long as a watch lasts, as the server tells them."""

    def __init__(self, api: WatchedCluster, for_s: float) -> None:
        self._api, self._for_s = api, for_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        known = self._api.versions()
        until = asyncio.get_running_loop().time() + self._for_s
        while asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.5)
            now = self._api.versions()
            for name in known.keys() | now.keys():
                if known.get(name) == now.get(name):
                    continue
                kind = "DELETED" if name not in now else "MODIFIED" if name in known else "ADDED"
                item = self._api.kube.objects.get(("pods", name)) or self._api.gone[name]
                yield json.dumps({"type": kind, "object": item}).encode() + b"\n"
            known = now


class WatchedCluster(LittleApiServer):
    """`away`: whether the API server answers at all. `expired`: whether every watch is told 410.
    `crds`: whether custom resources are known. `wrote`: every write with its plural and the instant. `least_listed`: the fewest replicas in
    rotation after an eviction.
    """

    def __init__(self, kube: LittleKubernetes) -> None:
        super().__init__(kube)
        self.away = self.expired = False
        self.crds = True
        self.least_listed = 1000
        self.gone: dict[str, Object] = {}
        self.wrote: list[tuple[float, str, str]] = []

    def versions(self) -> dict[str, str]:
        found = {}
        for pod in self.kube.all("pods"):
            self.gone[pod["metadata"]["name"]] = pod
            found[pod["metadata"]["name"]] = pod["metadata"]["resourceVersion"]
        return found

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.away:
            await asyncio.sleep(0.01)
            raise httpx.ConnectError("refused")
        query = parse_qs(urlsplit(request.url.raw_path.decode()).query)
        if "watch" in query:
            if self.expired:
                return httpx.Response(410, json=failure(410, "too old", "Expired")[1])
            return httpx.Response(200, stream=Watching(self, float(query["timeoutSeconds"][0])))
        return await super().handle_async_request(request)

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        path, _, _ = target.partition("?")
        parts = path.strip("/").split("/")
        if "barostat.dev" in parts and not self.crds:
            return 404, "404 page not found"
        if parts[:2] == ["api", "v1"] and parts[2] == "namespaces" and len(parts) == 4:
            return 200, self.kube.objects["namespaces", parts[3]]
        if parts[-1] == "eviction":
            self.wrote.append((asyncio.get_running_loop().time(), method, "eviction"))
            pod = self.kube.objects.get(("pods", parts[-2]))
            if pod is None:
                return failure(404, "pods not found")
            listed = [one for one in self.kube.all("pods") if self.kube.is_listed(one)]
            self.least_listed = min(self.least_listed, len(listed) - 1)
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            self.kube.touch(pod)
            asyncio.get_running_loop().call_later(2.0, self.kube._gone, pod)
            return 201, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        if method != "GET" and "selfsubject" not in path:
            plural = next(
                part
                for part in reversed(parts)
                if part.isalpha() and part.endswith("s") and part != "status"
            )
            self.wrote.append((asyncio.get_running_loop().time(), method, plural))
        if method == "PATCH" and "barostat.dev" in parts:
            return self._applied(parts, body)
        return super().answer(method, target, body)

    def _applied(self, parts: list[str], body: Object) -> tuple[int, Any]:
        """Server-side apply: the object is made where it is not there; `status` needs it."""
        status = parts[-1] == "status"
        plural, name = parts[-3:-1] if status else parts[-2:]
        there = self.kube.objects.get((plural, name))
        if there is None:
            return (
                failure(404, f"{plural} {name} not found")
                if status
                else (
                    201,
                    self.kube.add(plural, copy.deepcopy(body)),
                )
            )
        if not status and there["spec"] != body["spec"]:
            return failure(422, "spec never changes", "Invalid")
        after = merged(there, {"status": body["status"]} if status else {})
        there.clear()
        there |= after
        return 200, self.kube.touch(there)


def operator_on(
    api: WatchedCluster, name: str, tell: Callable[[str], None] = lambda _: None, **more: Any
) -> Operator:
    """An operator that sees that cluster, and does not listen."""
    settings = replace(OperatorSettings("x", "x", name, Defaults()), **more)
    made = loop.made(settings, ACCESS, SteadyClock(), tell)
    by(made.cluster, api)
    by(made.lease.cluster, api)
    return made


async def live(operator: Operator, for_s: float, done: Callable[[], bool] = lambda: False) -> None:
    """The operator's life: lease and rounds, until the time is over, it is done or cancelled."""
    lease = asyncio.create_task(operator.lease.keep())
    until = asyncio.get_running_loop().time() + for_s
    try:
        while (now := asyncio.get_running_loop().time()) < until and not done():
            await operator.turn()
            took = asyncio.get_running_loop().time() - now
            pause_s = operator.settings.interval_s if operator.state.leads else 2.0
            await asyncio.sleep(max(0.05, pause_s - took))
    finally:
        lease.cancel()
        await asyncio.gather(lease, return_exceptions=True)


async def kill(operator: Operator, task: asyncio.Task[None]) -> None:
    """The program is dead: nothing more of it runs, and nothing is handed over."""
    task.cancel()
    running = [one for one, _ in operator.healing._running.values()]
    follow = [operator.engines._task] if operator.engines._task is not None else []
    for one in (*running, *follow):
        one.cancel()
    await asyncio.gather(task, *running, *follow, return_exceptions=True)
