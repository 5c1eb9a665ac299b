"""Requests are sent to a replica that still loads.

Meaning: with neither a readiness nor a startup probe a pod counts as ready as soon as its process
runs; the port opens minutes later, when the model is loaded. (A container with a startup probe is
not ready before that has succeeded.) Where another container of the pod has a readiness probe, that
may wait for the engine: only who asks for everything is told.
Impact: errors at each rollout and each new replica; and a rolling update takes the old pod away
before the new one serves.

Bad:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: {spec:
    {containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"], resources: {limits:
      {nvidia.com/gpu: 1}}}]}}}}

Good:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: {spec:
    {containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"], resources: {limits:
      {nvidia.com/gpu: 1}}, readinessProbe: {httpGet: {path: /health, port: 8000}}}]}}}}

Fix: `readinessProbe: {httpGet: {path: /health, port: 8000}}`, with the port that the engine listens
on (`--port`).
Source: vLLM 0.32.0 entrypoints (the port opens after the engine is up); Kubernetes, readiness
probes; kubelet, prober manager (a container is ready only once it has started).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule

_SERVING = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")


def judge(scene: Scene) -> Iterator[Found]:
    """Every serving workload without a readiness probe."""
    for engine in scene.engines:
        pod, host = engine.pod, engine.host
        if (
            pod is None
            or not pod.raw
            or host is None
            or pod.kind not in _SERVING
            or {"readiness", "startup"} & set(host.probes)
        ):
            continue
        fix = f"readinessProbe: {{httpGet: {{path: /health, port: {_port(engine)}}}}}"
        if pod.gated_by:
            told = (
                "no readinessProbe of its own: whether requests wait for the model is up to "
                f"the one of {pod.gated_by}"
            )
            yield Found(
                engine.place, told, fix, severity="note", confidence="low", persona="pedant"
            )
        else:
            yield Found(
                engine.place,
                "no readinessProbe: requests reach the pod while the model still loads",
                fix,
            )


def _port(engine: Engine) -> str:
    """The port that the engine listens on, as far as its arguments say: 8000 unless set."""
    port = engine.arguments.get("port")
    return f"{port.number:.0f}" if port is not None and port.number is not None else "8000"


RULE = Rule(
    "no-readiness-probe",
    "requests reach a replica that still loads",
    judge,
    "warning",
    topic="rollout",
)
