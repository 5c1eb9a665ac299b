"""The sizes of well-known models, as vLLM 0.32.0's own sizing code gives them for 50 GiB of KV
memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barostat.core.errors import InputError
from barostat.core.units import GIB
from barostat.core.version import EngineVersion, parse_version
from barostat.kv.build_specs import check_parallelism, stages
from barostat.kv.deployment import Deployment
from barostat.kv.pool import fill, lay_out
from barostat.kv.read_architecture import read_architecture


def version(text: str) -> EngineVersion:
    found = parse_version(text)
    assert found is not None
    return found


def config(
    architecture: str, layers: int, kv_heads: int, head_dim: int, **more: Any
) -> dict[str, Any]:
    return {
        "architectures": [architecture], "num_hidden_layers": layers, "num_attention_heads": 32, "num_key_value_heads": kv_heads,
        "head_dim": head_dim, "hidden_size": 4096, "vocab_size": 1000, "max_position_embeddings": 163_840, "intermediate_size": 1, **more,
    }  # fmt: skip


FLAGS = Deployment(
    version=version("0.32.0"), max_model_len=131_072, max_num_batched_tokens=8192, max_num_seqs=1024
)
LLAMA = config("LlamaForCausalLM", 32, 8, 128)
GEMMA = config("Gemma3ForCausalLM", 62, 16, 128, sliding_window=1024, sliding_window_pattern=6)
GPT_OSS = config("GptOssForCausalLM", 24, 8, 64, sliding_window=128)
LATENT = config("DeepseekV3ForCausalLM", 61, 128, 128, kv_lora_rank=512, qk_rope_head_dim=64)
SPARSE = config(
    "DeepseekV32ForCausalLM",
    61,
    128,
    128,
    kv_lora_rank=512,
    qk_rope_head_dim=64,
    index_topk=2048,
    index_head_dim=128,
)


@pytest.mark.parametrize(
    ("model", "changes", "blocks", "tokens", "concurrency"),
    [
        (LLAMA, {}, 25_600, 409_600, 3.125),
        (LLAMA, {"max_model_len": 8192}, 25_600, 409_600, 50.0),
        (LLAMA, {"max_model_len": 8192, "kv_cache_dtype": "fp8"}, 51_200, 819_200, 100.0),
        (config("Qwen3ForCausalLM", 36, 8, 128), {"max_model_len": 40_960}, 22_755, 364_080, 8.889),
        (
            config("Qwen3MoeForCausalLM", 48, 4, 128),
            {"max_model_len": 40_960},
            34_133,
            546_128,
            13.333,
        ),
        (LATENT, {"max_model_len": 163_840, "block_size": 64, "tp": 8}, 11_937, 763_968, 4.663),
        (
            SPARSE,
            {"max_model_len": 163_840, "block_size": 64, "kv_cache_dtype": "fp8"},
            17_451,
            1_116_864,
            6.817,
        ),
        (GEMMA, {}, 40_960, 364_573, 2.781),
        (GEMMA, {"async_scheduling": False}, 40_960, 460_675, 3.515),
        (GEMMA, {"max_model_len": 8192}, 40_960, 93_466, 11.409),
        (GPT_OSS, {}, 136_533, 1_939_908, 14.800),
        (GPT_OSS, {"max_model_len": 8192}, 136_533, 1_091_198, 133.203),
    ],
)
def test_what_vllm_allocates(
    model: dict[str, Any], changes: dict[str, Any], blocks: int, tokens: int, concurrency: float
) -> None:
    flags = replace(FLAGS, **changes)
    pool = fill(lay_out(read_architecture(model), flags), 50 * GIB)
    assert (pool.blocks, pool.tokens) == (blocks, tokens)
    assert pool.concurrency == pytest.approx(concurrency, abs=6e-4)


def test_real_logs_of_hybrids_to_the_token() -> None:
    """Qwen3.6-27B on two GPUs (0.21) and 35B-A3B on one (0.24), fp8 KV: 619,202 and 567,978
    tokens.
    """
    linear = {
        "linear_num_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "mamba_ssm_dtype": "float32",
    }
    dense = config("Qwen3_5ForCausalLM", 64, 4, 256, linear_num_value_heads=48, **linear)
    flags = replace(
        FLAGS, version=version("0.21.0"), max_model_len=262_144, tp=2, kv_cache_dtype="fp8_e5m2"
    )
    layout = lay_out(read_architecture(dense), flags)
    assert layout.block_tokens == 1568
    assert fill(layout, int(9.84 * GIB)).tokens == 619_202
    mixture = config("Qwen3_5MoeForCausalLM", 40, 2, 256, linear_num_value_heads=32, **linear)
    flags = replace(FLAGS, version=version("0.24.0"), kv_cache_dtype="fp8")
    assert fill(lay_out(read_architecture(mixture), flags), int(5.98 * GIB)).tokens == 567_978


def test_older_versions_log_other_tokens() -> None:
    """Before 0.20.1 a hybrid's size is blocks over groups times block size (gemma-2-27b on 0.19:
    7,335 blocks, 58,672 tokens, 7.16x).
    """
    gemma2 = config("Gemma2ForCausalLM", 46, 16, 128, sliding_window=4096)
    flags = replace(FLAGS, version=version("0.19.0"), max_model_len=8192)
    pool = fill(lay_out(read_architecture(gemma2), flags), int(20.595 * GIB))
    assert (pool.blocks, pool.tokens, round(pool.concurrency, 2)) == (7335, 58_672, 7.16)


def test_the_null_block_counts_since_0_29() -> None:
    """One request needs 512 blocks: exactly that many are enough before 0.29.0 and one too few from
    then on.
    """
    for text, fits in (("0.28.0", True), ("0.29.0", False)):
        flags = replace(FLAGS, version=version(text), max_model_len=8192)
        assert fill(lay_out(read_architecture(LLAMA), flags), 512 * 2 * 2**20).fits is fits


def test_pipeline_stages_hold_their_own_layers() -> None:
    assert [len(stage) for stage in stages(62, 4)] == [15, 16, 16, 15]
    flags = replace(FLAGS, pp=2, max_model_len=8192)
    assert fill(lay_out(read_architecture(LLAMA), flags), [50 * GIB, 25 * GIB]).blocks == 25_600


def test_context_parallelism_shares_the_tokens() -> None:
    flags = replace(FLAGS, tp=2, dcp=2, block_size=64, max_model_len=163_840)
    alone = fill(lay_out(read_architecture(LATENT), replace(flags, dcp=1)), 50 * GIB)
    assert fill(lay_out(read_architecture(LATENT), flags), 50 * GIB).tokens == pytest.approx(
        2 * alone.tokens, rel=1e-3
    )


@pytest.mark.parametrize(("tp", "nearest"), [(3, 4), (5, 4), (24, 32)])
def test_heads_that_do_not_divide_name_the_nearest_size(tp: int, nearest: int) -> None:
    with pytest.raises(InputError, match=f"--tp {nearest}"):
        check_parallelism(read_architecture(LLAMA), replace(FLAGS, tp=tp))


@pytest.mark.parametrize("field", ["num_hidden_layers", "hidden_size", "num_attention_heads"])
def test_a_missing_field_is_named(field: str) -> None:
    broken = {key: value for key, value in LLAMA.items() if key not in (field, "head_dim")}
    with pytest.raises(InputError, match=field):
        read_architecture(broken, "config.json")


@pytest.mark.parametrize(
    "config_json",
    [
        None,
        [],
        "x",
        {},
        {"num_hidden_layers": "many"},
        {"hidden_size": -1},
        {"num_hidden_layers": True},
    ],
)
def test_no_config_raises_only_an_input_error(config_json: object) -> None:
    with pytest.raises(InputError):
        read_architecture(config_json, "config.json")


def test_an_unknown_architecture_is_read_as_a_plain_decoder_and_says_so() -> None:
    model = read_architecture({**LLAMA, "architectures": ["FooForCausalLM"]})
    assert not model.known
    assert "FooForCausalLM" in model.notes[0]
    assert fill(lay_out(model, FLAGS), 50 * GIB).blocks == 25_600
