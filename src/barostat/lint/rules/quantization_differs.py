"""A quantization that is not the checkpoint's.

Meaning: vLLM reads from the model's configuration how its weights are stored. --quantization must
be the same method, or one that is made as the weights are loaded (fp8, bitsandbytes and their like)
of a checkpoint without any. awq and gptq are never made while loading.
Impact: "Quantization method specified in the model config does not match", or "Cannot find the
config file for awq", and the server exits.

Bad:

    vllm serve Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4 --quantization awq

Good:

    vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --quantization awq

Fix: leave --quantization out: vLLM reads the method from the checkpoint.
Source: vLLM 0.32.0 ModelConfig._verify_quantization, model_loader.weight_utils.get_quant_config.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.catalog.models import find_model
from barostat.lint.edits import without_argument
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

_FAMILY = {
    "awq": "AWQ",
    "awq_marlin": "AWQ",
    "auto_awq": "AWQ",
    "gptq": "GPTQ",
    "gptq_marlin": "GPTQ",
    "gptq_bitblas": "GPTQ",
    "auto_gptq": "GPTQ",
}
"""Methods of checkpoints made beforehand; no other method is judged."""
_NAMED = (
    ("AWQ", re.compile(r"(?:^|[-_.])awq(?:[-_.]|$)", re.IGNORECASE)),
    ("GPTQ", re.compile(r"(?:^|[-_.])gptq(?:[-_.]|$)", re.IGNORECASE)),
)
_OTHER = re.compile(
    r"awq|gptq|int[48]|[48]-?bit|w\da\d+|fp[48]|quant|bnb|gguf|autoround|nvfp4|mxfp4|marlin|mixed",
    re.IGNORECASE,
)


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that asks for AWQ or GPTQ of a checkpoint that certainly has another form."""
    for engine in scene.engines:
        given, model = engine.arguments.get("quantization"), engine.model
        family = _FAMILY.get((given.text or "").lower()) if given is not None else None
        if given is None or family is None or model is None:
            continue
        own = _form_of(model.text)
        if own is None or own == family:
            continue
        known = own == "" and find_model(model.text) is not None
        yield Found(
            given.place,
            f"{given.spelled}: {model.text} is "
            + (f"a {own} checkpoint" if own else "not quantized, and vLLM does not make that form"),
            "leave --quantization out",
            without_argument(scene, given),
            severity=None if known or own else "warning",
        )


def _form_of(name: str) -> str | None:
    """Return the weight format that the name states: "" for a published unquantized checkpoint,
    None if unknown.
    """
    last = name.rstrip("/").rsplit("/", 1)[-1]
    said = [form for form, pattern in _NAMED if pattern.search(last)]
    if said:
        return said[0] if len(said) == 1 else None
    found = find_model(name) if not _OTHER.search(last) else None
    exact = found is not None and found.name.lower() == name.lower()
    return (
        "" if exact and found is not None and not found.config.get("quantization_config") else None
    )


RULE = Rule("quantization-differs", "another quantization than the model's", judge, "error")
