"""A NIXL side channel at an address that other pods cannot reach.

Meaning: The prefill engine passes VLLM_NIXL_SIDE_CHANNEL_HOST on to the decode engine, which
connects to it. 0.0.0.0 and localhost are then the decode pod itself. Unset, it is localhost.
Impact: The handshake fails or meets the wrong engine ("engine ID mismatch"), and each prompt is
computed again where it is decoded, silently.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          env: [{name: VLLM_NIXL_SIDE_CHANNEL_HOST, value: 0.0.0.0}], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          env: [{name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath:
          status.podIP}}}], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: the pod's own address: valueFrom.fieldRef.fieldPath status.podIP.
Source: vLLM 0.32.0 envs.VLLM_NIXL_SIDE_CHANNEL_HOST, docs features/nixl_connector_usage; vLLM issue
27083.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

_NOWHERE = ("0.0.0.0", "localhost", "127.0.0.1", "::", "::1")
_NAME = "VLLM_NIXL_SIDE_CHANNEL_HOST"


def judge(scene: Scene) -> Iterator[Found]:
    """Every pod that passes on an address of no use to others."""
    for engine in scene.engines:
        host = engine.env.get(_NAME)
        if host is None or host.text not in _NOWHERE or engine.pod is None:
            continue
        yield Found(
            host.place,
            f"{_NAME}={host.text} is passed on to the decode engine, which then connects to its own "
            "pod",
            "valueFrom: {fieldRef: {fieldPath: status.podIP}}",
        )


RULE = Rule("nixl-host-unreachable", "a side channel that nobody can reach", judge, "warning")
