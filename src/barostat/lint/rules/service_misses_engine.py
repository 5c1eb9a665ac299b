"""A Service that sends requests where the server does not listen.

Meaning: the Service (or InferencePool) selects the engine's pod and none of its ports leads to the
port of the server (8000 unless `--port` says otherwise), or it leads to a name that no port of the
pod has. `containerPort` opens nothing and changes nothing.
Impact: the pod is ready, and every request is refused.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: {containers: [{name: a,
    image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}
    ---
    {kind: Service, apiVersion: v1, metadata: {name: chat}, spec: {selector: {app: a}, ports:
    [{port: 80}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: {containers: [{name: a,
    image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}
    ---
    {kind: Service, apiVersion: v1, metadata: {name: chat}, spec: {selector: {app: a}, ports:
    [{port: 80, targetPort: 8000}]}}

Fix: `targetPort` is the port of the server, or the name of a containerPort of that number.
Source: core/v1 ServicePort (targetPort is the same as port unless set); vLLM 0.32.0
FrontendArgs.port.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._listens import is_told, port_of
from barostat.lint.rules._watched import leads_to


def judge(scene: Scene) -> Iterator[Found]:
    """Yield every Service with no port that leads to the server."""
    for service in scene.services:
        led = (
            [engine for engine in scene.engines if leads_to(service, engine)]
            if service.targets
            else []
        )
        if len(led) != 1:  # several: of a pod with two engines each may have its own Service
            continue
        port = port_of(scene, led[0])
        if port is None or any(
            _number(target.text, led[0]) in (port, None) for target in service.targets
        ):
            continue
        target = service.targets[0]
        named = not target.text.isdigit() and not _number(target.text, led[0])
        where = (
            f"a port {target.text} that the pod does not have"
            if named
            else f"port {_number(target.text, led[0])}"
        )
        yield Found(
            target.place,
            f"the {service.kind} {service.name} leads to {where}, and the server of "
            f"{led[0].name} listens at {port}",
            f"targetPort: {port}" if service.kind == "Service" else port,
        )


def _number(target: str, engine: Engine) -> str | None:
    """The number of the pod's port; empty for a name that it has no port of, None if it is for
    somebody to fill in.
    """
    number = (
        target
        if target.isdigit()
        else engine.pod.ports.get(target, "")
        if engine.pod is not None
        else ""
    )
    return number if is_told(target) and (not number or number.isdigit()) else None


RULE = Rule(
    "service-misses-engine",
    "a Service that leads where the server does not listen",
    judge,
    "error",
    "medium",
)
