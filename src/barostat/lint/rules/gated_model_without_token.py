"""A model that Hugging Face gives only to those who accepted its licence, and no token to show.

Meaning: the engine fetches its weights from the Hub under that name (no volume holds them, no
mirror is named), the model is gated, and no variable of the container has a token.
Impact: the server exits ("401 Client Error", "Cannot access gated repo"), again and again.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "meta-llama/Llama-3.1-8B-Instruct"], resources: {limits: {nvidia.com/gpu:
      1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "meta-llama/Llama-3.1-8B-Instruct"], resources: {limits: {nvidia.com/gpu:
      1}}, env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}]}]}}

Fix: `HF_TOKEN` from a Secret, of an account that accepted the licence; or a volume with the weights
and its path as the model.
Source: Hugging Face Hub, "Gated models"; model cards of meta-llama (Llama 2 to 4) and google (Gemma
1 to 3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule

_GATED = re.compile(
    r"meta-llama/(?:Meta-)?(?:Llama|CodeLlama)-[\w.-]+|google/(?:code|recurrent)?gemma-(?:1\.1-|[23]n?-)?[Ee]?\d+[bBmM](?:-[\w.-]+)?"
)
_BY_ANOTHER_WAY = ("hf_token", "download_dir", "load_format")
_VARIABLES = re.compile(
    r"TOKEN|^HF_|^HUGGING|^TRANSFORMERS_|MODELSCOPE|^AWS_|_PROXY$", re.IGNORECASE
)
_OWN = re.compile(r"(?:[\w.-]+/)*vllm/vllm-openai[\w-]*(?:[:@]|$)")


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine of the project's own image that fetches such a model without a token."""
    for engine in scene.engines:
        model = engine.model
        if (
            model is not None
            and _GATED.fullmatch(model.text) is not None
            and _fetches_without(engine)
        ):
            yield Found(
                model.place,
                f"{model.text} is gated, and the container has no token: Hugging Face "
                "answers 401 and the server exits",
                "HF_TOKEN from a Secret (valueFrom.secretKeyRef)",
            )


def _fetches_without(engine: Engine) -> bool:
    """True if the weights can come from nowhere but the Hub, and no variable can hold a
    token.
    """
    told = (
        engine.form == "manifest"
        and engine.complete
        and engine.env_complete
        and engine.pod is not None
        and engine.pod.raw
    )
    if (
        not told
        or engine.host is None
        or engine.host.has_cache
        or any(engine.has(name) for name in _BY_ANOTHER_WAY)
    ):
        return False
    image = engine.image.text if engine.image is not None else ""
    return _OWN.match(image) is not None and not any(
        _VARIABLES.search(name) for name in [*engine.env, *engine.env_secret]
    )


RULE = Rule(
    "gated-model-without-token", "a gated model, and no token to show", judge, "error", "medium"
)
