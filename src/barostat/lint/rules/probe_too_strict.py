"""One slow answer takes the replica out of rotation.

Meaning: A readiness probe with `failureThreshold: 1` and a timeout of 1 s counts one answer that
takes longer as "not ready". A busy API server, which splits long prompts into tokens or parses
images, answers /health late now and then.
Impact: The replica leaves rotation under load, its requests go to the others, and these leave in
turn; a single replica serves no requests until the next probe.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"], resources: {limits:
    {nvidia.com/gpu: 1}}, readinessProbe: {httpGet: {path: /health, port: 8000}, failureThreshold:
    1}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"], resources: {limits:
    {nvidia.com/gpu: 1}}, readinessProbe: {httpGet: {path: /health, port: 8000}, timeoutSeconds: 5,
    failureThreshold: 3}}]}}

Fix: `timeoutSeconds: 5` and the default `failureThreshold` of 3.
Source: Kubernetes, "Configure Liveness, Readiness and Startup Probes"; vLLM 0.32.0 (/health is
answered by the process that tokenizes).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

_LATE_S = 1.0


def judge(scene: Scene) -> Iterator[Found]:
    """Every readiness probe that one late answer fails."""
    for engine in scene.engines:
        probe = engine.host.probes.get("readiness") if engine.host is not None else None
        if probe is None or probe.failures > 1 or probe.timeout_s > _LATE_S:
            continue
        yield Found(
            probe.failures_place or probe.place,
            f"one answer that takes longer than {probe.timeout_s:g} s takes the replica out of "
            "rotation, which happens under load",
            "timeoutSeconds: 5 and failureThreshold: 3",
        )


RULE = Rule(
    "probe-too-strict", "one slow answer takes a replica out", judge, "warning", topic="rollout"
)
