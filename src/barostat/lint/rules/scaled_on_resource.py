"""An autoscaler on CPU, memory or GPU utilization.

Meaning: an engine takes its share of the card at the start and keeps it, spins on its cores also
when idle, and its card is busy with one request as with fifty. None of them says whether another
replica is needed.
Impact: it never scales, or always, and not when requests wait.

Bad:

    {kind: HorizontalPodAutoscaler, apiVersion: autoscaling/v2, metadata: {name: a}, spec:
    {scaleTargetRef: {kind: Deployment, name: vllm},
      minReplicas: 1, maxReplicas: 4, metrics: [{type: Resource, resource: {name: memory, target:
      {type: Utilization, averageUtilization: 80}}}]}}

Good:

    {kind: HorizontalPodAutoscaler, apiVersion: autoscaling/v2, metadata: {name: a}, spec:
    {scaleTargetRef: {kind: Deployment, name: vllm},
      minReplicas: 1, maxReplicas: 4, metrics: [{type: Pods, pods: {metric: {name:
      vllm_num_requests_waiting}, target: {type: AverageValue, averageValue: "5"}}}]}}

Fix: requests that wait (`vllm:num_requests_waiting`), or queue time.
Source: vLLM 0.32.0 v1/worker/gpu_worker.py (the pool is allocated once);
llm-d/llm-d-autoscaling#662.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.metric_names import WAITING
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._watched import watches_engines

_GPU = (
    "dcgm_fi_dev_gpu_util",
    "gpu_utilization",
    "gpu_memory",
    "dcgm_fi_dev_fb_used",
    "duty_cycle",
    "gpu_util",
    "dcgm_fi_prof_gr_engine_active",
)


def judge(scene: Scene) -> Iterator[Found]:
    """Every resource metric and every GPU metric that engines are scaled on."""
    for scaler in scene.scalers:
        if not watches_engines(scene, scaler):
            continue
        for name, place in scaler.resources:
            if name == "cpu" and (scaler.metrics or scaler.queries):
                continue
            yield Found(
                place,
                f"{scaler.kind} {scaler.name} scales vLLM on {name}, which does not follow "
                "its load",
                WAITING[0],
            )
        gpu = [
            (name, place)
            for name, place, _ in scaler.metrics
            if any(word in name.lower() for word in _GPU)
        ]
        gpu += [
            (query.expression, query.place)
            for query in scaler.queries
            if any(word in query.expression.lower() for word in _GPU)
        ]
        for _, place in gpu:
            yield Found(
                place,
                f"{scaler.kind} {scaler.name} scales vLLM on the card's utilization or "
                "memory, which are high with one request",
                WAITING[0],
            )


RULE = Rule("scaled-on-resource", "scaled on CPU, memory or GPU utilization", judge, "warning")
