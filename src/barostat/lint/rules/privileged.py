"""A privileged container.

Meaning: `privileged: true` gives the container the node. vLLM does not need it: cards come through
the device plugin. A container that uses RDMA or an accelerator without a device plugin has no other
way, so there it is a note for the strict profile only.
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

Fix: take it out; for RDMA a device plugin and `capabilities: {add: [IPC_LOCK]}`.
Source: Kubernetes Pod Security Standards (baseline).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every privileged engine."""
    for engine in scene.engines:
        host = engine.host
        if host is None or host.privileged is None:
            continue
        if host.other_device or host.rdma:
            yield Found(
                host.privileged.place,
                "the container is privileged, as "
                + ("this accelerator" if host.other_device else "RDMA")
                + " needs it only without a device plugin",
                "a device plugin, and IPC_LOCK for RDMA",
                severity="note",
                confidence="medium",
                persona="pedant",
            )
        else:
            yield Found(
                host.privileged.place,
                "the container is privileged: vLLM on GPUs needs no privileges",
                "remove it",
            )


RULE = Rule("privileged", "a privileged container", judge, "warning")
