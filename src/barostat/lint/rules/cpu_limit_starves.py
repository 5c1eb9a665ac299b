"""A CPU limit that starves the engine.

Meaning: an engine has an API server (HTTP, tokenizer), an engine core that spins, and a worker for
each card. Below two cores and one for each further card they take the time from each other.
Impact: the card waits for the host: high latency, low utilization, throttling that looks like KV
pressure and is none.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1, cpu: "1"}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}, requests: {cpu:
      "8"}}}]}}

Fix: no CPU limit but a request, or a limit of at least four cores and one for each card.
Source: vLLM docs, "CPU resources for GPU deployments" (2 + cards physical cores at least);
vllm-project/vllm#11320, #4806.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every CPU limit below two cores, and one for each card beyond the first."""
    for engine in scene.engines:
        host = engine.host
        if host is None or host.cpu is None or host.cpu_cores is None:
            continue
        needed = 2.0 + max(0, engine.cards - 1)
        if host.cpu_cores < needed:
            yield Found(
                host.cpu.place,
                f"the CPU limit {host.cpu.text} throttles the API server, the engine core "
                f"and {engine.cards} "
                f"worker{'s' if engine.cards > 1 else ''}",
                f"a request instead of a limit, or at least {needed + 2:.0f} cores",
            )


RULE = Rule("cpu-limit-starves", "a CPU limit that starves the engine", judge, "warning")
