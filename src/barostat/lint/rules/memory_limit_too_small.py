"""A memory limit below what the engine takes in host memory.

Meaning: Python, PyTorch and CUDA take 2 to 3 GiB in the first process and about 1 GiB in each
worker; what is offloaded to the host (`--cpu-offload-gb`, `--kv-offloading-size`) and the CPU
backend's weights and cache come on top.
Impact: OOMKilled while loading, or after hours: exit code 137, and the next start ends the same
way.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--kv-offloading-size", "32"], resources: {limits:
      {nvidia.com/gpu: 1, memory: 16Gi}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--kv-offloading-size", "32"], resources: {limits:
      {nvidia.com/gpu: 1, memory: 48Gi}}}]}}

Fix: 16 GiB and more per engine, and what is offloaded on top.
Source: resident memory of vLLM 0.32.0 processes as measured; cgroup v2 memory.max;
vllm-project/vllm#53042 for offloading.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.core.whole_number import whole_number
from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule

_GIB = 2**30


def judge(scene: Scene) -> Iterator[Found]:
    """Every limit below what the engine certainly takes."""
    for engine in scene.engines:
        host = engine.host
        if host is None or host.memory is None or host.memory_bytes is None:
            continue
        needed, why = _needed(engine)
        if host.memory_bytes < needed * _GIB:
            yield Found(
                host.memory.place,
                f"the memory limit {host.memory.text} is below the {needed:.0f} GiB or so "
                f"that the engine takes: {why}",
                f"at least {needed + 4:.0f}Gi",
            )


def _needed(engine: Engine) -> tuple[float, str]:
    """GiB that the engine certainly takes, and what for."""
    parts = [(2.0 + 1.0 * max(0, engine.cards - 1), "its processes")]
    for name, what in (
        ("cpu_offload_gb", "offloaded weights"),
        ("kv_offloading_size", "the offloaded cache"),
    ):
        amount = engine.number(name)
        if amount:
            parts.append((amount * (engine.ranks if name == "cpu_offload_gb" else 1), what))
    space = engine.env.get("VLLM_CPU_KVCACHE_SPACE")
    if (
        space is not None
        and whole_number(space.text) is not None
        and not (engine.host is not None and engine.host.gpus)
    ):
        parts.append((float(space.text), "the CPU backend's cache"))
        if engine.planned is not None:
            parts.append((engine.planned.weights_bytes / _GIB, "weights"))
    return sum(amount for amount, _ in parts), ", ".join(what for _, what in parts)


RULE = Rule(
    "memory-limit-too-small", "a memory limit below what loading needs", judge, "warning", "medium"
)
