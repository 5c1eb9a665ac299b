"""One request may take a quarter of the pool and more.

Meaning: the context is so long, against the pool, that four requests of that length fill it. Short
requests behind them wait or are preempted.
Impact: a handful of long prompts is an outage for everybody else.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector: {nvidia.com/gpu.product:
    NVIDIA-L4}, containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "meta-llama/Llama-3.1-8B-Instruct",
      "--max-model-len", "16384"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector: {nvidia.com/gpu.product:
    NVIDIA-L4}, containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "meta-llama/Llama-3.1-8B-Instruct",
      "--max-model-len", "4096"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: a deployment for long contexts and one for short, with a shorter `--max-model-len`.
Source: barostat's planner; the prevention checklist, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

FEW = 4


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine whose pool holds fewer than four of the longest requests."""
    for engine in scene.engines:
        plan = engine.planned
        if (
            plan is None
            or not plan.card
            or not plan.fits
            or not plan.model_len
            or plan.pool_tokens >= FEW * plan.model_len
        ):
            continue
        argument = engine.arguments.get("max_model_len")
        yield Found(
            argument.place if argument is not None else engine.place,
            f"the pool of {plan.pool_tokens:,} tokens on {plan.card} holds "
            f"{plan.pool_tokens / plan.model_len:.1f} requests of {plan.model_len:,} tokens",
            "long contexts in a deployment of their own, a shorter --max-model-len here",
        )


RULE = Rule(
    "long-and-short-together",
    "one request may take a quarter of the pool",
    judge,
    "note",
    "medium",
    "pedant",
)
