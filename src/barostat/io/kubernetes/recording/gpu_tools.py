"""Reads the state of the GPUs of pods: from a DCGM exporter on the node or, only on request, from
the vendor's tool in the container.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from barostat.gpus.nvidia import OWN_COLUMNS
from barostat.io.clock import Clock
from barostat.io.engine_http.http import Answer
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import PODS
from barostat.io.kubernetes.client.sockets import Ran, execute
from barostat.io.kubernetes.recording.pod_route import PodRoute
from barostat.judge.evidence.endpoint import Endpoint
from barostat.judge.evidence.recording import GpuText
from barostat.platform.objects import name_of, text
from barostat.platform.pods import engine_container

EXPORTERS = "app.kubernetes.io/name=dcgm-exporter", "app=nvidia-dcgm-exporter", "app=dcgm-exporter"
EXPORTER_PORT = 9400
TOOL_S = 15.0
_NVIDIA = (
    "nvidia-smi",
    f"--query-gpu={','.join(OWN_COLUMNS)}",
    "--format=csv",
)
_TOOLS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("nvidia.com", "nvidia-smi.csv", _NVIDIA),
    ("amd.com", "amd-smi.json", ("amd-smi", "metric", "--json")),
)


async def by_exporter(
    cluster: Cluster, pods: list[Object], clock: Clock
) -> tuple[dict[str, GpuText], list[str]]:
    """Return the exporter's metrics by node, for nodes whose pods have NVIDIA GPUs; and missing
    permissions.
    """
    nodes = {text(pod, "spec", "nodeName") for pod in pods if _vendor(pod) == "nvidia.com"} - {""}
    if not nodes:
        return {}, []
    found: dict[str, Object] = {}
    for labels in EXPORTERS:
        listed = await cluster.list(
            PODS, labels=labels, fields="status.phase=Running", within_s=5.0
        )
        if isinstance(listed, RequestFailed):
            return {}, [listed.right] if listed.kind == "forbidden" else []
        found |= {text(pod, "spec", "nodeName"): pod for pod in listed.items}
        if found:
            break

    async def page(node: str, exporter: Object) -> tuple[str, GpuText] | None:
        namespace, name = text(exporter, "metadata", "namespace"), name_of(exporter)
        door = PodRoute(
            cluster, namespace, name, name, (Endpoint(EXPORTER_PORT),), may_forward=False
        )
        answer = await door.ask("/metrics", within_s=5.0)
        if not isinstance(answer, Answer) or answer.status != 200:
            return None
        return node, GpuText(round(clock.now(), 3), "dcgm.prom", answer.text, door.at("/metrics"))

    pages = await asyncio.gather(
        *(page(node, exporter) for node, exporter in found.items() if node in nodes)
    )
    return dict(entry for entry in pages if entry is not None), []


async def by_tool(cluster: Cluster, pod: Object, clock: Clock) -> GpuText | RequestFailed | None:
    """Return the output of the vendor's tool in the engine's container; None if it has no GPUs. It
    runs a program there, so call it only if the user asked for it.
    """
    container = engine_container(pod)
    tool = next(
        ((kind, command) for vendor, kind, command in _TOOLS if vendor == _vendor(pod)), None
    )
    if container is None or tool is None:
        return None
    kind, command = tool
    namespace, name = text(pod, "metadata", "namespace"), name_of(pod)
    ran = await execute(cluster, namespace, name, container.name, command, TOOL_S)
    if not isinstance(ran, Ran):
        return ran
    return GpuText(
        round(clock.now(), 3), kind, ran.out or ran.err, f"{command[0]} in pod {namespace}/{name}"
    )


def _vendor(pod: Object) -> str:
    container = engine_container(pod)
    limits: Mapping[str, str] = container.limits if container is not None else {}
    return next(
        (
            vendor
            for vendor in ("nvidia.com", "amd.com")
            if any(name.startswith(f"{vendor}/") for name in limits)
        ),
        "",
    )
