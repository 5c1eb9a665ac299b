"""bfloat16 on a card that does not compute it.

Meaning: bfloat16 needs compute capability 8.0 (A100 and newer). T4 (7.5) and V100 (7.0) have
float16 alone. With --dtype auto vLLM falls back to float16 by itself.
Impact: "Bfloat16 is only supported on GPUs with compute capability of at least 8.0", and the server
exits.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector:
        {nvidia.com/gpu.product: Tesla-T4}, containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-4B", "--dtype", "bfloat16"],
          resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector:
        {nvidia.com/gpu.product: Tesla-T4}, containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-4B", "--dtype", "half"],
          resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: --dtype half, or leave it out.
Source: vLLM 0.32.0 platforms.cuda.CudaPlatform.check_if_supports_dtype; NVIDIA, CUDA GPU compute
capability.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.cards import find_card
from barostat.lint.edits import changed
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that asks for bfloat16 on a card without it."""
    for engine in scene.engines:
        dtype = engine.arguments.get("dtype")
        card = find_card(engine.card_hint) if engine.card_hint else None
        if dtype is None or dtype.text != "bfloat16" or card is None or engine.is_cpu:
            continue
        if card.vendor == "NVIDIA" and float(card.capability) < 8.0:
            yield Found(
                dtype.place,
                f"{card.name} (compute capability {card.capability}) does not compute bfloat16: "
                "vLLM refuses to start",
                "--dtype half",
                changed(dtype.words[-1], "half") if len(dtype.words) == 2 else (),
            )


RULE = Rule("bfloat16-unsupported", "bfloat16 on a card without it", judge, "error")
