"""A CPU cache of LMCache that does not fit the container's memory.

Meaning: LMCache pins LMCACHE_MAX_LOCAL_CPU_SIZE GB of host memory in each worker process, one for
each card. That counts against the container's memory limit.
Impact: the container is killed (OOMKilled, exit code 137) as the workers start or as the cache
fills.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          env: [{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: "60"}], resources: {limits: {memory: 48Gi, nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          env: [{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: "20"}], resources: {limits: {memory: 48Gi, nvidia.com/gpu: 1}}}]}}

Fix: a memory limit above the cache times the cards plus a few GiB for the processes, or a smaller
cache.
Source: LMCache docs, configuration (LMCACHE_LOCAL_CPU, LMCACHE_MAX_LOCAL_CPU_SIZE, in GB, per
worker).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.core.whole_number import whole_number
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine whose cache is larger than the memory that it may take."""
    for engine in scene.engines:
        size = engine.env.get("LMCACHE_MAX_LOCAL_CPU_SIZE")
        local = engine.env.get("LMCACHE_LOCAL_CPU")
        memory = engine.host.memory_bytes if engine.host is not None else None
        gigabytes = whole_number(size.text) if size is not None else None
        off = local is not None and local.text.lower() in ("false", "0")
        if size is None or gigabytes is None or memory is None or off:
            continue
        needed = gigabytes * 1e9 * engine.ranks
        if needed > memory:
            workers = f" in each of {engine.ranks} workers" if engine.ranks > 1 else ""
            yield Found(
                size.place,
                f"LMCache pins {gigabytes} GB{workers}, and the container's memory limit is "
                f"{memory / 2**30:.0f} GiB",
                "a smaller cache, or a memory limit above it",
            )


RULE = Rule("lmcache-above-memory", "a CPU cache above the memory limit", judge, "error")
