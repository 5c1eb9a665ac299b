"""Random small models of many families and random flags, as a config.json each: the same dice, the
same cases.
"""

from __future__ import annotations

import random
from typing import Any

Case = dict[str, Any]


def _base(dice: random.Random, architecture: str, model_type: str, layers: int) -> dict[str, Any]:
    heads = dice.choice((8, 16))
    dim = dice.choice((64, 128))
    return {
        "architectures": [architecture], "model_type": model_type, "torch_dtype": "bfloat16", "num_hidden_layers": layers,
        "hidden_size": heads * dim, "num_attention_heads": heads, "num_key_value_heads": dice.choice((2, 4, 8)), "head_dim": dim,
        "intermediate_size": 512, "vocab_size": 1024, "max_position_embeddings": 131072, "rms_norm_eps": 1e-6, "hidden_act": "silu",
    }  # fmt: skip


def llama(dice: random.Random) -> dict[str, Any]:
    """Full attention everywhere."""
    return _base(dice, "LlamaForCausalLM", "llama", dice.randint(2, 9))


def qwen3(dice: random.Random) -> dict[str, Any]:
    """Full attention everywhere, with query and key norms."""
    return _base(dice, "Qwen3ForCausalLM", "qwen3", dice.randint(2, 9))


def mistral(dice: random.Random) -> dict[str, Any]:
    """A window in every layer."""
    return _base(dice, "MistralForCausalLM", "mistral", dice.randint(2, 8)) | {
        "sliding_window": dice.choice((512, 1000, 4096))
    }


def gemma2(dice: random.Random) -> dict[str, Any]:
    """Windows and full attention in turn."""
    return _base(dice, "Gemma2ForCausalLM", "gemma2", dice.randint(3, 9)) | {
        "sliding_window": dice.choice((512, 4096)), "query_pre_attn_scalar": 64, "hidden_activation": "gelu_pytorch_tanh",
    }  # fmt: skip


def gemma3(dice: random.Random) -> dict[str, Any]:
    """Five windows for each full attention; the pattern is the family's own."""
    return _base(dice, "Gemma3ForCausalLM", "gemma3_text", dice.randint(7, 20)) | {
        "sliding_window": dice.choice((512, 1024)), "query_pre_attn_scalar": 64, "hidden_activation": "gelu_pytorch_tanh",
    }  # fmt: skip


def gemma4(dice: random.Random) -> dict[str, Any]:
    """Windows and full attention with heads of their own, and layers that share an earlier one's
    KV.
    """
    layers = dice.choice((6, 12, 18))
    return _base(dice, "Gemma4ForCausalLM", "gemma4_text", layers) | {
        "layer_types": ["full_attention" if (i + 1) % 6 == 0 else "sliding_attention" for i in range(layers)], "sliding_window": 512,
        "head_dim": 64, "global_head_dim": 128, "num_global_key_value_heads": 2, "num_key_value_heads": 4, "attention_k_eq_v": True,
        "num_kv_shared_layers": 0, "hidden_size_per_layer_input": 0, "hidden_activation": "gelu_pytorch_tanh",
    }  # fmt: skip


def gpt_oss(dice: random.Random) -> dict[str, Any]:
    """Windows and full attention in turn, with experts."""
    return _base(dice, "GptOssForCausalLM", "gpt_oss", dice.choice((4, 6, 8))) | {
        "sliding_window": 128, "num_local_experts": 4, "num_experts_per_tok": 2,
    }  # fmt: skip


def olmo3(dice: random.Random) -> dict[str, Any]:
    """Three windows for each full attention, listed."""
    layers = dice.choice((4, 8, 11))
    return _base(dice, "Olmo3ForCausalLM", "olmo3", layers) | {
        "sliding_window": 1024, "layer_types": ["full_attention" if (i + 1) % 4 == 0 else "sliding_attention" for i in range(layers)],
    }  # fmt: skip


def llama4(dice: random.Random) -> dict[str, Any]:
    """Chunks, and full attention in every fourth layer."""
    return _base(dice, "Llama4ForCausalLM", "llama4_text", dice.choice((4, 8))) | {
        "attention_chunk_size": dice.choice((1024, 8192)), "num_local_experts": 4, "num_experts_per_tok": 1, "intermediate_size_mlp": 512,
        "interleave_moe_layer_step": 1, "no_rope_layer_interval": 4,
    }  # fmt: skip


def latent(dice: random.Random) -> dict[str, Any]:
    """Multi-head latent attention."""
    base = _base(dice, "DeepseekV2ForCausalLM", "deepseek_v2", dice.randint(2, 7))
    return {key: value for key, value in base.items() if key != "head_dim"} | {
        "kv_lora_rank": dice.choice((256, 512)), "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "v_head_dim": 64, "q_lora_rank": None,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 128, "n_shared_experts": 1, "first_k_dense_replace": 1,
        "num_key_value_heads": base["num_attention_heads"], "n_group": 1, "topk_group": 1,
    }  # fmt: skip


def moe(dice: random.Random) -> dict[str, Any]:
    """Full attention, experts."""
    return _base(dice, "Qwen3MoeForCausalLM", "qwen3_moe", dice.randint(2, 6)) | {
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 128, "decoder_sparse_step": 1, "norm_topk_prob": True,
    }  # fmt: skip


def gated_delta(dice: random.Random) -> dict[str, Any]:
    """Gated delta nets, and full attention in every fourth layer."""
    layers = dice.choice((4, 8, 12))
    return _base(dice, "Qwen3NextForCausalLM", "qwen3_next", layers) | {
        "layer_types": ["full_attention" if (i + 1) % 4 == 0 else "linear_attention" for i in range(layers)],
        "linear_num_key_heads": 8, "linear_num_value_heads": dice.choice((8, 16)), "linear_key_head_dim": 64, "linear_value_head_dim": 64,
        "linear_conv_kernel_dim": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
        "shared_expert_intermediate_size": 128, "decoder_sparse_step": 1, "partial_rotary_factor": 0.5,
    }  # fmt: skip


def jamba(dice: random.Random) -> dict[str, Any]:
    """Mamba layers with attention between them."""
    return _base(dice, "JambaForCausalLM", "jamba", dice.choice((8, 16))) | {
        "attn_layer_period": 4, "attn_layer_offset": 2, "expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 4,
        "num_experts_per_tok": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 64,
        "use_mamba_kernels": False,
    }  # fmt: skip


def nemotron(dice: random.Random) -> dict[str, Any]:
    """Mamba-2, attention and plain layers by the letters of a pattern."""
    pattern = dice.choice(("M-M*M-M*", "M-M-M*-M-M-M*-", "MM*-MM*-MM*-"))
    return _base(dice, "NemotronHForCausalLM", "nemotron_h", len(pattern)) | {
        "hybrid_override_pattern": pattern, "mamba_num_heads": 16, "mamba_head_dim": 64, "n_groups": dice.choice((1, 8)),
        "ssm_state_size": dice.choice((64, 128)), "conv_kernel": 4, "chunk_size": 128, "mlp_hidden_act": "relu2",
    }  # fmt: skip


def mimo(dice: random.Random) -> dict[str, Any]:
    """Windows and full attention with different head counts and dimensions."""
    layers = dice.choice((6, 8))
    return _base(dice, "MiMoV2FlashForCausalLM", "mimo_v2_flash", layers) | {
        "hybrid_layer_pattern": [0 if i % 4 == 0 else 1 for i in range(layers)], "num_attention_heads": 16, "num_key_value_heads": 4,
        "head_dim": 192, "v_head_dim": 128, "swa_num_attention_heads": 16, "swa_num_key_value_heads": 8, "swa_head_dim": 192,
        "swa_v_head_dim": 128, "sliding_window": 128, "sliding_window_size": 128, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 128, "moe_layer_freq": [0] + [1] * (layers - 1), "n_group": 1, "topk_group": 1,
        "scoring_func": "sigmoid",
        "layernorm_epsilon": 1e-6, "rope_theta": 10000, "swa_rope_theta": 10000, "partial_rotary_factor": 0.5,
        "attention_value_scale": None, "add_swa_attention_sink_bias": True, "add_full_attention_sink_bias": False,
        "topk_method": "noaux_tc", "norm_topk_prob": True,
    }  # fmt: skip


FAMILIES = (
    llama,
    qwen3,
    mistral,
    gemma2,
    gemma3,
    gemma4,
    gpt_oss,
    olmo3,
    llama4,
    latent,
    moe,
    gated_delta,
    jamba,
    nemotron,
    mimo,
)
_STATE = (gated_delta, jamba, nemotron)


def cases(count: int, seed: int) -> list[Case]:
    """So many cases: a config.json, flags, and memory per pipeline stage that is sometimes too
    little.
    """
    dice = random.Random(seed)
    made: list[Case] = []
    for number in range(count):
        family = FAMILIES[number % len(FAMILIES)]
        config = family(dice)
        pp = dice.choice((1, 1, 1, 2)) if family not in (*_STATE, mimo) else 1
        flags: dict[str, Any] = {
            "maxModelLen": dice.choice((4096, 8192, 32768, 100_000, 131_072)),
            "maxNumBatchedTokens": dice.choice((512, 2048, 8192)),
            "tp": dice.choice((1, 1, 2)) if family is not mimo else 1,
            "pp": pp,
            "blockSize": dice.choice((16, 16, 32, 64)),
            "asyncScheduling": dice.random() < 0.5,
            "prefixCaching": True,
        }
        if family in (llama, qwen3, moe, gemma3, gpt_oss) and dice.random() < 0.4:
            flags["kvCacheDtype"] = dice.choice(
                ("fp8", "fp8_e5m2", "int8_per_token_head", "fp8_per_token_head")
            )
        if dice.random() < 0.25:
            flags["numGpuBlocksOverride"] = dice.randint(10, 60_000)
        if family in (gemma2, gemma3, gpt_oss, olmo3) and dice.random() < 0.2:
            flags["hybridManager"] = False
        memory = [
            int(dice.choice((0.02, 0.3, 1.0, 7.7, 50.0)) * 2**30 * dice.uniform(0.8, 1.2))
            for _ in range(pp)
        ]
        made.append(
            {"config": config, "flags": flags, "availableBytes": memory, "family": family.__name__}
        )
    return made
