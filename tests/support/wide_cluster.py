"""A cluster of many engines behind one HTTP API server, in a process of its own: lists page by page,
and each pod's /metrics through the pod proxy. What it shows grows with time as an engine's does.

    python -m tests.support.wide_cluster ENGINES PER_WORKLOAD      prints its port
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE = Path(__file__).parent.parent / "data" / "expositions" / "v1-0.32.0.prom"
SICK_EVERY = 50
"""Every so many engines one preempts."""
_COUNTER = re.compile(
    r"^(vllm:(?:num_preemptions|generation_tokens|prompt_tokens)_total\{.*\}) .*$", re.M
)
_USAGE = re.compile(r"^(vllm:kv_cache_usage_perc\{.*\}) .*$", re.M)
_WAITING = re.compile(r"^(vllm:num_requests_(waiting|running)\w*\{.*\}) .*$", re.M)


def in_a_process(folder: Path, engines: str, workloads: str) -> Iterator[str]:
    """The kubeconfig file of such a cluster, which runs until the next step."""
    command = [sys.executable, "-m", "tests.support.wide_cluster", engines, workloads]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        file = folder / "kubeconfig"
        file.write_text(kubeconfig(int(server.stdout.readline())), encoding="utf-8")
        try:
            yield str(file)
        finally:
            server.terminate()


def kubeconfig(port: int) -> str:
    """A kubeconfig for the server at this port."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "wide",
            "contexts": [{"name": "wide", "context": {"cluster": "wide", "user": "wide"}}],
            "clusters": [{"name": "wide", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "wide", "user": {"token": "observer"}}],
        }
    )


class Wide:
    """The objects and the pages. Engine `i` belongs to workload `i // per_workload`."""

    def __init__(self, engines: int, per_workload: int) -> None:
        self.began = time.monotonic()
        self.page = PAGE.read_text(encoding="utf-8")
        self.lists: dict[str, list[dict[str, Any]]] = {
            "pods": [_pod(i, i // per_workload) for i in range(engines)],
            "nodes": [_node(i) for i in range(0, engines, 8)],
        }
        count = -(-engines // per_workload)
        self.lists["deployments"] = [_deployment(i, per_workload) for i in range(count)]
        self.lists["replicasets"] = [_replica_set(i) for i in range(count)]

    def metrics(self, engine: int) -> str:
        """The page of one engine now. Engines that are alike show the same: this process should
        take little from the machine that it shares with what is measured.
        """
        return self._page(engine % SICK_EVERY == 0, round(time.monotonic() - self.began, 1))

    @lru_cache(maxsize=4)  # noqa: B019 - there is one cluster, as long as the process
    def _page(self, sick: bool, elapsed: float) -> str:
        steps = {
            "num_preemptions": 9.0 if sick else 0.0,
            "generation_tokens": 900.0,
            "prompt_tokens": 2100.0,
        }
        page = _COUNTER.sub(
            lambda found: (
                f"{found[1]} {1e6 + elapsed * next(rate for name, rate in steps.items() if name in found[1]):.1f}"
            ),
            self.page,
        )
        page = _USAGE.sub(lambda found: f"{found[1]} {0.99 if sick else 0.5}", page)
        return _WAITING.sub(
            lambda found: (
                f"{found[1]} {(40.0 if sick else 0.0) if found[2] == 'waiting' else 24.0}"
            ),
            page,
        )

    def answer(self, target: str) -> tuple[int, str]:
        """Status and body."""
        parts = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if "/proxy/" in parts.path:
            name, _, path = parts.path.partition("/pods/")[2].partition("/proxy/")
            engine = int(name.split(":")[0].rsplit("-", 1)[1])
            if path == "metrics":
                return 200, self.metrics(engine)
            return (200, '{"version": "0.32.0"}') if path == "version" else (200, "")
        if parts.path.endswith("/log"):
            return 200, ""
        plural = parts.path.rsplit("/", 1)[-1]
        found = self.lists.get(plural, [])
        by_name = {item["metadata"]["name"]: item for item in self.lists["nodes"]}
        if plural in by_name:
            return 200, json.dumps(by_name[plural])
        if parts.path.endswith(f"/deployments/{plural}"):
            named = [one for one in self.lists["deployments"] if one["metadata"]["name"] == plural]
            return (200, json.dumps(named[0])) if named else (404, "{}")
        if "/namespaces/" in parts.path:
            namespace = parts.path.split("/namespaces/")[1].split("/")[0]
            found = [item for item in found if item["metadata"].get("namespace") == namespace]
        begin, size = int(query.get("continue", 0)), int(query.get("limit", 500))
        metadata = {"resourceVersion": "1"}
        if begin + size < len(found):
            metadata["continue"] = str(begin + size)
        kind = {"metadata": metadata, "kind": "List", "apiVersion": "v1"}
        return 200, json.dumps({**kind, "items": found[begin : begin + size]})


def _meta(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "namespace": f"team-{int(name.split('-')[1]) % 5}", "uid": name, **more}


def _owner(kind: str, name: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}]


def _template(workload: int) -> dict[str, Any]:
    container = {
        "name": "vllm",
        "image": "docker.io/vllm/vllm-openai:v0.32.0",
        "args": ["Qwen/Qwen3-8B", "--max-model-len", "8192"],
        "ports": [{"containerPort": 8000}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    return {"metadata": {"labels": {"app": f"w-{workload}"}}, "spec": {"containers": [container]}}


def _pod(engine: int, workload: int) -> dict[str, Any]:
    template = _template(workload)
    labels = {**template["metadata"]["labels"], "pod-template-hash": "7f9c"}
    meta = _meta(f"w-{workload}-7f9c-{engine}", labels=labels)
    spec = {**template["spec"], "nodeName": f"node-{engine // 8}"}
    states = [
        {
            "name": "vllm",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-11-27T00:00:00Z"}},
        }
    ]
    status = {
        "phase": "Running",
        "podIP": "127.0.0.1",
        "containerStatuses": states,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {
        "metadata": {**meta, "ownerReferences": _owner("ReplicaSet", f"w-{workload}-7f9c")},
        "spec": spec,
        "status": status,
    }


def _deployment(workload: int, replicas: int) -> dict[str, Any]:
    labels = {"app": f"w-{workload}"}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": _template(workload),
    }
    return {"metadata": _meta(f"w-{workload}"), "spec": spec, "status": {"readyReplicas": replicas}}


def _replica_set(workload: int) -> dict[str, Any]:
    meta = _meta(f"w-{workload}-7f9c", ownerReferences=_owner("Deployment", f"w-{workload}"))
    return {"metadata": meta, "spec": {"template": _template(workload)}}


def _node(engine: int) -> dict[str, Any]:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    amounts = {"nvidia.com/gpu": "8", "pods": "110"}
    status = {
        "allocatable": amounts,
        "capacity": amounts,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {
        "metadata": {"name": f"node-{engine // 8}", "labels": labels},
        "spec": {},
        "status": status,
    }


async def serve(engines: int, per_workload: int) -> None:
    """Answer until the process is ended."""
    wide = Wide(engines, per_workload)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                found = re.search(r"(?i)content-length: (\d+)", head)
                if found is not None:
                    await reader.readexactly(int(found[1]))
                status, text = wide.answer(head.split(" ")[1])
                body = text.encode()
                kind = "application/json" if text.startswith("{") else "text/plain"
                writer.write(
                    f"HTTP/1.1 {status} OK\r\ncontent-type: {kind}\r\n"
                    f"content-length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
