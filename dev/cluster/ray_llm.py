"""What `ray.serve.llm` is to Ray Serve, with Barostat's twin in place of vLLM: a stand-in for the
engine alone. Ray, Serve's controller and proxies, how they replace replicas, and the metrics agents
are the real ones.

    import_path: dev.cluster.ray_llm:build_openai_app
    args: as `ray.serve.llm:build_openai_app` takes them, of one model; `experimental_configs.twin`
          has flags of the twin's own

Each replica runs a twin with its `engine_kwargs`, forwards requests to it, and gives Ray the metrics
that vLLM would, under the names and with the labels of vLLM's own adapter.

Runs in Ray's environment (dev/setup_ray.py). Source: vLLM v1/metrics/ray_wrappers.py; ray.serve.llm
LLMConfig.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import socket
import subprocess
import threading
import time
import urllib.request
from typing import Any

import aiohttp
from ray import serve
from ray.util import metrics
from starlette.requests import Request
from starlette.responses import Response

START_WITHIN_S = 120.0
EXPORT_EVERY_S = 1.0
UNBOUNDED = 10**9
"""Requests of a replica under way: the engine queues, as ray.serve.llm has it."""
_SAMPLE = re.compile(r"^(vllm:\w+?)(_total|_bucket|_sum|_count|)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Labels = tuple[tuple[str, str], ...]


def build_openai_app(arguments: dict[str, Any]) -> serve.Application:
    """The application of one model."""
    (config,) = arguments["llm_configs"]
    model = config["model_loading_config"]
    options = {"max_ongoing_requests": UNBOUNDED, **config.get("deployment_config", {})}
    if config.get("accelerator_type"):
        options["ray_actor_options"] = {"num_gpus": 1}
    words = ["vllm", "serve", model["model_source"], "--served-model-name", model["model_id"]]
    for key, value in config.get("engine_kwargs", {}).items():
        words.append(f"--{key.replace('_', '-')}={value}")
    own = shlex.split(config.get("experimental_configs", {}).get("twin", ""))
    engine: Any = Engine  # the decorator makes a Deployment of it
    return engine.options(name=f"LLMServer:{model['model_id']}", **options).bind(
        [*own, "--", *words]
    )


@serve.deployment
class Engine:
    """One replica: a twin beside it, its requests and its metrics."""

    def __init__(self, words: list[str]) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        self._base = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(["barostat", "twin", "--port", str(port), *words])
        self._client: aiohttp.ClientSession | None = None
        deadline = time.monotonic() + START_WITHIN_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the twin did not start: {words}")
            time.sleep(0.2)
        replica = serve.get_replica_context().replica_id.unique_id
        threading.Thread(target=_Exporter(self._base, replica).run, daemon=True).start()

    async def __call__(self, request: Request) -> Response:
        """The twin's answer; as in ray.serve.llm, its metrics are with Ray's agent alone."""
        if not request.url.path.startswith(("/v1/", "/health")):
            return Response(status_code=404)
        if self._client is None:
            unbounded = aiohttp.ClientTimeout(total=None)
            self._client = aiohttp.ClientSession(
                timeout=unbounded, connector=aiohttp.TCPConnector(limit=0)
            )
        body = await request.body()
        kept = {"content-type": request.headers.get("content-type", "application/json")}
        url = f"{self._base}{request.url.path}"
        async with self._client.request(request.method, url, data=body, headers=kept) as answer:
            return Response(await answer.read(), answer.status, media_type=answer.content_type)

    def check_health(self) -> None:
        """Fails once the twin has ended: Serve then starts another replica."""
        if self._process.poll() is not None:
            raise RuntimeError("the engine has ended")

    def _answers(self) -> bool:
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"{self._base}/health", timeout=5),
        ):
            return True
        return False

    def __del__(self) -> None:
        self._process.terminate()


class _Exporter:
    """The twin's metrics become Ray's, every second."""

    def __init__(self, base: str, replica: str) -> None:
        self._base, self._replica = base, replica
        self._made: dict[str, Any] = {}
        self._last: dict[tuple[str, Labels], float] = {}

    def run(self) -> None:
        """Does not end."""
        while True:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{self._base}/metrics", timeout=5) as answer,
            ):
                self._export(answer.read().decode())
            time.sleep(EXPORT_EVERY_S)

    def _export(self, page: str) -> None:
        histograms: dict[tuple[str, Labels], list[tuple[float, float]]] = {}
        for line in page.splitlines():
            found = _SAMPLE.match(line)
            if found is None:
                continue
            name, ending, value = found[1], found[2], float(found[4])
            if name.endswith("_created"):
                continue
            labels: Labels = tuple(_LABEL.findall(found[3] or ""))
            match ending:
                case "":
                    self._of(metrics.Gauge, name, labels).set(value, self._tags(labels))
                case "_total":
                    added = self._added(name, labels, value)
                    if added > 0:
                        self._of(metrics.Counter, name, labels).inc(added, self._tags(labels))
                case "_bucket":
                    bound = float(dict(labels)["le"])
                    rest = tuple(label for label in labels if label[0] != "le")
                    histograms.setdefault((name, rest), []).append((bound, value))
        for (name, labels), buckets in histograms.items():
            self._observe(name, labels, buckets)

    def _observe(self, name: str, labels: Labels, buckets: list[tuple[float, float]]) -> None:
        """As many observations as came in, each in the middle of its bucket."""
        bounds = [bound for bound, _ in buckets if bound != float("inf") and bound > 0]
        made = self._of(metrics.Histogram, name, labels, boundaries=bounds)
        below, before = 0.0, 0.0
        for bound, total in buckets:
            upper = bound if bound != float("inf") else below * 2 + 1
            count = self._added(f"{name} {bound}", labels, total)
            for _ in range(round(count - before)):
                made.observe((below + upper) / 2, self._tags(labels))
            below, before = upper, count

    def _added(self, name: str, labels: Labels, value: float) -> float:
        last = self._last.get((name, labels), 0.0)
        self._last[name, labels] = value
        return value - last

    def _tags(self, labels: Labels) -> dict[str, str]:
        return {**dict(labels), "ReplicaId": self._replica}

    def _of(self, kind: Any, name: str, labels: Labels, **more: Any) -> Any:
        if name not in self._made:
            keys = (*dict(labels), "ReplicaId")
            own = name.replace(":", "_")
            self._made[name] = kind(own, description=name, tag_keys=keys, **more)
        return self._made[name]
