"""Where a pod's engine answers: the port and scheme of its HTTP server, from its command line,
probes and ports.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from barostat.engines.vllm.command_line.arguments import parse
from barostat.platform.objects import Object, count, mapping, objects, text
from barostat.platform.pods import (
    RAY_CLUSTER,
    Container,
    container_named,
    engine_container,
    looks_like_vllm,
)

DEFAULT_PORT = 8000
"""Default port of `vllm serve`."""
_WORKER = re.compile(
    r"\bray\s+start\b(?!.*(?:--head\b|vllm\s+serve))|multi-node-serving\.sh\s+worker|(?:^|\s)--headless\b",
    re.DOTALL,
)
_SERVER_PORTS = (
    "http",
    "api",
    "server",
    "vllm",
    "openai",
    "metrics",
    "http1",
    "h2c",
    "user-port",
    "container-port",
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One place to ask, and why there."""

    port: int
    scheme: str = "http"
    because: str = ""


def serves(pod: Object) -> bool:
    """False for the workers of an engine that spans several pods: only its head has an HTTP
    server. In each pod of a RayCluster, Ray's agent shows the engines that run there.
    """
    if text(pod, "metadata", "labels", RAY_CLUSTER):
        return True
    container = engine_container(pod)
    return container is None or not _WORKER.search(" ".join(container.args))


def endpoints(pod: Object) -> tuple[Endpoint, ...]:
    """Return candidate metrics endpoints of a pod, the likeliest first; never empty.

    Source: vLLM's --port and --ssl-keyfile; prometheus.io annotations; httpGet probes;
    containerPort names.
    """
    container = engine_container(pod)
    if container is None:
        return (Endpoint(DEFAULT_PORT, because="vLLM's default"),)
    line = parse(container.args, container.env)
    secure = "https" if line.text("ssl_keyfile") or line.text("ssl_certfile") else "http"
    found: list[Endpoint] = []
    port = _number(line.text("port"))
    if port is not None:
        found.append(Endpoint(port, secure, "--port"))
    elif looks_like_vllm(pod) and line.model is not None and _is_vllms(pod, container):
        found.append(Endpoint(DEFAULT_PORT, secure, "vLLM's default"))
    for kind in ("readiness", "startup", "liveness"):
        get = mapping(container.probes.get(kind), "httpGet")
        if (number := _probe_port(get, pod, container)) is not None:
            found.append(
                Endpoint(
                    number,
                    "https" if text(get, "scheme").upper() == "HTTPS" else secure,
                    f"the {kind} probe",
                )
            )
    annotated = _number(text(pod, "metadata", "annotations", "prometheus.io/port"))
    if annotated is not None:
        found.append(Endpoint(annotated, secure, "the annotation prometheus.io/port"))
    named = _named(pod, container.name)
    found += [
        Endpoint(number, secure, f"containerPort {name}")
        for name, number in named
        if name in _SERVER_PORTS
    ]
    found += [Endpoint(number, secure, "containerPort") for _, number in named]
    found.append(Endpoint(DEFAULT_PORT, secure, "vLLM's default"))
    first: dict[int, Endpoint] = {}
    for endpoint in found:
        first.setdefault(endpoint.port, endpoint)
    return tuple(first.values())


def _is_vllms(pod: Object, container: Container) -> bool:
    """True for vLLM's own command line, and not that of a script around it, which may pass another
    port.
    """
    own = container_named(pod, container.name)
    return not own.get("command") or any("vllm" in word for word in container.args)


def _named(pod: Object, container: str) -> list[tuple[str, int]]:
    entries = objects(container_named(pod, container), "ports")
    return [
        (text(entry, "name"), number)
        for entry in entries
        if (number := count(entry, "containerPort")) is not None
        and text(entry, "protocol") in ("", "TCP")
    ]


def _probe_port(get: Object, pod: Object, container: Container) -> int | None:
    name = text(get, "port")
    if not name:
        return count(get, "port")
    return _number(name) or next(
        (number for written, number in _named(pod, container.name) if written == name), None
    )


def _number(written: str | None) -> int | None:
    return (
        int(written)
        if written and written.isascii() and written.isdigit() and 0 < int(written) < 65536
        else None
    )
