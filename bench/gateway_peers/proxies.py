"""Each proxy that bench/gateway.py measures, and the command and configuration that start it on one
core before one upstream.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.gateway_peers import configurations
from dev import setup_envoy, setup_gateway_peers
from dev.debian import libraries

HERE = Path(__file__).resolve().parent
PEERS = setup_gateway_peers.TARGET
COMPILED = HERE.parents[1] / ".compiled" / "bin" / "python"
"""Has the gateway's hot half compiled (`make compiled`)."""


@dataclass(frozen=True)
class Proxy:
    """How one proxy is started; `rate` is the pace at which it is asked for latencies, in
    requests/s; `streams` what it can hold open.
    """

    name: str
    command: Callable[[int, int, Path], list[str]]
    environment: dict[str, str] = field(default_factory=dict)
    rate: float = 2000.0
    slow: bool = False
    startup_s: float = 20.0


def _written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def _nginx(port: int, upstream: int, folder: Path) -> list[str]:
    program = str(PEERS / "usr" / "sbin" / "nginx")
    return [
        program,
        "-p",
        str(folder),
        "-e",
        "stderr",
        "-c",
        _written(folder, "nginx.conf", configurations.nginx(port, upstream)),
    ]


def _haproxy(port: int, upstream: int, folder: Path) -> list[str]:
    return [
        str(PEERS / "usr" / "sbin" / "haproxy"),
        "-f",
        _written(folder, "haproxy.cfg", configurations.haproxy(port, upstream)),
    ]


def _envoy(port: int, upstream: int, folder: Path) -> list[str]:
    written = _written(folder, "envoy.yaml", configurations.envoy(port, upstream))
    return [
        str(setup_envoy.PROGRAM),
        "-c",
        written,
        "--concurrency",
        "1",
        "--log-level",
        "error",
        "--disable-hot-restart",
    ]


def _vllm_router(port: int, upstream: int, _folder: Path) -> list[str]:
    worker = f"http://127.0.0.1:{upstream}"
    options = [
        "--policy",
        "round_robin",
        "--log-level",
        "error",
        "--prometheus-port",
        str(port + 500),
        "--disable-retries",
    ]
    program = str(PEERS / "router" / "bin" / "vllm-router")
    return [
        program,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--worker-urls",
        worker,
        "--max-concurrent-requests",
        "8192",
        *options,
    ]


def _aiohttp(port: int, upstream: int, _folder: Path) -> list[str]:
    return [
        str(PEERS / "router" / "bin" / "python"),
        str(HERE / "aiohttp_proxy.py"),
        str(port),
        f"http://127.0.0.1:{upstream}",
    ]


def _bare(port: int, upstream: int, _folder: Path) -> list[str]:
    return [str(COMPILED), str(HERE / "bare_proxy.py"), str(port), str(upstream)]


def _litellm(port: int, upstream: int, folder: Path) -> list[str]:
    written = _written(folder, "litellm.yaml", configurations.litellm(upstream))
    return [
        str(PEERS / "litellm" / "bin" / "litellm"),
        "--config",
        written,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--num_workers",
        "1",
    ]


def _ours(python: str, port: int, upstream: int, folder: Path) -> list[str]:
    limits = _written(folder, "limits.yaml", configurations.limits())
    keys = _written(folder, "keys", configurations.keys())
    return [
        python,
        "-m",
        "barostat",
        "gateway",
        "--limits",
        limits,
        "--upstream",
        f"http://127.0.0.1:{upstream}",
        "--port",
        str(port),
        "--admin-port",
        str(port + 400),
        "--keys",
        keys,
        "--access-log",
        str(folder / "access.log"),
    ]


def _barostat(port: int, upstream: int, folder: Path) -> list[str]:
    return _ours(str(COMPILED), port, upstream, folder)


def _pure(port: int, upstream: int, folder: Path) -> list[str]:
    return _ours(sys.executable, port, upstream, folder)


def proxies() -> Iterator[Proxy]:
    """Ours first; then from the leanest to the heaviest."""
    debian = {"LD_LIBRARY_PATH": libraries(PEERS)}
    quiet = {
        "LITELLM_LOG": "ERROR",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_TELEMETRY": "False",
        "NO_DOCS": "True",
    }
    yield Proxy("barostat", _barostat)
    yield Proxy("pure", _pure)
    yield Proxy("haproxy", _haproxy, debian)
    yield Proxy("nginx", _nginx, debian)
    yield Proxy("envoy", _envoy)
    yield Proxy("vllm-router", _vllm_router, {"TOKIO_WORKER_THREADS": "1"})
    yield Proxy("bare", _bare)
    yield Proxy("aiohttp", _aiohttp)
    yield Proxy("litellm", _litellm, quiet, rate=20.0, slow=True, startup_s=90.0)


def environment(proxy: Proxy) -> dict[str, str]:
    """What this proxy sees of the environment: ours and its own."""
    return {**os.environ, **proxy.environment}
