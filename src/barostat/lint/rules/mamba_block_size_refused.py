"""A size of Mamba blocks that the engine refuses.

Meaning: --mamba-block-size says at which tokens prefix caching keeps the states of a hybrid model.
Without prefix caching there are none to keep. It has to be a multiple of 8.
Impact: "--mamba-block-size can only be set with --enable-prefix-caching", and the server exits.

Bad:

    vllm serve Qwen/Qwen3.6-35B-A3B --no-enable-prefix-caching --mamba-block-size 8192

Good:

    vllm serve Qwen/Qwen3.6-35B-A3B --enable-prefix-caching --mamba-block-size 8192

Fix: leave one of the two out.
Source: vLLM 0.32.0 VllmConfig.validate_mamba_block_size, CacheConfig.mamba_block_size.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.edits import without_argument
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine with such a size."""
    for engine in scene.engines:
        given = engine.arguments.get("mamba_block_size")
        size = given.number if given is not None else None
        if given is None or size is None:
            continue
        if engine.is_on("enable_prefix_caching") is False and size != engine.number(
            "max_model_len"
        ):
            yield Found(
                given.place,
                "--mamba-block-size without prefix caching: vLLM refuses to start",
                "leave it out",
                without_argument(scene, given),
            )
        elif size % 8:
            yield Found(
                given.place,
                f"--mamba-block-size {size:.0f} is no multiple of 8",
                f"{8 * round(size / 8 + 0.5):.0f}",
                severity="warning",
            )


RULE = Rule("mamba-block-size-refused", "a size of Mamba blocks that is refused", judge, "error")
