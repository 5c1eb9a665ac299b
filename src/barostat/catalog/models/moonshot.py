"""Models of moonshotai: what sizes the memory of each model. Written by dev/catalogue.py; see each row's source.

Shapes: name -> (where the numbers were read, fields of the model's configuration; long lists as runs).
"""

from __future__ import annotations

# fmt: off
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    'moonshotai/Kimi-K2-Instruct':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/moonshotai--Kimi-K2-Instruct_config.json',
        {'architectures': ['DeepseekV3ForCausalLM'], 'first_k_dense_replace': 1, 'hidden_act': 'silu', 'hidden_size': 7168,
        'intermediate_size': 18432, 'kv_lora_rank': 512, 'max_position_embeddings': 131072, 'model_type': 'kimi_k2',
        'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'n_routed_experts': 384, 'n_shared_experts': 1, 'num_attention_heads': 64,
        'num_experts_per_tok': 8, 'num_hidden_layers': 61, 'num_key_value_heads': 64, 'num_nextn_predict_layers': 0, 'q_lora_rank':
        1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'quantization_config': {'quant_method': 'fp8', 'weight_block_size':
        [128, 128]}, 'rope_scaling': {'factor': 32.0, 'original_max_position_embeddings': 4096}, 'tie_word_embeddings': False,
        'torch_dtype': 'bfloat16', 'v_head_dim': 128, 'vocab_size': 163840}),
    'moonshotai/Kimi-K2.5':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/moonshotai--Kimi-K2.5_config.json',
        {'architectures': ['KimiK25ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'kimi_k25', 'text_config':
        {'architectures': ['DeepseekV3ForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 1, 'hidden_act': 'silu',
        'hidden_size': 7168, 'intermediate_size': 18432, 'kv_lora_rank': 512, 'max_position_embeddings': 262144, 'model_type':
        'kimi_k2', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'n_routed_experts': 384, 'n_shared_experts': 1,
        'num_attention_heads': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 61, 'num_key_value_heads': 64,
        'num_nextn_predict_layers': 0, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'quantization_config':
        {'quant_method': 'compressed-tensors', 'format': 'pack-quantized', 'ignore': ['lm_head',
        're:.*mlp\\.(gate|up|gate_up|down)_proj.*', 're:.*self_attn.*', 're:.*shared_experts.*'], 'config_groups': {'group_0':
        {'weights': {'group_size': 32, 'num_bits': 4, 'strategy': 'group', 'type': 'int'}, 'format': None, 'targets': ['Linear']}}},
        'rope_scaling': {'factor': 64.0, 'original_max_position_embeddings': 4096}, 'tie_word_embeddings': False, 'v_head_dim': 128,
        'vocab_size': 163840}, 'tie_word_embeddings': False, 'vision_config': {'patch_size': 14, 'vt_hidden_size': 1152,
        'vt_intermediate_size': 4304, 'vt_num_hidden_layers': 27}}),
    'moonshotai/Kimi-K3':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/moonshotai--Kimi-K3_config.json',
        {'architectures': ['KimiK3ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'kimi_k3', 'text_config':
        {'architectures': ['KimiLinearForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 1, 'hidden_act': 'situ',
        'hidden_size': 7168, 'intermediate_size': 33792, 'kv_lora_rank': 512, 'linear_attn_config': {'full_attn_layers': [4, 8, 12,
        16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68, 72, 76, 80, 84, 88, 92, 93], 'gate_lower_bound': -5.0, 'head_dim':
        128, 'kda_layers': [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26, 27, 29, 30, 31, 33, 34, 35, 37,
        38, 39, 41, 42, 43, 45, 46, 47, 49, 50, 51, 53, 54, 55, 57, 58, 59, 61, 62, 63, 65, 66, 67, 69, 70, 71, 73, 74, 75, 77, 78,
        79, 81, 82, 83, 85, 86, 87, 89, 90, 91], 'num_heads': 96, 'short_conv_kernel_size': 4, 'use_full_rank_gate': True},
        'max_position_embeddings': 1048576, 'model_type': 'kimi_linear', 'moe_intermediate_size': 3072, 'moe_layer_freq': 1,
        'num_attention_heads': 96, 'num_experts': 896, 'num_experts_per_token': 16, 'num_hidden_layers': 93, 'num_key_value_heads':
        96, 'num_nextn_predict_layers': 0, 'num_shared_experts': 2, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim':
        64, 'quantization_config': {'quant_method': 'compressed-tensors', 'format': 'mxfp4-pack-quantized', 'ignore':
        ['re:.*lm_head.*', 're:.*mlp\\.(gate|up|gate_up|down)_proj.*', 're:.*mm_projector.*', 're:.*self_attn.*',
        're:.*shared_experts.*', 're:.*vision_tower.*'], 'config_groups': {'group_0': {'weights': {'group_size': 32, 'num_bits': 4,
        'strategy': 'group', 'type': 'float'}, 'format': 'mxfp4-pack-quantized', 'targets': ['Linear']}}},
        'routed_expert_hidden_size': 3584, 'tie_word_embeddings': False, 'v_head_dim': 128, 'vocab_size': 163840},
        'tie_word_embeddings': False, 'vision_config': {'patch_size': 14, 'vt_hidden_size': 1024, 'vt_intermediate_size': 4096,
        'vt_num_hidden_layers': 27}}),
    'moonshotai/Kimi-Linear-48B-A3B-Instruct': ('gogongxt/python@d2644104bc43:scripts/models/kimi_linear_48b_a3b_instruct.md',
        {'architectures': ['KimiLinearForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 1, 'head_dim': 72, 'hidden_act':
        'silu', 'hidden_size': 2304, 'intermediate_size': 9216, 'kv_lora_rank': 512, 'linear_attn_config': {'full_attn_layers': [4, 8,
        12, 16, 20, 24, 27], 'head_dim': 128, 'kda_layers': [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26],
        'num_heads': 32, 'short_conv_kernel_size': 4}, 'model_type': 'kimi_linear', 'moe_intermediate_size': 1024, 'moe_layer_freq':
        1, 'num_attention_heads': 32, 'num_experts': 256, 'num_experts_per_token': 8, 'num_hidden_layers': 27, 'num_key_value_heads':
        32, 'num_nextn_predict_layers': 0, 'num_shared_experts': 1, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64,
        'tie_word_embeddings': False, 'v_head_dim': 128, 'vocab_size': 163840}),
}
