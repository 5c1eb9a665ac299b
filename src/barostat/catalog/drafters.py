"""Published block drafters (DFlash): the layers that they add to their target's KV pool. Used if
the drafter's config.json is not given.

Source: the drafters' model cards and configurations (z-lab), start-up logs of
vllm-project/vllm#46462 and noonghunna/club-3090#46.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.catalog.models import base_name


@dataclass(frozen=True, slots=True)
class PublishedDrafter:
    """A drafter. `targets`: base names of the models that it drafts for. `config`: the config.json
    fields that determine its memory.
    """

    name: str
    targets: tuple[str, ...]
    config: dict[str, object]


def _dflash(
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    feed_forward: int,
    types: tuple[str, ...],
    vocabulary: int,
) -> dict[str, object]:
    return {
        "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "dtype": "bfloat16", "num_hidden_layers": layers,
        "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": 128,
        "intermediate_size": feed_forward, "vocab_size": vocabulary, "block_size": 16, "layer_types": list(types), "sliding_window": 2048,
        "max_position_embeddings": 262_144, "tie_word_embeddings": False,
    }  # fmt: skip


_WINDOWED = ("sliding_attention",) * 4 + ("full_attention",)
DRAFTERS = (
    PublishedDrafter(
        "z-lab/Qwen3.6-27B-DFlash", ("qwen3.6-27b",), _dflash(5, 5120, 32, 8, 17408, _WINDOWED, 248_320)
    ),
    PublishedDrafter("z-lab/Qwen3.5-27B-DFlash", ("qwen3.5-27b",), _dflash(5, 5120, 32, 8, 17408, ("full_attention",) * 5, 248_320)),
)  # fmt: skip

# Used if the number of drafts per step is unknown: the median of public DFlash launch commands (5,
# 5, 7, 7, 7, 9, 15).
DFLASH_USUAL_DRAFTS = 7


def published_drafter(target: str, method: str) -> PublishedDrafter | None:
    """Return the published drafter for this target model and method; None if there is none."""
    if method != "dflash":
        return None
    base = base_name(target)
    return next((drafter for drafter in DRAFTERS if base in drafter.targets), None)
