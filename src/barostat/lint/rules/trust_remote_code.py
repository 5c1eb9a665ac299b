"""Code of the model's repository is run.

Meaning: `--trust-remote-code` lets Python files of the model's repository run in the engine. Most
models do not need it any more.
Impact: whoever can write to that repository runs code beside your secrets; without `--revision`
also tomorrow's version of it.

Bad:

    vllm serve Qwen/Qwen3-8B --trust-remote-code

Good:

    vllm serve Qwen/Qwen3-8B

Fix: take it out where the model loads without it; else pin the repository with `--revision COMMIT`.
Source: Hugging Face transformers, "Custom models"; vLLM 0.32.0 ModelConfig.trust_remote_code.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that runs remote code which no revision pins."""
    for engine in scene.engines:
        argument = engine.arguments.get("trust_remote_code")
        if argument is None or argument.value is not True or engine.has("code_revision"):
            continue
        revision = engine.arguments.get("revision")
        if revision is None or revision.text in ("main", "master", None):
            yield Found(
                argument.place,
                "--trust-remote-code runs code of the model's repository, and no revision "
                "pins which",
                "remove it, or add --revision COMMIT",
            )


RULE = Rule(
    "trust-remote-code", "code of the model's repository is run", judge, "note", "high", "pedant"
)
