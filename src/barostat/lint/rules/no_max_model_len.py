"""How long one request may be is left to the model.

Meaning: `--max-model-len` is not set, so it is what the model's configuration says: 32 k, 128 k, 1
M.
Impact: one request may take most of the pool; and where the pool is smaller than that, the engine
does not start.

Bad:

    vllm serve Qwen/Qwen3-8B

Good:

    vllm serve Qwen/Qwen3-8B --max-model-len 16384

Fix: what the traffic needs, with a margin; long prompts in a deployment of their own.
Source: vLLM 0.32.0 ModelConfig; the prevention checklist.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine without the limit."""
    for engine in scene.engines:
        if engine.complete and not engine.has("max_model_len"):
            own = (
                f" ({engine.planned.positions:,} tokens)"
                if engine.planned is not None and engine.planned.positions
                else ""
            )
            yield Found(
                engine.place,
                f"--max-model-len is left to the model's own{own}",
                "what the traffic needs, with a margin",
            )


RULE = Rule(
    "no-max-model-len",
    "no limit on a request's length",
    judge,
    "note",
    "high",
    "pedant",
    topic="limits",
)
