"""Models of nvidia: what sizes the memory of each model. Written by dev/catalogue.py; see each row's source.

Shapes: name -> (where the numbers were read, fields of the model's configuration; long lists as runs).
"""

from __future__ import annotations

# fmt: off
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    'nvidia/DeepSeek-V3.1-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--DeepSeek-V3.1-NVFP4_config.json',
        {'architectures': ['DeepseekV3ForCausalLM'], 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'hidden_size': 7168,
        'intermediate_size': 18432, 'kv_lora_rank': 512, 'max_position_embeddings': 163840, 'model_type': 'deepseek_v3',
        'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads':
        128, 'num_experts_per_tok': 8, 'num_hidden_layers': 61, 'num_key_value_heads': 128, 'num_nextn_predict_layers': 1,
        'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'rope_scaling': {'factor': 40,
        'original_max_position_embeddings': 4096}, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'v_head_dim': 128,
        'vocab_size': 129280}),
    'nvidia/DeepSeek-V3.2-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--DeepSeek-V3.2-NVFP4_config.json',
        {'architectures': ['DeepseekV32ForCausalLM'], 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'hidden_size': 7168,
        'index_head_dim': 128, 'index_n_heads': 64, 'index_topk': 2048, 'intermediate_size': 18432, 'kv_lora_rank': 512,
        'max_position_embeddings': 163840, 'model_type': 'deepseek_v32', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1,
        'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 128, 'num_experts_per_tok': 8, 'num_hidden_layers': 61,
        'num_key_value_heads': 128, 'num_nextn_predict_layers': 1, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim':
        64, 'rope_scaling': {'factor': 40, 'original_max_position_embeddings': 4096}, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'v_head_dim': 128, 'vocab_size': 129280}),
    'nvidia/DeepSeek-V4-Flash-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--DeepSeek-V4-Flash-NVFP4_config.json',
        {'architectures': ['DeepseekV4ForCausalLM'], 'compress_ratios': {'number_runs':
        '0*2,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,0'},
        'expert_dtype': 'fp4', 'head_dim': 512, 'hidden_act': 'silu', 'hidden_size': 4096, 'index_head_dim': 128, 'index_n_heads': 64,
        'index_topk': 512, 'max_position_embeddings': 1048576, 'model_type': 'deepseek_v4', 'moe_intermediate_size': 2048,
        'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 6, 'num_hidden_layers': 43,
        'num_key_value_heads': 1, 'num_nextn_predict_layers': 1, 'o_groups': 8, 'o_lora_rank': 1024, 'q_lora_rank': 1024,
        'qk_rope_head_dim': 64, 'quantization_config': {'quant_method': 'fp8', 'quant_algo': 'MIXED_PRECISION', 'group_size': 16,
        'weight_block_size': [128, 128], 'ignore': ['*.attn.*', '*.ffn.shared_experts.*', 'head', 'mtp.*'], 'config_groups':
        {'group_0': {'weights': {'group_size': 16, 'num_bits': 4, 'type': 'float'}, 'format': None, 'targets': ['Linear']}}},
        'rope_scaling': {'factor': 16, 'original_max_position_embeddings': 65536}, 'sliding_window': 128, 'tie_word_embeddings':
        False, 'torch_dtype': 'bfloat16', 'vocab_size': 129280}),
    'nvidia/DeepSeek-V4-Pro-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--DeepSeek-V4-Pro-NVFP4_config.json',
        {'architectures': ['DeepseekV4ForCausalLM'], 'compress_ratios': {'number_runs':
        '128*2,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,0'},
        'expert_dtype': 'fp4', 'head_dim': 512, 'hidden_act': 'silu', 'hidden_size': 7168, 'index_head_dim': 128, 'index_n_heads': 64,
        'index_topk': 1024, 'max_position_embeddings': 1048576, 'model_type': 'deepseek_v4', 'moe_intermediate_size': 3072,
        'n_routed_experts': 384, 'n_shared_experts': 1, 'num_attention_heads': 128, 'num_experts_per_tok': 6, 'num_hidden_layers': 61,
        'num_key_value_heads': 1, 'num_nextn_predict_layers': 1, 'o_groups': 16, 'o_lora_rank': 1024, 'q_lora_rank': 1536,
        'qk_rope_head_dim': 64, 'quantization_config': {'quant_method': 'fp8', 'quant_algo': 'MIXED_PRECISION', 'group_size': 16,
        'weight_block_size': [128, 128], 'ignore': ['*.attn.*', '*.ffn.shared_experts.*', 'head', 'mtp.*'], 'config_groups':
        {'group_0': {'weights': {'group_size': 16, 'num_bits': 4, 'type': 'float'}, 'format': None, 'targets': ['Linear']}}},
        'rope_scaling': {'factor': 16, 'original_max_position_embeddings': 65536}, 'sliding_window': 128, 'tie_word_embeddings':
        False, 'torch_dtype': 'bfloat16', 'vocab_size': 129280}),
    'nvidia/GLM-5-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--GLM-5-NVFP4_config.json',
        {'architectures': ['GlmMoeDsaForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'head_dim':
        64, 'hidden_size': 6144, 'index_head_dim': 128, 'index_n_heads': 32, 'index_topk': 2048, 'intermediate_size': 12288,
        'kv_lora_rank': 512, 'max_position_embeddings': 202752, 'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'model_type':
        'glm_moe_dsa', 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 8,
        'num_hidden_layers': 78, 'num_key_value_heads': 64, 'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, 'qk_nope_head_dim':
        192, 'qk_rope_head_dim': 64, 'tie_word_embeddings': False, 'v_head_dim': 256, 'vocab_size': 154880}),
    'nvidia/GLM-5.1-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--GLM-5.1-NVFP4_config.json',
        {'architectures': ['GlmMoeDsaForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 3, 'hidden_act': 'silu',
        'hidden_size': 6144, 'index_head_dim': 128, 'index_n_heads': 32, 'index_topk': 2048, 'intermediate_size': 12288,
        'kv_lora_rank': 512, 'max_position_embeddings': 202752, 'mlp_layer_types': {'runs': 'dense*3,sparse*75'}, 'model_type':
        'glm_moe_dsa', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'n_routed_experts': 256, 'n_shared_experts': 1,
        'num_attention_heads': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 78, 'num_key_value_heads': 64,
        'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, 'qk_nope_head_dim': 192, 'qk_rope_head_dim': 64, 'tie_word_embeddings':
        False, 'v_head_dim': 256, 'vocab_size': 154880, 'quantization_config': {'quant_method': 'modelopt', 'quant_algo': 'NVFP4',
        'ignore': ['lm_head', 'model.layers.*.*', 'model.layers.*.mlp.shared_experts*', 'model.layers.*.self_attn*',
        'model.layers.0*', 'model.layers.78*'], 'config_groups': {'group_0': {'weights': {'num_bits': 4, 'type': 'float',
        'group_size': 16}, 'format': None, 'targets': ['Linear']}}, 'kv_cache_scheme': {'dynamic': False, 'num_bits': 8, 'type':
        'float'}}}),
    'nvidia/GLM-5.2-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--GLM-5.2-NVFP4_config.json',
        {'architectures': ['GlmMoeDsaForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 3, 'head_dim': 192, 'hidden_act':
        'silu', 'hidden_size': 6144, 'index_head_dim': 128, 'index_n_heads': 32, 'index_skip_topk_offset': 3, 'index_topk': 2048,
        'index_topk_freq': 4, 'intermediate_size': 12288, 'kv_lora_rank': 512, 'layer_types': {'runs':
        'deepseek_sparse_attention*78'}, 'max_position_embeddings': 1048576, 'mlp_layer_types': {'runs': 'dense*3,sparse*75'},
        'model_type': 'glm_moe_dsa', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'n_routed_experts': 256, 'n_shared_experts':
        1, 'num_attention_heads': 64, 'num_experts': 256, 'num_experts_per_tok': 8, 'num_hidden_layers': 78, 'num_key_value_heads':
        64, 'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, 'qk_nope_head_dim': 192, 'qk_rope_head_dim': 64,
        'tie_word_embeddings': False, 'v_head_dim': 256, 'vocab_size': 154880, 'quantization_config': {'quant_method': 'modelopt',
        'quant_algo': 'NVFP4', 'ignore': ['lm_head', 'model.embed_tokens', 'model.layers.*.*', 'model.layers.*.mlp.shared_experts*',
        'model.layers.*.self_attn*', 'model.layers.0*', 'model.layers.78*'], 'config_groups': {'group_0': {'weights': {'num_bits': 4,
        'type': 'float', 'group_size': 16}, 'format': None, 'targets': ['Linear']}}, 'kv_cache_scheme': {'dynamic': False, 'num_bits':
        8, 'type': 'float'}}}),
    'nvidia/Gemma-4-26B-A4B-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Gemma-4-26B-A4B-NVFP4_config.json',
        {'architectures': ['Gemma4ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'gemma4', 'text_config':
        {'attention_k_eq_v': True, 'dtype': 'bfloat16', 'enable_moe_block': True, 'final_logit_softcapping': 30.0, 'global_head_dim':
        512, 'head_dim': 256, 'hidden_activation': 'gelu_pytorch_tanh', 'hidden_size': 2816, 'hidden_size_per_layer_input': 0,
        'intermediate_size': 2112, 'layer_types': {'runs':
        'sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention'},
        'max_position_embeddings': 262144, 'model_type': 'gemma4_text', 'moe_intermediate_size': 704, 'num_attention_heads': 16,
        'num_experts': 128, 'num_global_key_value_heads': 2, 'num_hidden_layers': 30, 'num_key_value_heads': 8,
        'num_kv_shared_layers': 0, 'sliding_window': 1024, 'tie_word_embeddings': True, 'top_k_experts': 8, 'use_double_wide_mlp':
        False, 'vocab_size': 262144, 'vocab_size_per_layer_input': 262144}, 'tie_word_embeddings': True, 'vision_config': {'dtype':
        'bfloat16', 'global_head_dim': 72, 'head_dim': 72, 'hidden_activation': 'gelu_pytorch_tanh', 'hidden_size': 1152,
        'intermediate_size': 4304, 'max_position_embeddings': 131072, 'model_type': 'gemma4_vision', 'num_attention_heads': 16,
        'num_hidden_layers': 27, 'num_key_value_heads': 16, 'patch_size': 16}, 'quantization_config': {'quant_method': 'modelopt',
        'quant_algo': 'NVFP4', 'ignore': ['lm_head', 'model.embed_vision*', 'model.language_model.layers.*.mlp*',
        'model.language_model.layers.*.router*', 'model.language_model.layers.*.self_attn*', 'model.vision_tower*'], 'config_groups':
        {'group_0': {'weights': {'num_bits': 4, 'type': 'float', 'group_size': 16}, 'format': None, 'targets': ['Linear']}},
        'kv_cache_scheme': {'dynamic': False, 'num_bits': 8, 'type': 'float'}}}),
    'nvidia/Gemma-4-31B-IT-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Gemma-4-31B-IT-NVFP4_config.json',
        {'architectures': ['Gemma4ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'gemma4', 'text_config':
        {'attention_k_eq_v': True, 'dtype': 'bfloat16', 'enable_moe_block': False, 'final_logit_softcapping': 30.0, 'global_head_dim':
        512, 'head_dim': 256, 'hidden_activation': 'gelu_pytorch_tanh', 'hidden_size': 5376, 'hidden_size_per_layer_input': 0,
        'intermediate_size': 21504, 'layer_types': {'runs':
        'sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention'},
        'max_position_embeddings': 262144, 'model_type': 'gemma4_text', 'num_attention_heads': 32, 'num_global_key_value_heads': 4,
        'num_hidden_layers': 60, 'num_key_value_heads': 16, 'num_kv_shared_layers': 0, 'sliding_window': 1024, 'tie_word_embeddings':
        True, 'use_double_wide_mlp': False, 'vocab_size': 262144, 'vocab_size_per_layer_input': 262144}, 'tie_word_embeddings': True,
        'vision_config': {'dtype': 'bfloat16', 'global_head_dim': 72, 'head_dim': 72, 'hidden_activation': 'gelu_pytorch_tanh',
        'hidden_size': 1152, 'intermediate_size': 4304, 'max_position_embeddings': 131072, 'model_type': 'gemma4_vision',
        'num_attention_heads': 16, 'num_hidden_layers': 27, 'num_key_value_heads': 16, 'patch_size': 16}, 'quantization_config':
        {'quant_method': 'modelopt', 'quant_algo': 'NVFP4', 'ignore': ['lm_head', 'model.embed_vision*',
        'model.language_model.layers.*.self_attn*', 'model.vision_tower*'], 'config_groups': {'group_0': {'weights': {'num_bits': 4,
        'type': 'float', 'group_size': 16}, 'format': None, 'targets': ['Linear']}}, 'kv_cache_scheme': {'dynamic': False, 'num_bits':
        8, 'type': 'float'}}}),
    'nvidia/Kimi-K2.5-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Kimi-K2.5-NVFP4_config.json',
        {'architectures': ['KimiK25ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'kimi_k25', 'quantization_config':
        {'quant_method': 'modelopt', 'quant_algo': 'NVFP4', 'ignore': ['language_model.lm_head',
        'language_model.model.layers.*.self_attn*', 'mm_projector*', 'vision_tower*'], 'config_groups': {'group_0': {'weights':
        {'num_bits': 4, 'type': 'float', 'group_size': 16}, 'format': None, 'targets': ['Linear']}}, 'kv_cache_scheme': {'dynamic':
        False, 'num_bits': 8, 'type': 'float'}}, 'text_config': {'architectures': ['DeepseekV3ForCausalLM'], 'dtype': 'bfloat16',
        'first_k_dense_replace': 1, 'hidden_act': 'silu', 'hidden_size': 7168, 'intermediate_size': 18432, 'kv_lora_rank': 512,
        'max_position_embeddings': 262144, 'model_type': 'deepseek_v3', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1,
        'n_routed_experts': 384, 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 61,
        'num_key_value_heads': 64, 'num_nextn_predict_layers': 0, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim':
        64, 'rope_scaling': {'factor': 64.0, 'original_max_position_embeddings': 4096}, 'tie_word_embeddings': False, 'v_head_dim':
        128, 'vocab_size': 163840}, 'tie_word_embeddings': False, 'vision_config': {'model_type': '', 'patch_size': 14,
        'vt_hidden_size': 1152, 'vt_intermediate_size': 4304, 'vt_num_hidden_layers': 27}}),
    'nvidia/Kimi-K2.6-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Kimi-K2.6-NVFP4_config.json',
        {'architectures': ['KimiK25ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'kimi_k25', 'quantization_config':
        {'quant_method': 'modelopt', 'quant_algo': 'NVFP4', 'ignore': ['language_model.lm_head',
        'language_model.model.layers.*.mlp.shared_experts*', 'language_model.model.layers.*.self_attn*',
        'language_model.model.layers.0*', 'mm_projector*', 'vision_tower*'], 'config_groups': {'group_0': {'weights': {'num_bits': 4,
        'type': 'float', 'group_size': 16}, 'format': None, 'targets': ['Linear']}}, 'kv_cache_scheme': {'dynamic': False, 'num_bits':
        8, 'type': 'float'}}, 'text_config': {'architectures': ['DeepseekV3ForCausalLM'], 'dtype': 'bfloat16',
        'first_k_dense_replace': 1, 'hidden_act': 'silu', 'hidden_size': 7168, 'intermediate_size': 18432, 'kv_lora_rank': 512,
        'max_position_embeddings': 262144, 'model_type': 'deepseek_v3', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1,
        'n_routed_experts': 384, 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 61,
        'num_key_value_heads': 64, 'num_nextn_predict_layers': 0, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim':
        64, 'rope_scaling': {'factor': 64.0, 'original_max_position_embeddings': 4096}, 'tie_word_embeddings': False, 'v_head_dim':
        128, 'vocab_size': 163840}, 'tie_word_embeddings': False, 'vision_config': {'model_type': '', 'patch_size': 14,
        'vt_hidden_size': 1152, 'vt_intermediate_size': 4304, 'vt_num_hidden_layers': 27}}),
    'nvidia/Kimi-K2.7-Code-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Kimi-K2.7-Code-NVFP4_config.json',
        {'architectures': ['KimiK25ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'kimi_k25', 'text_config':
        {'architectures': ['DeepseekV3ForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 1, 'hidden_act': 'silu',
        'hidden_size': 7168, 'intermediate_size': 18432, 'kv_lora_rank': 512, 'max_position_embeddings': 262144, 'model_type':
        'deepseek_v3', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'n_routed_experts': 384, 'n_shared_experts': 1,
        'num_attention_heads': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 61, 'num_key_value_heads': 64,
        'num_nextn_predict_layers': 0, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'tie_word_embeddings':
        False, 'v_head_dim': 128, 'vocab_size': 163840}, 'tie_word_embeddings': False, 'vision_config': {'model_type': '',
        'patch_size': 14, 'vt_hidden_size': 1152, 'vt_intermediate_size': 4304, 'vt_num_hidden_layers': 27}, 'quantization_config':
        {'quant_method': 'modelopt', 'quant_algo': 'NVFP4', 'ignore': ['language_model.lm_head', 'language_model.model.embed_tokens',
        'language_model.model.layers.*.mlp.shared_experts*', 'language_model.model.layers.*.self_attn*',
        'language_model.model.layers.0*', 'mm_projector*', 'vision_tower*'], 'config_groups': {'group_0': {'weights': {'num_bits': 4,
        'type': 'float', 'group_size': 16}, 'format': None, 'targets': ['Linear']}}, 'kv_cache_scheme': {'dynamic': False, 'num_bits':
        8, 'type': 'float'}}}),
    'nvidia/Llama-3.1-70B-Instruct-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Llama-3.1-70B-Instruct-FP8_config.json',
        {'architectures': ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 8192, 'intermediate_size': 28672,
        'max_position_embeddings': 131072, 'model_type': 'llama', 'num_attention_heads': 64, 'num_hidden_layers': 80,
        'num_key_value_heads': 8, 'rope_scaling': {'factor': 8.0, 'original_max_position_embeddings': 8192, 'rope_type': 'llama3'},
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 128256}),
    'nvidia/MiniMax-M2.5-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--MiniMax-M2.5-NVFP4_config.json',
        {'architectures': ['MiniMaxM2ForCausalLM'], 'attn_type_list': {'number_runs': '1*62'}, 'dtype': 'bfloat16', 'head_dim': 128,
        'hidden_act': 'silu', 'hidden_size': 3072, 'intermediate_size': 1536, 'max_position_embeddings': 196608, 'model_type':
        'minimax_m2', 'num_attention_heads': 48, 'num_experts_per_tok': 8, 'num_hidden_layers': 62, 'num_key_value_heads': 8,
        'num_local_experts': 256, 'num_mtp_modules': 3, 'quantization_config': {'quant_method': 'modelopt', 'quant_algo': 'NVFP4',
        'ignore': ['lm_head', 'model.layers.*.block_sparse_moe.gate', 'model.layers.*.self_attn*'], 'config_groups': {'group_0':
        {'weights': {'num_bits': 4, 'type': 'float', 'group_size': 16}, 'format': None, 'targets': ['Linear']}}, 'kv_cache_scheme':
        {'dynamic': False, 'num_bits': 8, 'type': 'float'}}, 'shared_intermediate_size': 0, 'tie_word_embeddings': False,
        'vocab_size': 200064}),
    'nvidia/MiniMax-M2.7-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--MiniMax-M2.7-NVFP4_config.json',
        {'architectures': ['MiniMaxM2ForCausalLM'], 'attn_type_list': {'number_runs': '1*62'}, 'dtype': 'bfloat16', 'head_dim': 128,
        'hidden_act': 'silu', 'hidden_size': 3072, 'intermediate_size': 1536, 'max_position_embeddings': 196608, 'model_type':
        'minimax_m2', 'num_attention_heads': 48, 'num_experts_per_tok': 8, 'num_hidden_layers': 62, 'num_key_value_heads': 8,
        'num_local_experts': 256, 'num_mtp_modules': 3, 'quantization_config': {'quant_method': 'modelopt', 'quant_algo': 'NVFP4',
        'ignore': ['lm_head', 'model.layers.*.block_sparse_moe.gate', 'model.layers.*.self_attn*'], 'config_groups': {'group_0':
        {'weights': {'num_bits': 4, 'type': 'float', 'group_size': 16}, 'format': None, 'targets': ['Linear']}}, 'kv_cache_scheme':
        {'dynamic': False, 'num_bits': 8, 'type': 'float'}}, 'shared_intermediate_size': 0, 'tie_word_embeddings': False,
        'vocab_size': 200064}),
    'nvidia/Qwen3-235B-A22B-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Qwen3-235B-A22B-NVFP4_config.json',
        {'architectures': ['Qwen3MoeForCausalLM'], 'decoder_sparse_step': 1, 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size':
        4096, 'intermediate_size': 12288, 'max_position_embeddings': 40960, 'max_window_layers': 94, 'mlp_only_layers': [],
        'model_type': 'qwen3_moe', 'moe_intermediate_size': 1536, 'num_attention_heads': 64, 'num_experts': 128,
        'num_experts_per_tok': 8, 'num_hidden_layers': 94, 'num_key_value_heads': 4, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'use_sliding_window': False, 'vocab_size': 151936}),
    'nvidia/Qwen3.5-122B-A10B-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Qwen3.5-122B-A10B-NVFP4_config.json',
        {'architectures': ['Qwen3_5MoeForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'qwen3_5_moe', 'text_config':
        {'dtype': 'bfloat16', 'full_attention_interval': 4, 'head_dim': 256, 'hidden_act': 'silu', 'hidden_size': 3072, 'layer_types':
        {'runs':
        'linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention'},
        'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, 'linear_num_key_heads': 16, 'linear_num_value_heads': 64,
        'linear_value_head_dim': 128, 'mamba_ssm_dtype': 'float32', 'max_position_embeddings': 262144, 'mlp_only_layers': [],
        'model_type': 'qwen3_5_moe_text', 'moe_intermediate_size': 1024, 'mtp_num_hidden_layers': 1, 'num_attention_heads': 32,
        'num_experts': 256, 'num_experts_per_tok': 8, 'num_hidden_layers': 48, 'num_key_value_heads': 2,
        'shared_expert_intermediate_size': 1024, 'tie_word_embeddings': False, 'vocab_size': 248320}, 'tie_word_embeddings': False,
        'vision_config': {'depth': 27, 'dtype': 'bfloat16', 'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152,
        'intermediate_size': 4304, 'model_type': 'qwen3_5_moe_vision', 'num_heads': 16, 'num_position_embeddings': 2304,
        'out_hidden_size': 3072, 'patch_size': 16}, 'quantization_config': {'quant_method': 'modelopt', 'quant_algo': 'NVFP4',
        'ignore': ['lm_head', 'model.language_model.layers.*.linear_attn*', 'model.language_model.layers.*.mlp.shared_expert*',
        'model.language_model.layers.*.mlp.shared_expert_gate', 'model.language_model.layers.*.self_attn*', 'model.visual*', 'mtp*',
        'mtp.layers.0*'], 'config_groups': {'group_0': {'weights': {'num_bits': 4, 'type': 'float', 'group_size': 16}, 'format': None,
        'targets': ['Linear']}}, 'kv_cache_scheme': {'dynamic': False, 'num_bits': 8, 'type': 'float'}}}),
    'nvidia/Qwen3.5-397B-A17B-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Qwen3.5-397B-A17B-NVFP4_config.json',
        {'architectures': ['Qwen3_5MoeForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'qwen3_5_moe', 'text_config':
        {'dtype': 'bfloat16', 'full_attention_interval': 4, 'head_dim': 256, 'hidden_act': 'silu', 'hidden_size': 4096, 'layer_types':
        {'runs':
        'linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention'},
        'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, 'linear_num_key_heads': 16, 'linear_num_value_heads': 64,
        'linear_value_head_dim': 128, 'mamba_ssm_dtype': 'float32', 'max_position_embeddings': 262144, 'mlp_only_layers': [],
        'model_type': 'qwen3_5_moe_text', 'moe_intermediate_size': 1024, 'mtp_num_hidden_layers': 1, 'num_attention_heads': 32,
        'num_experts': 512, 'num_experts_per_tok': 10, 'num_hidden_layers': 60, 'num_key_value_heads': 2,
        'shared_expert_intermediate_size': 1024, 'tie_word_embeddings': False, 'vocab_size': 248320}, 'tie_word_embeddings': False,
        'vision_config': {'depth': 27, 'dtype': 'bfloat16', 'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152,
        'intermediate_size': 4304, 'model_type': 'qwen3_5_moe', 'num_heads': 16, 'num_position_embeddings': 2304, 'out_hidden_size':
        4096, 'patch_size': 16}, 'quantization_config': {'quant_method': 'modelopt', 'quant_algo': 'NVFP4', 'ignore':
        ['*.mlp.shared_expert.*', 'lm_head', 'model.language_model.layers.*.linear_attn*',
        'model.language_model.layers.*.mlp.shared_expert*', 'model.language_model.layers.*.mlp.shared_expert_gate',
        'model.language_model.layers.*.self_attn*', 'model.visual*', 'mtp.layers.0*'], 'config_groups': {'group_0': {'weights':
        {'num_bits': 4, 'type': 'float', 'group_size': 16}, 'format': None, 'targets': ['Linear']}}, 'kv_cache_scheme': {'dynamic':
        False, 'num_bits': 8, 'type': 'float'}}}),
    'nvidia/Qwen3.6-27B-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Qwen3.6-27B-NVFP4_config.json',
        {'architectures': ['Qwen3_5ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'qwen3_5', 'text_config': {'dtype':
        'bfloat16', 'full_attention_interval': 4, 'head_dim': 256, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size':
        17408, 'layer_types': {'runs':
        'linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention'},
        'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, 'linear_num_key_heads': 16, 'linear_num_value_heads': 48,
        'linear_value_head_dim': 128, 'mamba_ssm_dtype': 'float32', 'max_position_embeddings': 262144, 'model_type': 'qwen3_5_text',
        'mtp_num_hidden_layers': 1, 'num_attention_heads': 24, 'num_hidden_layers': 64, 'num_key_value_heads': 4,
        'tie_word_embeddings': False, 'vocab_size': 248320}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27, 'dtype':
        'bfloat16', 'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152, 'intermediate_size': 4304, 'model_type': 'qwen3_5_vision',
        'num_heads': 16, 'num_position_embeddings': 2304, 'out_hidden_size': 5120, 'patch_size': 16}, 'quantization_config':
        {'quant_method': 'modelopt', 'quant_algo': 'MIXED_PRECISION', 'ignore': ['mtp*', 'mtp.layers.0*'], 'config_groups':
        {'group_0': {'weights': {'num_bits': 8, 'type': 'float'}, 'format': None, 'targets':
        ['model.language_model.layers.N.linear_attn.in_proj_qkv', 'model.language_model.layers.N.linear_attn.in_proj_z',
        'model.language_model.layers.N.linear_attn.out_proj', 'model.language_model.layers.N.self_attn.k_proj',
        'model.language_model.layers.N.self_attn.o_proj', 'model.language_model.layers.N.self_attn.q_proj',
        'model.language_model.layers.N.self_attn.v_proj']}, 'group_1': {'weights': {'num_bits': 4, 'type': 'float', 'group_size': 16},
        'format': None, 'targets': ['lm_head', 'model.language_model.layers.N.mlp.down_proj',
        'model.language_model.layers.N.mlp.gate_proj', 'model.language_model.layers.N.mlp.up_proj']}}, 'kv_cache_scheme': {'dynamic':
        False, 'num_bits': 8, 'type': 'float'}}}),
    'nvidia/Qwen3.6-35B-A3B-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Qwen3.6-35B-A3B-NVFP4_config.json',
        {'architectures': ['Qwen3_5MoeForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'qwen3_5_moe', 'text_config':
        {'dtype': 'bfloat16', 'full_attention_interval': 4, 'head_dim': 256, 'hidden_act': 'silu', 'hidden_size': 2048, 'layer_types':
        {'runs':
        'linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention'},
        'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, 'linear_num_key_heads': 16, 'linear_num_value_heads': 32,
        'linear_value_head_dim': 128, 'mamba_ssm_dtype': 'float32', 'max_position_embeddings': 262144, 'model_type':
        'qwen3_5_moe_text', 'moe_intermediate_size': 512, 'mtp_num_hidden_layers': 1, 'num_attention_heads': 16, 'num_experts': 256,
        'num_experts_per_tok': 8, 'num_hidden_layers': 40, 'num_key_value_heads': 2, 'shared_expert_intermediate_size': 512,
        'tie_word_embeddings': False, 'vocab_size': 248320}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27, 'dtype':
        'bfloat16', 'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152, 'intermediate_size': 4304, 'model_type':
        'qwen3_5_moe_vision', 'num_heads': 16, 'num_position_embeddings': 2304, 'out_hidden_size': 2048, 'patch_size': 16},
        'quantization_config': {'quant_method': 'modelopt', 'quant_algo': 'MIXED_PRECISION', 'ignore': ['mtp*', 'mtp.layers.0*'],
        'config_groups': {'group_0': {'weights': {'num_bits': 8, 'type': 'float'}, 'format': None, 'targets':
        ['model.language_model.layers.N.linear_attn.in_proj_qkv', 'model.language_model.layers.N.linear_attn.in_proj_z',
        'model.language_model.layers.N.linear_attn.out_proj', 'model.language_model.layers.N.self_attn.k_proj',
        'model.language_model.layers.N.self_attn.o_proj', 'model.language_model.layers.N.self_attn.q_proj',
        'model.language_model.layers.N.self_attn.v_proj']}, 'group_1': {'weights': {'num_bits': 4, 'type': 'float', 'group_size': 16},
        'format': None, 'targets': ['lm_head', 'model.language_model.layers.N.mlp.experts',
        'model.language_model.layers.N.mlp.shared_expert.down_proj', 'model.language_model.layers.N.mlp.shared_expert.gate_proj',
        'model.language_model.layers.N.mlp.shared_expert.up_proj']}}}}),
}
