"""An autoscaler on CPU or memory of a container that requests none.

Meaning: utilization is a share of what the pod's containers request. Without a request there is no
share, and the autoscaler computes nothing.
Impact: "unable to get metrics: missing request for cpu": the number of replicas never changes.

Bad:

    {kind: HorizontalPodAutoscaler, apiVersion: autoscaling/v2, metadata: {name: a}, spec:
    {scaleTargetRef: {kind: Deployment, name: a}, metrics: [{type: Resource, resource: {name: cpu,
    target: {type: Utilization, averageUtilization: 80}}}]}}
    ---
    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: {spec:
    {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
    resources: {limits: {nvidia.com/gpu: 1}}}]}}}}

Good:

    {kind: HorizontalPodAutoscaler, apiVersion: autoscaling/v2, metadata: {name: a}, spec:
    {scaleTargetRef: {kind: Deployment, name: a}, metrics: [{type: Resource, resource: {name: cpu,
    target: {type: Utilization, averageUtilization: 80}}}]}}
    ---
    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: {spec:
    {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
    resources: {requests: {cpu: 8}, limits: {nvidia.com/gpu: 1}}}]}}}}

Fix: a request of that resource in every container; better, a metric of vLLM's queue.
Source: Kubernetes, Horizontal Pod Autoscaling (support for resource metrics).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._watched import engines_of


def judge(scene: Scene) -> Iterator[Found]:
    """Every autoscaler whose target requests nothing of what it scales on."""
    for scaler in scene.scalers:
        for name, place in scaler.resources:
            if name not in scaler.shares:
                continue
            lacking = [
                engine
                for engine in engines_of(scene, scaler)
                if engine.host is not None
                and engine.pod is not None
                and engine.pod.raw
                and name not in engine.host.requested
            ]
            if lacking:
                yield Found(
                    place,
                    f"{scaler.kind} {scaler.name} scales on {name}, of which {lacking[0].name} "
                    "requests none: it computes nothing",
                    f"resources.requests.{name}, or a metric of the queue",
                )


RULE = Rule("scaled-without-request", "an autoscaler without a request", judge, "warning")
