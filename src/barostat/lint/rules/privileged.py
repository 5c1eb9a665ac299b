"""A privileged container.

Meaning: `privileged: true` gives the container the node. vLLM needs that for nothing: cards come
through the device plugin.
Impact: a hole in the engine, in a model's code or in a tokenizer is a hole in the node.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      securityContext: {privileged: true}, args: ["--model", "Qwen/Qwen3-8B"], resources: {limits:
      {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: take it out; for RDMA `capabilities: {add: [IPC_LOCK]}` is enough.
Source: Kubernetes Pod Security Standards (baseline).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every privileged engine."""
    for engine in scene.engines:
        if engine.host is not None and engine.host.privileged is not None:
            yield Found(
                engine.host.privileged.place,
                "the container is privileged: vLLM needs that for nothing",
                "remove it; IPC_LOCK for RDMA",
            )


RULE = Rule("privileged", "a privileged container", judge, "warning")
