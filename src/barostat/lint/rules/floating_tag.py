"""An image whose tag moves.

Meaning: `latest`, `nightly` or no tag at all: which engine runs is decided by when a node pulled
it.
Impact: arguments that do nothing or no longer exist, other defaults, other metric names; replicas
that differ; no way back.

Bad:

    docker run vllm/vllm-openai:latest --model Qwen/Qwen3-8B

Good:

    docker run vllm/vllm-openai:v0.32.0 --model Qwen/Qwen3-8B

Fix: a version, or a digest.
Source: vLLM's release notes: default share 0.90 to 0.92 in 0.20.0, arguments removed in 0.18.0,
0.27.0, 0.28.0.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._images import vllms_own


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine whose image moves. An image that compose builds is pulled from nowhere, and
    values with an empty tag leave it to their chart.
    """
    for engine in scene.engines:
        if engine.floating and engine.image is not None and not engine.built:
            if engine.image.text.endswith(":"):
                continue
            tag = engine.image.text.rpartition(":")[2]
            named = (
                f"the tag {tag} moves"
                if ":" in engine.image.text.rsplit("/", 1)[-1]
                else "the image has no tag, which is latest"
            )
            fix = (
                "a version, such as v0.32.0"
                if vllms_own(engine.image.text)
                else "a tag that stays, or a digest"
            )
            yield Found(
                engine.image.place,
                f"{named}: which vLLM runs depends on when it was pulled",
                fix,
            )


RULE = Rule("floating-tag", "an image whose tag moves", judge, "warning")
