"""The engine would not start: what it loads does not fit the card.

Meaning: weights, activations and what lives outside the pool take more than the share of the card's
memory, so nothing is left for the KV cache; computed from the model's architecture, the arguments
and the card that the pod asks for.
Impact: the pod restarts for ever, minutes of loading each time.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector: {nvidia.com/gpu.product:
    NVIDIA-L4}, containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "meta-llama/Llama-3.1-70B-Instruct"],
      resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector: {nvidia.com/gpu.product:
    NVIDIA-L4}, containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-0.6B", "--max-model-len",
      "8192"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: more cards, a quantized checkpoint, a larger card: `barostat plan` says which of them is
enough.
Source: barostat's planner, held against the sizing code of vLLM and public start-up logs
(docs/decisions/memory-model.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine for whose pool nothing is left."""
    for engine in scene.engines:
        plan = engine.planned
        if plan is None or not plan.card or plan.fits or plan.refused or not plan.nothing_left:
            continue
        place = engine.model.place if engine.model is not None else engine.place
        yield Found(
            place,
            f"{'would' if plan.sure else 'may'} not start on {plan.card}: {plan.sentence}",
            plan.change,
            severity=None if plan.sure else "warning",
            confidence=None if plan.sure else "medium",
        )


RULE = Rule("will-not-start", "the model does not fit the card", judge, "error")
