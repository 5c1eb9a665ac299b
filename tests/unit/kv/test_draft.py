"""What speculative decoding adds to the pool: layers of a drafter, states for drafts, tokens behind
windows.
"""

from __future__ import annotations

from typing import Any

import pytest

from barostat.core.version import parse_version
from barostat.kv.architecture import Compressed, Full, Window
from barostat.kv.deployment import Deployment
from barostat.kv.draft import draft_of
from barostat.kv.pool import fill, lay_out
from barostat.kv.quantization import weight_format
from barostat.kv.read_architecture import read_architecture
from barostat.kv.weights import module_bytes

PLAIN: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 4, "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2,
    "head_dim": 128, "intermediate_size": 2048, "vocab_size": 1024, "max_position_embeddings": 32768, "torch_dtype": "bfloat16",
}  # fmt: skip
DELTA = PLAIN | {
    "architectures": ["Qwen3NextForCausalLM"], "linear_num_key_heads": 4, "linear_num_value_heads": 8, "linear_key_head_dim": 64,
    "linear_value_head_dim": 64, "linear_conv_kernel_dim": 4, "mtp_num_hidden_layers": 1,
}  # fmt: skip


def deployed(**changes: Any) -> Deployment:
    version = parse_version("0.32.0")
    assert version is not None
    return Deployment(
        version=version, max_model_len=8192, max_num_batched_tokens=2048, max_num_seqs=16, **changes
    )


def test_an_eagle_head_takes_one_layer_more() -> None:
    model = read_architecture(PLAIN)
    draft = draft_of(model, "eagle3", 3, None)
    assert draft.layers == (model.layers[-1],)
    assert "--draft-model-config" in draft.notes[0]
    without, having = (
        lay_out(model, deployed()),
        lay_out(model, deployed(draft=draft.layers, num_speculative_tokens=3)),
    )
    assert having.block_bytes == without.block_bytes * 5 // 4
    assert fill(having, 2**30).blocks == fill(without, 2**30).blocks * 4 // 5


@pytest.mark.parametrize("method", ["ngram", "suffix", "medusa"])
def test_drafts_without_a_model_take_no_layer(method: str) -> None:
    assert draft_of(read_architecture(PLAIN), method, 4, None).layers == ()


def test_each_draft_takes_a_state() -> None:
    model = read_architecture(DELTA)
    draft = draft_of(model, "mtp", 2, None)
    assert len(draft.layers) == 1
    assert isinstance(draft.layers[0][0], Full)
    layout = lay_out(model, deployed(draft=draft.layers, num_speculative_tokens=draft.tokens))
    states = {
        spec.states for group in layout.groups for _, spec in group.layers if spec.kind == "state"
    }
    assert states == {4}


def test_modules_in_a_chain_keep_tokens_behind_windows() -> None:
    config = PLAIN | {
        "architectures": ["Gemma3ForCausalLM"],
        "sliding_window": 512,
        "num_hidden_layers": 12,
        "num_nextn_predict_layers": 3,
    }
    model = read_architecture(config)
    draft = draft_of(model, "mtp", 3, None)
    assert (len(draft.layers), draft.retained_tokens) == (3, 2)
    layout = lay_out(
        model, deployed(draft=draft.layers, num_speculative_tokens=3, retained_tokens=2)
    )
    window = next(
        spec for group in layout.groups for _, spec in group.layers if spec.kind == "window"
    )
    assert window.blocks_per_request(2048, 1, 8192) == -(-(511 + 2 + 2048) // 16) + 1


def test_gemma_4s_assistant_keeps_no_kv() -> None:
    config = PLAIN | {
        "architectures": ["Gemma4ForCausalLM"],
        "sliding_window": 512,
        "layer_types": ["full_attention"] * 4,
    }
    draft = draft_of(read_architecture(config), "mtp", 1, None)
    assert draft.layers == ()
    assert "keeps none" in draft.notes[0]


def test_dspark_stages_are_windows() -> None:
    config = PLAIN | {
        "architectures": ["DeepseekV4ForCausalLM"], "compress_ratios": [0, 4, 128, 4], "head_dim": 512, "sliding_window": 128,
        "num_key_value_heads": 1,
    }  # fmt: skip
    draft = draft_of(read_architecture(config), "dspark", 5, None)
    assert [layer[0].ratio for layer in draft.layers if isinstance(layer[0], Compressed)] == [
        1,
        1,
        1,
    ]


def test_a_block_drafter_slides_only_where_it_says_so() -> None:
    target = read_architecture(PLAIN)
    base = PLAIN | {
        "architectures": ["DFlashDraftModel"],
        "num_hidden_layers": 2,
        "sliding_window": 2048,
    }
    mixed = base | {"layer_types": ["sliding_attention", "full_attention"]}
    plain = draft_of(target, "dflash", 7, read_architecture(base)).layers
    forced = draft_of(
        target,
        "dflash",
        7,
        read_architecture(base | {"dflash_config": {"use_swa": True, "swa_window_size": 256}}),
    ).layers
    typed = draft_of(target, "dflash", 7, read_architecture(mixed)).layers
    assert [type(layer[0]) for layer in plain] == [Full, Full]
    assert [layer[0].window_tokens for layer in forced if isinstance(layer[0], Window)] == [
        256,
        256,
    ]
    assert [type(layer[0]) for layer in typed] == [Window, Full]


def test_an_unknown_drafter_is_said_to_be_missing() -> None:
    draft = draft_of(read_architecture(PLAIN), "dflash", None, None)
    assert (draft.layers, draft.tokens) == ((), 1)
    assert "not in these numbers" in draft.notes[0]


def test_a_number_of_drafts_that_the_engine_refuses_is_said() -> None:
    notes = draft_of(
        read_architecture(PLAIN | {"num_nextn_predict_layers": 2}), "mtp", 3, None
    ).notes
    assert any("refuses" in note for note in notes)


def test_a_module_weighs_a_layer_and_a_projection() -> None:
    model = read_architecture(PLAIN)
    low, high = module_bytes(model, 3, 1, weight_format({}, {}, None, "bfloat16"), 1)
    layer = 1024 * 128 * (8 + 2 + 2) + 8 * 128 * 1024 + 3 * 1024 * 2048 + 2 * 1024
    assert low == high == 2 * (layer + 2 * 1024**2)
