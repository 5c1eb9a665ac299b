"""A rolling update that takes the only replica away.

Meaning: with one replica and `maxSurge: 0` the pod goes before its successor has loaded the model.
Impact: minutes without service at each rollout, while the strategy's name promises none.

Bad:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {replicas: 1, strategy:
    {rollingUpdate: {maxSurge: 0,
      maxUnavailable: 1}},
      template: {spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model",
      "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}

Good:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {replicas: 2, strategy:
    {rollingUpdate: {maxSurge: 0,
      maxUnavailable: 1}},
      template: {spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model",
      "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}

Fix: two replicas, or a spare card and `maxSurge: 1`; `Recreate` where an outage is meant.
Source: Kubernetes Deployment strategy.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules.no_card_for_surge import rollout


def judge(scene: Scene) -> Iterator[Found]:
    """Every Deployment of one replica that gives it up first."""
    for engine in scene.engines:
        pod = engine.pod
        if (
            pod is None
            or pod.kind != "Deployment"
            or pod.strategy == "Recreate"
            or pod.max_surge is None
        ):
            continue
        surge, unavailable = rollout(pod)
        if surge == 0 and pod.replicas == 1:
            effect = (
                "the only replica goes before the next one is loaded"
                if unavailable
                else "nothing may be added and nothing taken away"
            )
            yield Found(
                pod.max_surge.place,
                f"maxSurge 0 with one replica: {effect}",
                "replicas: 2, or Recreate where an outage is meant",
            )


RULE = Rule(
    "no-replica-during-rollout",
    "a rolling update that is an outage",
    judge,
    "warning",
    topic="rollout",
)
