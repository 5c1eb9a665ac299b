"""One request of the allowed length needs more KV cache than there is.

Meaning: the engine refuses to start when the pool cannot hold a single request of `--max-model-len`
(or of the model's own length, where that is not set).
Impact: the pod restarts for ever with "larger than the available KV cache memory".

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector: {nvidia.com/gpu.product:
    NVIDIA-L4}, containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "meta-llama/Llama-3.1-8B-Instruct"],
      resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector: {nvidia.com/gpu.product:
    NVIDIA-L4}, containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "meta-llama/Llama-3.1-8B-Instruct",
      "--max-model-len", "8192"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: a smaller `--max-model-len` (`auto` takes the longest that fits, since 0.14), an fp8 KV cache,
or more cards.
Source: vLLM 0.32.0 v1/core/kv_cache_utils.py (check_enough_kv_cache_memory); barostat's planner.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine whose pool is smaller than one request may be."""
    for engine in scene.engines:
        plan = engine.planned
        if (
            plan is not None
            and plan.card
            and not plan.fits
            and not plan.refused
            and not plan.nothing_left
        ):
            length = engine.arguments.get("max_model_len")
            place = (
                length.place
                if length is not None
                else engine.model.place
                if engine.model is not None
                else engine.place
            )
            yield Found(
                place,
                f"{'would' if plan.sure else 'may'} not start on {plan.card}: {plan.sentence}",
                plan.change,
                severity=None if plan.sure else "warning",
                confidence=None if plan.sure else "medium",
            )
            continue
        limits, declared = scene.limits_for(engine), engine.number("max_model_len")
        measured = limits.numbers.get("capacity.kvCacheTokens") if limits is not None else None
        if measured is not None and declared is not None and declared > measured[0]:
            yield Found(
                engine.arguments["max_model_len"].place,
                f"--max-model-len {declared:,.0f} is more than the whole measured pool of "
                f"{measured[0]:,.0f} tokens "
                "(capacity.kvCacheTokens)",
                f"at most {measured[0]:.0f}",
            )


RULE = Rule("pool-too-small", "one request does not fit the pool", judge, "error")
