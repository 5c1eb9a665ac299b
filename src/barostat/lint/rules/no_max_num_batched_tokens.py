"""The token budget of a step is left to the version's default.

Meaning: `--max-num-batched-tokens` is not set: 2048, 8192 or 16384 by version and card. It sets the
peak of activations and how long a prompt's piece stops the others.
Impact: an upgrade or another card changes latency and the size of the pool.

Bad:

    vllm serve Qwen/Qwen3-8B

Good:

    vllm serve Qwen/Qwen3-8B --max-num-batched-tokens 8192

Fix: 2048 to 8192, tried at the longest prompts: `barostat tune`.
Source: vLLM 0.8.0 to 0.33.0 EngineArgs.get_batch_defaults; the prevention checklist.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine without the budget."""
    for engine in scene.engines:
        if engine.complete and not engine.has("max_num_batched_tokens"):
            yield Found(
                engine.place,
                "--max-num-batched-tokens is left to the version's default (2048, 8192 or 16384)",
                "--max-num-batched-tokens",
            )


RULE = Rule(
    "no-max-num-batched-tokens",
    "no token budget per step",
    judge,
    "note",
    "high",
    "pedant",
    topic="limits",
)
