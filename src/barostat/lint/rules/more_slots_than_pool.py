"""So many sequences at once that each has room for a few tokens only.

Meaning: `--max-num-seqs` (or its default) times a short request is more than the whole pool. The
engine then admits until the pool is full and preempts as answers grow.
Impact: preemption and recomputation under load: throughput falls when it is needed.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector: {nvidia.com/gpu.product:
    NVIDIA-L4}, containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "meta-llama/Llama-3.1-8B-Instruct",
      "--max-model-len", "8192", "--max-num-seqs", "512"], resources: {limits: {nvidia.com/gpu:
      1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector: {nvidia.com/gpu.product:
    NVIDIA-L4}, containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "meta-llama/Llama-3.1-8B-Instruct",
      "--max-model-len", "8192", "--max-num-seqs", "24"], resources: {limits: {nvidia.com/gpu:
      1}}}]}}

Fix: the pool's tokens divided by a typical request's prompt and answer: `barostat plan` derives it.
Source: vLLM 0.32.0 v1/core/sched/scheduler.py; measured on the real scheduler: 142 preemptions at
256 slots, none at 32.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

FEW_TOKENS = 128


def judge(scene: Scene) -> Iterator[Found]:
    """Every explicit number of slots that the pool cannot fill with even short requests."""
    for engine in scene.engines:
        plan, argument = engine.planned, engine.arguments.get("max_num_seqs")
        slots = argument.number if argument is not None else None
        if (
            plan is None
            or not plan.card
            or not plan.fits
            or argument is None
            or not slots
            or plan.pool_tokens <= 0
        ):
            continue
        if plan.pool_tokens / slots < FEW_TOKENS:
            yield Found(
                argument.place,
                f"{slots:.0f} sequences share a pool of {plan.pool_tokens:,} tokens on "
                f"{plan.card}: "
                f"{plan.pool_tokens / slots:.0f} tokens each, "
                "so it preempts long before they all run",
                f"about {max(1, plan.pool_tokens // 1024)} for requests of 1,024 tokens",
            )


RULE = Rule(
    "more-slots-than-pool",
    "more sequences at once than the pool can hold",
    judge,
    "warning",
    "medium",
)
