"""An image of CUDA 13 on a card that CUDA 13 left behind.

Meaning: Since 0.20.0 vLLM's own images are built with CUDA 13, which dropped Volta (V100) and
Pascal (P100, P40). Images whose tag ends in -cu129 are built with CUDA 12.
Impact: "no kernel image is available for execution on the device", and the server exits.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector:
        {nvidia.com/gpu.product: Tesla-V100-SXM2-16GB}, containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {nodeSelector:
        {nvidia.com/gpu.product: Tesla-V100-SXM2-16GB}, containers: [{name: a,
          image: "vllm/vllm-openai:v0.19.1", args: ["--model", "Qwen/Qwen3-8B"],
          resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: an image of CUDA 12 (v0.19 and older; -cu129), or a newer card.
Source: NVIDIA, CUDA 13.0 release notes (Maxwell, Pascal and Volta removed); vLLM issue 41848
(0.20.1 with torch 2.11.0+cu130); NVIDIA/Model-Optimizer pull request 2042 (tags since 0.20).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.cards import find_card
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._images import starts_itself

CUDA_13_SINCE = "0.20.0"


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine of such an image on such a card."""
    for engine in scene.engines:
        image = engine.image
        card = find_card(engine.card_hint) if engine.card_hint else None
        if (
            image is None
            or card is None
            or card.vendor != "NVIDIA"
            or float(card.capability) >= 7.5
            or not starts_itself(image.text)
        ):
            continue
        tag = image.text.rpartition(":")[2]
        new = engine.version is not None and engine.version.at_least(CUDA_13_SINCE)
        if "cu13" in tag or (new and "cu12" not in tag):
            yield Found(
                image.place,
                f"the image is built with CUDA 13, which has no kernels for {card.name} (compute "
                f"capability {card.capability})",
                "an image of CUDA 12",
            )


RULE = Rule("image-without-kernels", "an image without kernels for the card", judge, "error")
