"""Architectures found by search, whose blocks differ one by one (DeciLM, Nemotron Super and Ultra):
`block_configs` of a config.json.

    block 0 | 8 KV heads | wide |    block 1 | no attention | narrow |    block 2 | 8 KV heads | no feed-forward |

Source: vLLM 0.32.0, nemotron_nas.DeciLMDecoderLayer.
"""

from __future__ import annotations

from collections.abc import Mapping

from barostat.core.errors import InputError
from barostat.kv.architecture import Full, Layer
from barostat.kv.attention_layers import head_dim_of, plain_layers
from barostat.kv.config_json import ConfigJson

# A feed-forward's width is rounded up to a multiple of this.
_WIDTH_STEP = 256


def searched_layers(config: ConfigJson) -> list[Layer]:
    """One attention layer per block, none where the block has no attention.

    The first DeciLM lists KV heads per layer instead: there the engine gives every layer as many as
    the largest has.
    Errors: InputError where a block is not described.
    """
    count, heads = config.integer("num_hidden_layers"), config.integer("num_attention_heads")
    if not config.has("block_configs"):
        listed = [
            item
            for item in config.listed("num_key_value_heads_per_layer")
            if isinstance(item, int) and 0 < item <= heads
        ]
        dim = head_dim_of(config)
        return [(Full(max(listed), dim, dim),)] * count if listed else plain_layers(config)
    dim = head_dim_of(config)
    layers: list[Layer] = []
    for index in range(count):
        attention = _part(config, index, "attention")
        if attention.get("no_op"):
            layers.append(())
            continue
        grouped = attention.get("n_heads_in_group")
        if not isinstance(grouped, int) or isinstance(grouped, bool) or not 0 < grouped <= heads:
            raise InputError(
                f"`block_configs[{index}].attention.n_heads_in_group` is {grouped!r}: how "
                "many KV heads is not told",
                config.source,
            )
        layers.append((Full(heads // grouped, dim, dim),))
    return layers


def searched_width(config: ConfigJson, index: int) -> int:
    """Width of a block's feed-forward, 0 where it has none."""
    part = _part(config, index, "ffn")
    multiple, width = part.get("ffn_mult"), part.get("intermediate_size")
    if part.get("no_op"):
        return 0
    if isinstance(multiple, int | float) and 0 < multiple < 1000:
        return (
            -(-int(2 * multiple * config.integer("hidden_size") / 3) // _WIDTH_STEP) * _WIDTH_STEP
        )
    return width if isinstance(width, int) and 0 < width < 10**9 else 0


def _part(config: ConfigJson, index: int, name: str) -> Mapping[str, object]:
    blocks = config.listed("block_configs")
    block = blocks[index] if index < len(blocks) else None
    part = block.get(name) if isinstance(block, dict) else None
    if not isinstance(part, dict):
        raise InputError(
            f"`block_configs` does not describe the {name} of block {index}", config.source
        )
    return part
