"""LoRA adapters for an engine without LoRA.

Meaning: --lora-modules are loaded as the server starts. Without --enable-lora the engine has no
place for any.
Impact: "LoRA is not enabled", and the server exits.

Bad:

    vllm serve Qwen/Qwen3-8B --lora-modules sql=/adapters/sql

Good:

    vllm serve Qwen/Qwen3-8B --enable-lora --lora-modules sql=/adapters/sql

Fix: --enable-lora.
Source: vLLM 0.32.0 OpenAIServingModels.init_static_loras, LoRAModelRunnerMixin.add_lora; since
0.7.0 adapters are loaded at start.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

LOADED_AT_START_SINCE = "0.7.0"


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine with adapters and without LoRA."""
    for engine in scene.engines:
        given = engine.arguments.get("lora_modules")
        old = engine.version is not None and engine.version.before(LOADED_AT_START_SINCE)
        if (
            given is None
            or old
            or not engine.complete
            or (engine.has("enable_lora") and engine.is_on("enable_lora") is not False)
        ):
            continue
        yield Found(
            given.place,
            "--lora-modules without --enable-lora: the adapters cannot be loaded, and the server "
            "exits",
            "--enable-lora",
        )


RULE = Rule("lora-modules-without-lora", "adapters for an engine without LoRA", judge, "error")
