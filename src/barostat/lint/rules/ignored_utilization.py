"""A memory share beside a pool size that makes the engine ignore it.

Meaning: with `--kv-cache-memory-bytes` the pool has that size, and `--gpu-memory-utilization` is not read.
Impact: whoever changes the share to end an out-of-memory error changes nothing.

Bad:

    vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.8 --kv-cache-memory-bytes 20G

Good:

    vllm serve Qwen/Qwen3-8B --kv-cache-memory-bytes 20G

Fix: keep one of the two.
Source: vLLM 0.10.2 to 0.33.0, v1/worker/gpu_worker.py (determine_available_memory).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.edits import without_argument
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every share that is overruled."""
    for engine in scene.engines:
        share = engine.arguments.get("gpu_memory_utilization")
        if share is not None and engine.has("kv_cache_memory_bytes"):
            yield Found(
                share.place,
                "--gpu-memory-utilization is ignored beside --kv-cache-memory-bytes",
                "keep one of the two",
                without_argument(scene, share),
            )


RULE = Rule("ignored-utilization", "a memory share that a pool size overrules", judge, "warning")
