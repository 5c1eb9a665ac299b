"""Architectures whose model classes do not construct on CPU, as KV specs written by hand beside the
config.json that describes them.
"""

from __future__ import annotations

from typing import Any

_TEXT = {
    "torch_dtype": "bfloat16", "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 512,
    "vocab_size": 1024, "max_position_embeddings": 1_048_576,
}  # fmt: skip


def _latent(block: int, packed: bool) -> list[Any]:
    fields: dict[str, Any] = {
        "block_size": block,
        "num_kv_heads": 1,
        "head_size": 576,
        "dtype": "bfloat16",
        "cache_dtype_str": "auto",
    }
    if packed:
        fields |= {"cache_dtype_str": "fp8_ds_mla", "state_content_bytes": 656, "dtype": "uint8"}
    return ["MLAAttentionSpec", fields]


def _indexer(block: int) -> list[Any]:
    return [
        "MLAAttentionSpec",
        {"block_size": block, "num_kv_heads": 1, "head_size": 132, "dtype": "uint8"},
    ]


def sparse(layers: int, block: int, packed: bool, length: int, dcp: int = 1) -> dict[str, Any]:
    """DeepSeek V3.2: a latent and an indexer in every layer."""
    described = _TEXT | {
        "architectures": ["DeepseekV32ForCausalLM"], "num_hidden_layers": layers, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
        "index_topk": 2048, "index_head_dim": 128,
    }  # fmt: skip
    return {
        "family": "sparse-latent", "described": described,
        "specs": [[spec for _ in range(layers) for spec in (_latent(block, packed), _indexer(block))]],
        "flags": {
            "maxModelLen": length, "maxNumBatchedTokens": 8192, "blockSize": block, "kvCacheDtype": "fp8" if packed else "auto",
            "dcp": dcp, "tp": dcp,
        },
        "availableBytes": [30 * 2**30],
    }  # fmt: skip


def kimi_linear(length: int, mode: str) -> dict[str, Any]:
    """Kimi-Linear: 20 delta-attention layers and 7 latent ones; the block is raised to 1024 tokens
    so that it holds a state.
    """
    full = [4, 8, 12, 16, 20, 24, 27]
    described = _TEXT | {
        "architectures": ["KimiLinearForCausalLM"], "num_hidden_layers": 27, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
        "linear_attn_config": {"num_heads": 16, "head_dim": 128, "full_attn_layers": full, "short_conv_kernel_size": 4},
    }  # fmt: skip
    state = 3 * 16 * 128 * 3 * 2 + 16 * 128 * 128 * 4
    block = 128 * -(-state // (128 * 1152))
    page = block * 1152
    mamba = ["MambaSpec", {
        "block_size": block if mode == "align" else length, "shapes": [[3, 3 * 16 * 128], [16, 128, 128]],
        "dtypes": ["bfloat16", "float32"],
        "page_size_padded": page, "mamba_cache_mode": mode,
    }]  # fmt: skip
    specs = [_latent(block, False) if i + 1 in full else mamba for i in range(27)]
    return {
        "family": "kimi-linear", "described": described, "specs": [specs], "availableBytes": [9 * 2**30],
        "flags": {
            "maxModelLen": length, "maxNumBatchedTokens": 2048, "blockSize": 16, "prefixCaching": mode == "align", "mambaCacheMode": mode,
        },
    }  # fmt: skip


def compressed(ratios: list[int], length: int, stages: int = 0) -> dict[str, Any]:
    """DeepSeek V4: windows, compressed latents, compressor states and indexers, packed side by
    side; `stages` of a drafter behind them.
    """
    described = _TEXT | {
        "architectures": ["DeepseekV4ForCausalLM"], "num_hidden_layers": len(ratios), "compress_ratios": ratios, "head_dim": 512,
        "sliding_window": 128, "index_head_dim": 128, "qk_rope_head_dim": 64, "num_key_value_heads": 1,
    }  # fmt: skip
    window = ["SlidingWindowMLASpec", {
        "block_size": 64, "num_kv_heads": 1, "head_size": 512, "dtype": "uint8", "sliding_window": 128, "cache_dtype_str": "fp8_ds_mla",
        "state_content_bytes": 584, "alignment": 576, "model_version": "deepseek_v4",
    }]  # fmt: skip
    specs: list[Any] = []
    for ratio in ratios:
        specs.append(window)
        if ratio <= 1:
            continue
        overlap = 2 if ratio == 4 else 1
        block, reach = (4, 8) if ratio == 4 else (8, 128)
        state = {
            "block_size": block,
            "num_kv_heads": 1,
            "dtype": "float32",
            "sliding_window": reach,
            "alignment": 576,
        }
        specs.append(["MLAAttentionSpec", {
            "block_size": 256, "num_kv_heads": 1, "head_size": 512, "dtype": "uint8", "tokens_per_state": ratio, "state_content_bytes": 584,
            "cache_dtype_str": "fp8_ds_mla", "alignment": 576, "model_version": "deepseek_v4",
        }])  # fmt: skip
        specs.append(["SlidingWindowMLASpec", state | {"head_size": 2 * overlap * 512}])
        if ratio == 4:
            specs.append(["MLAAttentionSpec", {
                "block_size": 256, "num_kv_heads": 1, "head_size": 132, "dtype": "uint8", "tokens_per_state": 4, "alignment": 576,
            }])  # fmt: skip
            specs.append(["SlidingWindowMLASpec", state | {"head_size": 2 * overlap * 128}])
    specs += [window] * stages
    return {
        "family": "compressed", "described": described | {"n_mtp_layers": stages}, "specs": [specs], "availableBytes": [12 * 2**30],
        "draft": ["dspark", 5, None] if stages else None,
        "flags": {"maxModelLen": length, "maxNumBatchedTokens": 8192, "blockSize": 256, "layout": "BLHNC", "kvCacheDtype": "fp8_ds_mla"},
    }  # fmt: skip


def _full(block: int, heads: int, dim: int) -> list[Any]:
    return [
        "FullAttentionSpec",
        {"block_size": block, "num_kv_heads": heads, "head_size": dim, "dtype": "bfloat16"},
    ]


def _window(block: int, heads: int, dim: int, window: int) -> list[Any]:
    fields = {
        "block_size": block,
        "num_kv_heads": heads,
        "head_size": dim,
        "dtype": "bfloat16",
        "sliding_window": window,
    }
    return ["SlidingWindowSpec", fields]


def latent_windows(window_layers: int, block: int) -> dict[str, Any]:
    """Latents, and a drafter with windows whose pages do not divide theirs: the engine keeps
    everything as full attention.
    """
    described = _TEXT | {
        "architectures": ["DeepseekV3ForCausalLM"], "num_hidden_layers": 12, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128, "v_head_dim": 128,
    }  # fmt: skip
    kinds = ["sliding_attention"] * window_layers + ["full_attention"] * (5 - window_layers)
    drafter = _DFLASH | {"layer_types": kinds, "sliding_window": 2048}
    layers = [_latent(block, False)] * 12
    layers += [
        _window(block, 8, 128, 2048) if kind == "sliding_attention" else _full(block, 8, 128)
        for kind in kinds
    ]
    return {
        "family": "latent-window-draft", "described": described, "specs": [layers], "availableBytes": [8 * 2**30],
        "draft": ["dflash", 4, drafter],
        "flags": {"maxModelLen": 65_536, "maxNumBatchedTokens": 4096, "blockSize": block},
    }  # fmt: skip


def gated_delta(mode: str, drafts: int, drafter: dict[str, Any] | None) -> dict[str, Any]:
    """Gated delta nets with a drafter: one module of multi-token prediction, or five layers of
    another shape (DFlash).
    """
    described = _TEXT | {
        "architectures": ["Qwen3NextForCausalLM"], "num_hidden_layers": 64, "num_key_value_heads": 4, "head_dim": 256,
        "linear_num_key_heads": 16, "linear_num_value_heads": 48, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4, "mtp_num_hidden_layers": 1,
    }  # fmt: skip
    channels = 2 * 16 * 128 + 48 * 128
    state = channels * (3 + drafts) * 2 + 48 * 128 * 128 * 4
    row = 4 * 2 * 256 * 2
    block = 16 * -(-state // (16 * row))
    mamba = ["MambaSpec", {
        "block_size": block if mode == "align" else 131_072, "shapes": [[3 + drafts, channels], [48, 128, 128]],
        "dtypes": ["bfloat16", "float32"],
        "page_size_padded": block * row, "mamba_cache_mode": mode, "num_speculative_blocks": drafts,
    }]  # fmt: skip
    layers = [_full(block, 4, 256) if (i + 1) % 4 == 0 else mamba for i in range(64)]
    if drafter is None:
        layers += [_full(block, 4, 256)]
    else:
        kinds = drafter.get("layer_types", ["full_attention"] * 5)
        layers += [
            _full(block, 8, 128) if kind == "full_attention" else _window(block, 8, 128, 2048)
            for kind in kinds
        ]
    return {
        "family": "gated-delta-draft", "described": described, "specs": [layers], "availableBytes": [20 * 2**30],
        "draft": ["dflash" if drafter is not None else "mtp", drafts, drafter],
        "flags": {
            "maxModelLen": 131_072, "maxNumBatchedTokens": 2048, "blockSize": 16, "prefixCaching": mode == "align", "mambaCacheMode": mode,
        },
    }  # fmt: skip


def windowed_eagle() -> dict[str, Any]:
    """Windows and full attention in turn (12 and 12), and an EAGLE head that attends to everything:
    12 and 13.
    """
    described = _TEXT | {
        "architectures": ["GptOssForCausalLM"],
        "num_hidden_layers": 24,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "sliding_window": 128,
    }
    common = {"block_size": 16, "num_kv_heads": 8, "head_size": 64, "dtype": "bfloat16"}
    layers = [
        ["SlidingWindowSpec", common | {"sliding_window": 128}]
        if i % 2 == 0
        else ["FullAttentionSpec", common]
        for i in range(24)
    ]
    return {
        "family": "windowed-eagle", "described": described, "specs": [[*layers, ["FullAttentionSpec", common]]],
        "availableBytes": [6 * 2**30], "draft": ["eagle3", 3, None],
        "flags": {"maxModelLen": 65_536, "maxNumBatchedTokens": 4096, "blockSize": 16},
    }  # fmt: skip


_DFLASH = _TEXT | {
    "architectures": ["DFlashDraftModel"],
    "num_hidden_layers": 5,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
_WINDOWED_DFLASH = _DFLASH | {
    "layer_types": ["sliding_attention"] * 4 + ["full_attention"],
    "sliding_window": 2048,
}


def cases() -> list[dict[str, Any]]:
    """Every hand-made case."""
    return [
        sparse(6, 64, False, 163_840),
        sparse(9, 64, True, 163_840),
        sparse(61, 64, True, 100_000),
        sparse(6, 64, False, 163_840, dcp=2),
        kimi_linear(120_000, "none"),
        kimi_linear(32_768, "align"),
        compressed([0, 0, *([4, 128] * 20), 4], 33_792),
        compressed([128, 128, *([4, 128] * 29), 4], 1_000_000),
        compressed([0, 4, 128, 4, 128], 8192),
        compressed([0, 0, *([4, 128] * 20), 4], 33_792, stages=3),
        compressed([0, 0, *([4, 128] * 20), 4], 33_792, stages=1),
        gated_delta("none", 3, None),
        gated_delta("align", 1, None),
        gated_delta("align", 4, None),
        gated_delta("align", 5, _DFLASH),
        gated_delta("align", 5, _WINDOWED_DFLASH),
        gated_delta("none", 7, _WINDOWED_DFLASH),
        latent_windows(5, 64),
        latent_windows(4, 64),
        latent_windows(0, 64),
        windowed_eagle(),
    ]
