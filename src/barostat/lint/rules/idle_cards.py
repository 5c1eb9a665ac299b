"""Cards that are paid for and not used.

Meaning: the container asks for more cards than the engine's parallel sizes take; vLLM uses one by
default. A number that is no power of two is rather a share of a card that the device plugin slices
by time: then it is a note for the strict profile, unless the cards are named one by one
(`device_ids` of compose).
Impact: the others stand idle, and no other pod gets them.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 4}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: `--tensor-parallel-size` (or `--data-parallel-size`) to the number of cards, or fewer cards.
Source: vLLM 0.32.0 ParallelConfig; core/v1 ResourceRequirements.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._parallel import sizes_for

_SIZES = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "data_parallel_size_local",
)


def judge(scene: Scene) -> Iterator[Found]:
    """Every container with more cards than its engine takes."""
    for engine in scene.engines:
        host = engine.host
        cards = host.gpus if host is not None else None
        hidden = (
            "CUDA_VISIBLE_DEVICES" in engine.env
            or engine.multi_node
            or not engine.complete
            or _in_stages(engine)
        )
        hidden = hidden or any(
            engine.has(name) and engine.number(name) is None for name in _SIZES
        )  # a variable's, which nothing tells
        if (
            host is None
            or not cards
            or hidden
            or host.gpu_place is None
            or engine.cards >= cards
            or cards > 16
        ):
            continue
        sliced = not host.devices and int(cards) & (int(cards) - 1) != 0
        yield Found(
            host.gpu_place,
            f"the container has {cards:.0f} cards, the engine takes {engine.cards}: "
            f"{cards - engine.cards:.0f} idle",
            _change(engine, int(cards)),
            severity="note" if sliced else None,
            confidence="low" if sliced else None,
            persona="pedant" if sliced else None,
        )


def _change(engine: Engine, cards: int) -> str:
    fewer = f"{engine.cards} card{'s' if engine.cards > 1 else ''}"
    return f"{sizes}, or {fewer}" if (sizes := sizes_for(engine, cards)) else fewer


def _in_stages(engine: Engine) -> bool:
    """True for vLLM-Omni, whose stages take cards of their own by a configuration that is not in
    the manifest.
    """
    return (engine.image is not None and "omni" in engine.image.text) or engine.has("omni")


RULE = Rule("idle-cards", "cards that the engine does not use", judge, "warning")
