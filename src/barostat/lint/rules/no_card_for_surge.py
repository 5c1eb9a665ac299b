"""A rollout that needs a card more than there is.

Meaning: a rolling update starts the new pod before it takes the old one away (maxSurge 25 % is one
pod, maxUnavailable 25 % of up to three is none). The new pod needs its cards while the old one
holds its own.
Impact: where no such cards are free, the new pod is Pending, and the rollout never ends. A claim
that one node at a time can mount (ReadWriteOnce) ties the new pod to the node whose cards are
taken.

Bad:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {replicas: 1, template:
    {spec: {containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B", "-tp", "8"], resources:
      {limits: {nvidia.com/gpu: 8}}}]}}}}

Good:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {replicas: 1, strategy:
    {type: Recreate},
      template: {spec: {containers:
      [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B", "-tp", "8"],
      resources: {limits: {nvidia.com/gpu: 8}}}]}}}}

Fix: keep spare cards; or `maxSurge: 0` with `maxUnavailable: 1` and at least two replicas; or
Recreate, with the outage that it is.
Source: Kubernetes Deployment strategy (rounding of percentages); kaito-project/kaito#1132,
kserve/kserve#5452.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from barostat.lint.facts import Given, Pod, Scene
from barostat.lint.rule import Found, Rule

MANY_CARDS = 4


def judge(scene: Scene) -> Iterator[Found]:
    """Every Deployment whose rollout waits for cards; for several of them, which are rarely free,
    it is said to everybody.
    """
    for engine in scene.engines:
        pod, host = engine.pod, engine.host
        cards = host.gpus if host is not None else None
        if pod is None or pod.kind != "Deployment" or not cards or pod.strategy == "Recreate":
            continue
        surge, unavailable = rollout(pod)
        if surge > 0 and unavailable == 0:
            yield Found(
                pod.strategy_place or pod.place,
                f"a rollout starts a new pod with {cards:.0f} "
                f"card{'s' if cards > 1 else ''} before an old one goes: "
                "without as many free it never ends",
                "maxSurge: 0 with two replicas or more, Recreate, or spare cards",
                persona="ordinary" if cards >= MANY_CARDS else None,
            )


def rollout(pod: Pod) -> tuple[int, int]:
    """maxSurge and maxUnavailable in pods, as Kubernetes rounds them."""
    replicas = pod.replicas if pod.replicas is not None else 1
    return _pods(pod.max_surge, replicas, math.ceil), _pods(
        pod.max_unavailable, replicas, math.floor
    )


def _pods(given: Given | None, replicas: int, rounded: Callable[[float], int]) -> int:
    text = given.text if given is not None else "25%"
    try:
        return int(rounded(float(text[:-1]) * replicas / 100)) if text.endswith("%") else int(text)
    except ValueError:
        return 1


RULE = Rule(
    "no-card-for-surge",
    "a rollout that needs a card more",
    judge,
    "warning",
    "medium",
    "pedant",
    topic="rollout",
)
