"""Searched architectures (`block_configs`): layers without attention, KV heads and widths of their
own.
"""

from __future__ import annotations

from typing import Any

import pytest

from barostat.catalog.models import find_model
from barostat.core.errors import InputError
from barostat.core.version import parse_version
from barostat.kv.architecture import Full
from barostat.kv.deployment import Deployment
from barostat.kv.pool import lay_out
from barostat.kv.quantization import weight_format
from barostat.kv.read_architecture import read_architecture
from barostat.kv.weights import weight_bytes


def block(grouped: int | None, multiple: float | None) -> dict[str, Any]:
    return {
        "attention": {"no_op": grouped is None, "n_heads_in_group": grouped},
        "ffn": {"no_op": multiple is None, "ffn_mult": multiple},
    }


CONFIG: dict[str, Any] = {
    "architectures": ["DeciLMForCausalLM"], "model_type": "nemotron-nas", "num_hidden_layers": 3, "hidden_size": 1024,
    "num_attention_heads": 16, "num_key_value_heads": None, "intermediate_size": None, "vocab_size": 1024,
    "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "block_configs": [block(4, 2.625), block(None, 1.0), block(8, None)],
}  # fmt: skip


def test_each_block_has_what_it_says() -> None:
    model = read_architecture(CONFIG)
    assert model.known
    assert [
        layer[0].kv_heads if layer and isinstance(layer[0], Full) else 0 for layer in model.layers
    ] == [4, 0, 2]
    assert model.kv_heads == 4
    attention = [
        1024 * 64 * (16 + 4 + 4) + 16 * 64 * 1024,
        0,
        1024 * 64 * (16 + 2 + 2) + 16 * 64 * 1024,
    ]
    # 2 x 2.625 x 1024 / 3 = 1792 and 2 x 1024 / 3 = 682, rounded up to 768
    expected = sum(attention) + 3 * 1024 * (1792 + 768) + 3 * 2 * 1024 + 2 * 1024 * 1024
    assert weight_bytes(model, weight_format({}, {}, None, "bfloat16"), 1, 1).parameters == expected


@pytest.mark.parametrize(
    "blocks",
    [
        [block(4, 1.0)],
        [block(4, 1.0), {"attention": {}}, block(4, 1.0)],
        [block(0, 1.0)] * 3,
        ["x"] * 3,
        [{"attention": 5, "ffn": 5}] * 3,
    ],
)
def test_blocks_that_are_not_described_are_an_input_error(blocks: list[Any]) -> None:
    with pytest.raises(InputError, match="block_configs"):
        read_architecture(CONFIG | {"block_configs": blocks})


def test_kv_heads_per_layer_of_the_first_of_its_kind_are_as_many_as_the_largest() -> None:
    plain = {key: value for key, value in CONFIG.items() if key != "block_configs"}
    model = read_architecture(
        plain | {"num_key_value_heads_per_layer": [2, 8, 4], "intermediate_size": 2048}
    )
    assert [layer[0].kv_heads for layer in model.layers if isinstance(layer[0], Full)] == [8, 8, 8]


def test_nemotron_super_of_the_catalogue_attends_in_49_of_80_layers() -> None:
    listed = find_model("nvidia/Llama-3_3-Nemotron-Super-49B-v1")
    assert listed is not None
    model = read_architecture(listed.config, listed.name)
    version = parse_version("0.32.0")
    assert version is not None
    layout = lay_out(
        model,
        Deployment(
            version=version, max_model_len=8192, max_num_batched_tokens=2048, max_num_seqs=16
        ),
    )
    assert layout.block_bytes == 49 * 16 * 8 * 2 * 128 * 2
    assert weight_bytes(
        model, weight_format({}, {}, None, "bfloat16"), 1, 1
    ).parameters == pytest.approx(49.87e9, rel=0.001)
