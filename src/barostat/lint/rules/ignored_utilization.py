"""A memory share beside a pool size that makes the engine size its pool without it.

Meaning: with `--kv-cache-memory-bytes` the pool has that size, whatever `--gpu-memory-utilization`
says. The share is read once more: that much of the card has to be free when the engine starts.
Impact: whoever changes the share to give the pool more or less room changes nothing, except whether
the engine starts beside others.

Bad:

    vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.8 --kv-cache-memory-bytes 20G

Good:

    vllm serve Qwen/Qwen3-8B --kv-cache-memory-bytes 20G

Fix: change the pool by `--kv-cache-memory-bytes`. The share stays where something else holds a part
of the card: without it the engine wants its version's default of it free (0.92 from 0.20.0 on) and
may not start.
Source: vLLM 0.10.2 to 0.33.0, v1/worker/gpu_worker.py (determine_available_memory); 0.32.0
init_device there, v1/worker/utils.py (request_memory).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Yield every utilization that is ignored because a pool size is set."""
    for engine in scene.engines:
        share = engine.arguments.get("gpu_memory_utilization")
        if share is not None and engine.has("kv_cache_memory_bytes"):
            yield Found(
                share.place,
                "--gpu-memory-utilization sizes no pool beside --kv-cache-memory-bytes: it "
                "only wants so much of the card free at start",
                "--kv-cache-memory-bytes for the pool; the share for a start beside others",
            )


RULE = Rule("ignored-utilization", "a memory share that a pool size overrules", judge, "note")
