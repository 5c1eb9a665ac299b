"""A memory share that gives much of the card away.

Meaning: what the share leaves out is taken from the KV pool one for one. "At most 0.7" is old
advice against out-of-memory errors; against KV pressure it does the opposite.
Impact: fewer requests at once, more preemption, on a card that has the memory.

Bad:

    vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.6

Good:

    vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.9

Fix: 0.90 or more where the engine has the card to itself; where it shares the card, say so and
suppress this rule there.
Source: vLLM 0.32.0 v1/worker/gpu_worker.py; the guide's page on prevention.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.settings.defaults import assumed_default
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every share of at most 0.75 on a card of its own."""
    for engine in scene.engines:
        argument = engine.arguments.get("gpu_memory_utilization")
        share = argument.number if argument is not None else None
        if (
            argument is None
            or share is None
            or not 0 < share <= 0.75
            or engine.is_cpu
            or engine.has("kv_cache_memory_bytes")
        ):
            continue
        usual = float(assumed_default("gpu_memory_utilization"))
        yield Found(
            argument.place,
            f"--gpu-memory-utilization {share:g} takes {usual - share:.0%} of the card "
            "away from the KV pool",
            f"0.90 to {usual:g}",
        )


RULE = Rule(
    "utilization-low", "a memory share that gives the pool away", judge, "note", "medium", "pedant"
)
