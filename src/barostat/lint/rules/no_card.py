"""An engine for GPUs in a container that asks for none.

Meaning: without `nvidia.com/gpu` (or `amd.com/gpu`, or a resource claim) among its limits a
container gets no card, or, with the NVIDIA runtime as the default, every card of the node,
uncounted.
Impact: "No CUDA GPUs are available", or two pods on one card.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"]}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: a limit of as many cards as the parallel sizes take.
Source: Kubernetes device plugins; NVIDIA container toolkit.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every container for GPUs without one."""
    for engine in scene.engines:
        host, pod = engine.host, engine.pod
        if (
            host is None
            or pod is None
            or not pod.raw
            or engine.is_cpu
            or not (engine.own_image or engine.card_hint)
            or host.gpus != 0
            or host.gpu_requested_only
        ):
            continue
        device = engine.arguments.get("device")
        if device is not None and device.text == "cpu":
            continue
        yield Found(engine.place, "the container asks for no card: vLLM finds none, or takes one that is another "
                    "pod's", "resources.limits: nvidia.com/gpu",
                    confidence="medium")  # fmt: skip


RULE = Rule("no-card", "an engine for GPUs without one", judge, "warning", "medium")
