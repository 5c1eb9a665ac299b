"""A pool set by hand in blocks, whatever memory the card has.

Meaning: `--num-gpu-blocks-override` is vLLM's knob for tests: the pool has that many blocks,
checked against nothing before 0.21.
Impact: too few blocks waste the card, too many end in CUDA out of memory.

Bad:

    vllm serve Qwen/Qwen3-8B --num-gpu-blocks-override 2048

Good:

    vllm serve Qwen/Qwen3-8B --kv-cache-memory-bytes 20G

Fix: size the pool with `--gpu-memory-utilization` or `--kv-cache-memory-bytes`.
Source: vLLM 0.32.0 CacheConfig.num_gpu_blocks_override.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every pool that is set in blocks."""
    for engine in scene.engines:
        argument = engine.arguments.get("num_gpu_blocks_override")
        if (
            argument is not None
            and not engine.is_cpu
            and not (engine.host is not None and engine.host.other_device)
        ):
            yield Found(
                argument.place,
                f"{argument.spelled} sets the pool by hand, regardless of the card's memory",
                "--kv-cache-memory-bytes",
                confidence="medium",
            )


RULE = Rule("blocks-override", "a pool set by hand in blocks", judge, "warning", "medium")
