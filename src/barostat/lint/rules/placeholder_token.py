"""A placeholder where Hugging Face's token belongs.

Meaning: The variable holds the text of an example, such as `hf_xxxx`. The Hub's client sends it with
every request.
Impact: The Hub answers 401 to a token that it does not know, for public models too, and the server
exits.

Bad:

    services: {a: {image: "vllm/vllm-openai:v0.32.0", command: --model Qwen/Qwen3-8B, environment:
    {HF_TOKEN: hf_xxxxxxxxxxxx}}}

Good:

    services: {a: {image: "vllm/vllm-openai:v0.32.0", command: --model Qwen/Qwen3-8B, env_file:
    .env}}

Fix: A token from a Secret or an env_file, or no variable at all where the model is public.
Source: huggingface_hub (the token of the environment goes with every request; an invalid one is
answered with 401).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

NAMES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_PLACEHOLDER = re.compile(
    r"hf_[xX.*]{3,}|(?:hf_)?(?:your|my|insert|replace|change)[-_ ]?[\w ./-]*|x{3,}|todo|token",
    re.IGNORECASE,
)


def judge(scene: Scene) -> Iterator[Found]:
    """Every token that is plainly none."""
    for engine in scene.engines:
        for name in NAMES:
            given = engine.env.get(name)
            if given is not None and _PLACEHOLDER.fullmatch(given.text.strip()):
                yield Found(
                    given.place,
                    f"{name} is a placeholder: Hugging Face answers 401 to it, for public models "
                    "too",
                    "a token from a Secret or an env_file, or no variable for a public model",
                )


RULE = Rule("placeholder-token", "a placeholder instead of a token", judge, "warning")
