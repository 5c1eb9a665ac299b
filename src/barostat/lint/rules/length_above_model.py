"""Context length above the model's maximum.

Meaning: `--max-model-len` is above what the model's configuration allows. The engine refuses to
start, unless positions are scaled (`--hf-overrides`, `--rope-scaling`) or
VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 forces it, which yields wrong output beyond the model's length.
Impact: the server refuses to start; forced, answers to long prompts are wrong.

Bad:

    vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 131072

Good:

    vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768

Fix: set at most the model's maximum.
Source: vLLM 0.32.0 config/model.py (_get_and_verify_max_len).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

_SCALES = ("hf_overrides", "rope_scaling", "rope_theta")


def judge(scene: Scene) -> Iterator[Found]:
    """Find lengths above the model's maximum."""
    for engine in scene.engines:
        argument, plan = engine.arguments.get("max_model_len"), engine.planned
        length = argument.number if argument is not None else None
        if (
            argument is None
            or length is None
            or plan is None
            or not plan.positions
            or length <= plan.positions
        ):
            continue
        if any(name.partition(".")[0] in _SCALES for name in engine.arguments):
            continue
        forced = engine.env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN")
        is_forced = forced is not None and forced.text == "1"
        yield Found(
            argument.place,
            f"--max-model-len {length:,.0f} is above the model's maximum of {plan.positions:,}: "
            + (
                "VLLM_ALLOW_LONG_MAX_MODEL_LEN forces it, and output beyond the maximum is wrong"
                if is_forced
                else "the engine refuses to start"
            ),
            f"at most {plan.positions}",
            severity="warning" if is_forced else None,
            confidence=None if is_forced else "medium",
        )


RULE = Rule("length-above-model", "a context longer than the model's", judge, "error", "medium")
