"""A memory share that leaves nothing for what lives outside of it.

Meaning: the CUDA context, NCCL's buffers and (before 0.20) the captured graphs are not part of the
share. 0.98 and more leaves little for them on any card; with several cards, or before 0.20, more
than 0.96 does.
Impact: "Free memory on device is less than desired", or CUDA out of memory at the first large
batch.

Bad:

    vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.99

Good:

    vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.92

Fix: 0.90 to 0.95; or `--kv-cache-memory-bytes` with the value that the start-up log suggests.
Source: vLLM 0.32.0 v1/worker/utils.py (request_memory); the cards' totals as PyTorch sees them
(catalog/cards.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every share above what a card has free."""
    for engine in scene.engines:
        argument = engine.arguments.get("gpu_memory_utilization")
        share = argument.number if argument is not None else None
        if (
            argument is None
            or share is None
            or not 0 < share <= 1
            or engine.is_cpu
            or engine.has("kv_cache_memory_bytes")
        ):
            continue
        tight = engine.ranks > 1 or (engine.version is not None and engine.version.before("0.20.0"))
        if share >= 0.98 or (share > 0.96 and tight):
            yield Found(
                argument.place,
                f"--gpu-memory-utilization {share:g} leaves {1 - share:.0%} of the card "
                "for the CUDA context, NCCL "
                "and fragments: what is allocated outside the pool may end in out of memory",
                "0.95 at most",
                severity="error" if share >= 0.995 else None,
            )


RULE = Rule(
    "utilization-too-high",
    "a memory share that leaves nothing outside the pool",
    judge,
    "warning",
    "medium",
)
