"""A planned engine in the forms that start one: arguments, a command line, Helm values, a patch for
kustomize, a compose file.

Source: the chart of vLLM's production stack (values.yaml), docker compose's file reference, the
images' entrypoint `vllm serve` (0.11 and later; named here, so that older images start the same).
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable
from typing import Any

from barostat.catalog.cards import is_slice
from barostat.catalog.settings.table import SETTINGS
from barostat.core.units import GIB
from barostat.judge.sizing.engine_start import EngineStart, StartArgument

_PORT = 8000
_LEAST_MEMORY_GIB = 16
_CACHE = "/root/.cache/huggingface"


def _args(start: EngineStart) -> str:
    return shlex.join(start.words)


def _serve(start: EngineStart) -> str:
    return start.command


def _compose(start: EngineStart) -> str:
    service: dict[str, Any] = {
        "image": _image(start),
        "entrypoint": ["vllm", "serve"],
        "command": start.words,
        "ports": [f"{_PORT}:{_PORT}"],
        "volumes": [f"huggingface:{_CACHE}"],
        "ipc": "host",
        "stop_grace_period": "2m",
    }
    if start.environment:
        service["environment"] = dict(start.environment)
    if _is_amd(start):
        service |= {"devices": ["/dev/kfd", "/dev/dri"], "group_add": ["video"]}
    elif not start.is_cpu:
        device = {"driver": "nvidia", "count": start.gpus, "capabilities": ["gpu"]}
        service["deploy"] = {"resources": {"reservations": {"devices": [device]}}}
    return _yaml({"services": {"vllm": service}, "volumes": {"huggingface": {}}})


def _kustomize(start: EngineStart) -> str:
    container: dict[str, Any] = {
        "name": "vllm",
        "image": _image(start),
        "command": ["vllm", "serve"],
        "args": start.words,
    }
    if start.environment:
        container["env"] = [
            {"name": name, "value": value} for name, value in start.environment.items()
        ]
    if not start.is_cpu and not (start.card is not None and is_slice(start.card.name)):
        resource = "amd.com/gpu" if _is_amd(start) else "nvidia.com/gpu"
        container["resources"] = {"limits": {resource: start.gpus}}
    container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
    pod = {
        "containers": [container],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    patch = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "vllm"},
        "spec": {"template": {"spec": pod}},
    }
    return (
        "# A strategic merge patch. Save it beside kustomization.yaml and add it there:\n"
        "#   patches: [{path: vllm-patch.yaml}]\n"
        "# Both names must be those of your Deployment and its container.\n" + _yaml(patch)
    )


def _helm(start: EngineStart) -> str:
    config: dict[str, Any] = {}
    rest: list[str] = []
    for argument in start.arguments:
        setting = SETTINGS.get(argument.name)
        if setting is None or not setting.chart or setting.kind == "bool":
            rest += argument.words  # charts differ in what they make of a switch
        else:
            config[setting.chart] = _scalar(argument)
    if rest:
        config["extraArgs"] = rest
    repository, _, tag = _image(start).rpartition(":")
    memory_gib = max(_LEAST_MEMORY_GIB, math.ceil(start.weights_bytes * start.gpus / GIB) + 8)
    spec: dict[str, Any] = {
        "name": _object_name(start.model),
        "repository": repository,
        "tag": tag,
        "modelURL": start.model,
        "replicaCount": 1,
        "requestCPU": 4 * max(1, start.gpus),
        "requestMemory": f"{memory_gib}Gi",
        "requestGPU": 0 if start.is_cpu else start.gpus,
        "vllmConfig": config,
    }
    if _is_amd(start):
        spec["requestGPUType"] = "amd.com/gpu"
    if start.environment:
        spec["env"] = [{"name": name, "value": value} for name, value in start.environment.items()]
    return (
        "# Values for vLLM's production stack: helm upgrade --install vllm vllm/vllm-stack -f FILE\n"
        + _yaml({"servingEngineSpec": {"modelSpec": [spec]}})
    )


START_FORMS: dict[str, Callable[[EngineStart], str]] = {
    "args": _args,
    "serve": _serve,
    "helm": _helm,
    "kustomize": _kustomize,
    "compose": _compose,
}
"""By the name that `plan -o` has for it."""


def _image(start: EngineStart) -> str:
    name = (
        "vllm-openai-cpu"
        if start.is_cpu
        else "vllm-openai-rocm"
        if _is_amd(start)
        else "vllm-openai"
    )
    return f"vllm/{name}:v{'.'.join(map(str, start.version.release))}"


def _is_amd(start: EngineStart) -> bool:
    return start.card is not None and start.card.vendor == "AMD"


def _object_name(model: str) -> str:
    """The model's name as Kubernetes takes one."""
    return re.sub(r"[^a-z0-9]+", "-", model.rpartition("/")[2].lower()).strip("-")[:40] or "model"


def _scalar(argument: StartArgument) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(argument.value)
        except ValueError:
            continue
    return argument.value


def _yaml(document: dict[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)).rstrip()
