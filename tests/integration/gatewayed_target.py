"""A target whose engine and gateway are real processes, in a little Kubernetes: what the API server
passes on to a pod goes to them.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit

import httpx
from tests.support.little_api_server import LittleApiServer
from tests.support.little_kubernetes import NAMESPACE, LittleKubernetes

_PROXY = re.compile(r"/pods/(?P<pod>[^/:]+):(?P<port>\d+)/proxy(?P<rest>/.*)$")
TOKEN = "s3cret-of-the-gateway"


class RealPods(LittleApiServer):
    """`doors`: where the port of a pod really is."""

    def __init__(self, kube: LittleKubernetes, doors: Mapping[int, str]) -> None:
        super().__init__(kube)
        self.doors = doors
        self._session = httpx.AsyncClient(timeout=5)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """As an API server: the header Authorization ends with it."""
        found = _PROXY.search(unquote(urlsplit(request.url.raw_path.decode()).path))
        if found is None or int(found["port"]) not in self.doors:
            return await super().handle_async_request(request)
        kept = {
            name: value
            for name, value in request.headers.items()
            if name in ("x-barostat-token", "content-type")
        }
        query = f"?{request.url.query.decode()}" if request.url.query else ""
        url = f"{self.doors[int(found['port'])]}{found['rest']}{query}"
        try:
            answer = await self._session.request(
                request.method, url, headers=kept, content=request.content
            )
        except httpx.HTTPError:
            return httpx.Response(
                503,
                json={
                    "kind": "Status",
                    "status": "Failure",
                    "message": "error trying to reach service: refused",
                    "code": 503,
                },
            )
        return httpx.Response(
            answer.status_code,
            headers={"content-type": answer.headers.get("content-type", "text/plain")},
            content=answer.content,
        )


def gateway_pod(kube: LittleKubernetes, admin_port: int) -> None:
    """A pod that says it stands before the target."""
    spec = {
        "nodeName": "n0",
        "containers": [
            {"name": "barostat", "ports": [{"name": "admin", "containerPort": admin_port}]}
        ],
    }
    metadata = {
        "name": "gateway-0",
        "namespace": NAMESPACE,
        "annotations": {"barostat.dev/fronts": "vllm"},
    }
    status = {
        "phase": "Running",
        "podIP": "10.0.0.9",
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    kube.add("pods", {"metadata": metadata, "spec": spec, "status": status})


class Load:
    """So many clients, each of which asks again when it has its answer. `answers`: how often each
    status came; 0 for none.
    """

    def __init__(self, url: str, clients: int, *, prompt: str, max_tokens: int) -> None:
        self._document = {
            "model": "tiny",
            "prompt": prompt,
            "max_tokens": max_tokens,
            "ignore_eos": True,
        }
        self._url, self.answers = url, dict[int, int]()
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(clients)]

    def _ask(self) -> None:
        with httpx.Client(timeout=300) as client:
            while not self._stop.is_set():
                try:
                    answer = client.post(self._url + "/v1/completions", json=self._document)
                    status, wait_s = answer.status_code, float(answer.headers.get("retry-after", 0))
                except httpx.HTTPError:
                    status, wait_s = 0, 0.2
                with self._lock:
                    self.answers[status] = self.answers.get(status, 0) + 1
                if status != 200:
                    self._stop.wait(min(wait_s, 2.0))

    def __enter__(self) -> Self:
        """They ask."""
        for thread in self._threads:
            thread.start()
        return self

    def end(self) -> None:
        """What is under way is waited for; nothing more is asked."""
        self._stop.set()
        for thread in self._threads:
            thread.join(120)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()


def preempted(engine_url: str) -> float:
    """What the engine has preempted so far."""
    page = httpx.get(engine_url + "/metrics", timeout=5).text
    return sum(
        float(line.rpartition(" ")[2])
        for line in page.splitlines()
        if line.startswith("vllm:num_preemptions_total")
    )


def until_preempting(engine_url: str, within_s: float = 30.0) -> None:
    """It throws requests out again and again."""
    deadline, first = time.monotonic() + within_s, preempted(engine_url)
    while preempted(engine_url) < first + 5:
        assert time.monotonic() < deadline, "nothing is preempted"
        time.sleep(0.2)
