"""A card that is requested and not limited.

Meaning: for extended resources such as `nvidia.com/gpu` Kubernetes wants a limit; a request alone
is refused.
Impact: the API server rejects the object: "Limit must be set for non overcommitable resources".

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {requests: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: the same number under `limits`; the request then follows.
Source: Kubernetes validation of core/v1 ResourceRequirements, 1.27 to 1.34.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every card without a limit."""
    for engine in scene.engines:
        host = engine.host
        if (
            host is not None
            and host.gpu_requested_only
            and host.gpu_place is not None
            and engine.pod is not None
            and engine.pod.raw
        ):
            yield Found(
                host.gpu_place,
                "a card is requested and not limited: the API server rejects that",
                "the same number under limits",
            )


RULE = Rule("card-not-limited", "a card that is requested and not limited", judge, "error")
