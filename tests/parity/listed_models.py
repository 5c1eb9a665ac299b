"""Published models as cases: each configuration of the built-in catalogue, weights' format left
out, under flags drawn for it.
"""

from __future__ import annotations

import random
from typing import Any

from barostat.catalog.models import find_model, shape_names, without_format
from barostat.kv.architecture import State
from barostat.kv.read_architecture import read_architecture

Case = dict[str, Any]

# The decoder of a multimodal architecture: its tower keeps no KV, and its class does not build on
# CPU.
_DECODERS = {
    "Gemma3ForConditionalGeneration": ("Gemma3ForCausalLM", "gemma3_text"),
    "Gemma4ForConditionalGeneration": ("Gemma4ForCausalLM", "gemma4_text"),
    "Llama4ForConditionalGeneration": ("Llama4ForCausalLM", "llama4_text"),
    "Mistral3ForConditionalGeneration": ("MistralForCausalLM", "mistral"),
    "KimiK25ForConditionalGeneration": ("DeepseekV3ForCausalLM", "deepseek_v3"),
    "Qwen3_5ForConditionalGeneration": (
        "Qwen3NextForCausalLM",
        "qwen3_next",
    ),  # the same layers; their own classes do not inspect
    "Qwen3_5MoeForConditionalGeneration": ("Qwen3NextForCausalLM", "qwen3_next"),
    "Qwen3VLForConditionalGeneration": ("Qwen3ForCausalLM", "qwen3"),
    "Qwen3VLMoeForConditionalGeneration": ("Qwen3MoeForCausalLM", "qwen3_moe"),
}
# What does not change the KV cache and takes long to build.
_FEW = {
    "num_experts": 4, "n_routed_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 1024, "n_group": 1,
    "topk_group": 1,
}  # fmt: skip
# Fields that the classes read and that do not size the cache, which the catalogue leaves out.
_YARN = {"beta_fast": 32.0, "beta_slow": 1.0}
_LLAMA3 = {
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192,
}
_UNSAID: dict[str, dict[str, Any]] = {
    "qwen3_next": {
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 128, "shared_expert_intermediate_size": 128,
        "decoder_sparse_step": 1, "partial_rotary_factor": 0.25, "mlp_only_layers": [], "norm_topk_prob": True,
    },
    "mimo_v2_flash": {
        "layernorm_epsilon": 1e-6, "rope_theta": 10000, "swa_rope_theta": 10000, "partial_rotary_factor": 0.5, "scoring_func": "sigmoid",
        "attention_value_scale": None, "add_swa_attention_sink_bias": True, "add_full_attention_sink_bias": False, "n_group": 1,
        "topk_group": 1, "topk_method": "noaux_tc", "norm_topk_prob": True, "moe_intermediate_size": 128, "sliding_window_size": 128,
    },
}  # fmt: skip


def decoder_of(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration of the decoder alone, with few experts."""
    names = config.get("architectures") or [""]
    if names[0] in _DECODERS and isinstance(text := config.get("text_config"), dict):
        architecture, kind = _DECODERS[names[0]]
        config = text | {"architectures": [architecture], "model_type": kind}
    made = (
        _UNSAID.get(str(config.get("model_type")), {})
        | config
        | {name: value for name, value in _FEW.items() if name in config}
    )
    for name in ("rope_scaling", "rope_parameters"):
        if isinstance(scaling := made.get(name), dict):
            made[name] = {"yarn": _YARN, "llama3": _LLAMA3}.get(
                str(scaling.get("rope_type")), {}
            ) | scaling
    if "istral" in str(made.get("architectures")):
        made.setdefault(
            "sliding_window", None
        )  # published as null, which the catalogue leaves out; the class would take 4096
    if isinstance(pattern := made.get("hybrid_override_pattern"), str):
        made["hybrid_override_pattern"] = pattern.replace(
            "E", "-"
        )  # experts keep no KV, and these are for GPUs only
    return made


def cases(seed: int, flags_each: int = 1, hybrid_flags_each: int = 3) -> list[Case]:
    """Cases in alphabetical order; hybrids more often, with prefix caching on and off."""
    made: list[Case] = []
    seen: set[str] = set()
    for name in shape_names():
        found = find_model(name)
        assert found is not None
        config = decoder_of(without_format(found.config))
        model = read_architecture(config, name)
        if (told := repr((model.name, model.layers, model.heads))) in seen:
            continue
        seen.add(told)
        states = any(isinstance(cache, State) for layer in model.layers for cache in layer)
        dice = random.Random(f"{seed} {name}")
        for number in range(hybrid_flags_each if states else flags_each):
            tp = dice.choice(
                [
                    size
                    for size in (1, 2, 4)
                    if model.heads % size == 0 and _divides(model.layers, size, model.kv_heads)
                ]
            )
            flags: dict[str, Any] = {
                "maxModelLen": min(model.max_position_tokens or 4096, dice.choice((4096, 32_768, 131_072))),
                "maxNumBatchedTokens": dice.choice((2048, 8192)), "tp": tp, "blockSize": dice.choice((16, 16, 32, 64)),
                "asyncScheduling": dice.random() < 0.5, "prefixCaching": not states or number % 2 == 0,
            }  # fmt: skip
            if dice.random() < 0.4 and not model.uses_mla:
                flags["kvCacheDtype"] = "fp8"
            memory = [int(dice.choice((5.0, 20.0, 60.0)) * 2**30 * dice.uniform(0.8, 1.2))]
            made.append(
                {"config": config, "flags": flags, "availableBytes": memory, "family": name}
            )
    return made


def sample(count: int, seed: int) -> list[Case]:
    """So many of them, drawn by chance; every catalogue model is in `cases`."""
    return random.Random(seed).sample(cases(seed), count)


def _divides(layers: Any, tp: int, kv_heads: int) -> bool:
    states = all(
        cache.heads % tp == 0 for layer in layers for cache in layer if isinstance(cache, State)
    )
    return states and (not kv_heads or kv_heads % tp == 0 or tp % kv_heads == 0)
