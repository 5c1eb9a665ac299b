"""Models of deepseek-ai, sgl-project: what sizes the memory of each model. Written by dev/catalogue.py; see each row's source.

Shapes: name -> (where the numbers were read, fields of the model's configuration; long lists as runs).
"""

from __future__ import annotations

# fmt: off
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    'deepseek-ai/DeepSeek-R1':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/deepseek-ai--DeepSeek-R1_config.json',
        {'architectures': ['DeepseekV3ForCausalLM'], 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'hidden_size': 7168,
        'intermediate_size': 18432, 'kv_lora_rank': 512, 'max_position_embeddings': 163840, 'model_type': 'deepseek_v3',
        'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads':
        128, 'num_experts_per_tok': 8, 'num_hidden_layers': 61, 'num_key_value_heads': 128, 'num_nextn_predict_layers': 1,
        'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'quantization_config': {'quant_method': 'fp8',
        'weight_block_size': [128, 128]}, 'rope_scaling': {'factor': 40, 'original_max_position_embeddings': 4096},
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'v_head_dim': 128, 'vocab_size': 129280}),
    'deepseek-ai/DeepSeek-V2-Lite': ('inference-sim/inference-sim@f90a1e3a6787:model_configs/deepseek-v2-lite/config.json',
        {'architectures': ['DeepseekV2ForCausalLM'], 'first_k_dense_replace': 1, 'hidden_act': 'silu', 'hidden_size': 2048,
        'intermediate_size': 10944, 'kv_lora_rank': 512, 'max_position_embeddings': 163840, 'model_type': 'deepseek_v2',
        'moe_intermediate_size': 1408, 'moe_layer_freq': 1, 'n_routed_experts': 64, 'n_shared_experts': 2, 'num_attention_heads': 16,
        'num_experts_per_tok': 6, 'num_hidden_layers': 27, 'num_key_value_heads': 16, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64,
        'rope_scaling': {'factor': 40, 'original_max_position_embeddings': 4096}, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'v_head_dim': 128, 'vocab_size': 102400}),
    'deepseek-ai/DeepSeek-V3.2':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/deepseek-ai--DeepSeek-V3.2_config.json',
        {'architectures': ['DeepseekV32ForCausalLM'], 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'hidden_size': 7168,
        'index_head_dim': 128, 'index_n_heads': 64, 'index_topk': 2048, 'intermediate_size': 18432, 'kv_lora_rank': 512,
        'max_position_embeddings': 163840, 'model_type': 'deepseek_v32', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1,
        'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 128, 'num_experts_per_tok': 8, 'num_hidden_layers': 61,
        'num_key_value_heads': 128, 'num_nextn_predict_layers': 1, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim':
        64, 'quantization_config': {'quant_method': 'fp8', 'weight_block_size': [128, 128]}, 'rope_scaling': {'factor': 40,
        'original_max_position_embeddings': 4096}, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'v_head_dim': 128,
        'vocab_size': 129280}),
    'deepseek-ai/DeepSeek-V3':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/deepseek-ai--DeepSeek-V3_config.json',
        {'architectures': ['DeepseekV3ForCausalLM'], 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'hidden_size': 7168,
        'intermediate_size': 18432, 'kv_lora_rank': 512, 'max_position_embeddings': 163840, 'model_type': 'deepseek_v3',
        'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads':
        128, 'num_experts_per_tok': 8, 'num_hidden_layers': 61, 'num_key_value_heads': 128, 'num_nextn_predict_layers': 1,
        'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'quantization_config': {'quant_method': 'fp8',
        'weight_block_size': [128, 128]}, 'rope_scaling': {'factor': 40, 'original_max_position_embeddings': 4096},
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'v_head_dim': 128, 'vocab_size': 129280}),
    'deepseek-ai/DeepSeek-V4-Flash':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/deepseek-ai--DeepSeek-V4-Flash_config.json',
        {'architectures': ['DeepseekV4ForCausalLM'], 'expert_dtype': 'fp4', 'head_dim': 512, 'hidden_act': 'silu', 'hidden_size':
        4096, 'index_head_dim': 128, 'index_n_heads': 64, 'index_topk': 512, 'max_position_embeddings': 1048576, 'model_type':
        'deepseek_v4', 'moe_intermediate_size': 2048, 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 64,
        'num_experts_per_tok': 6, 'num_hidden_layers': 43, 'num_key_value_heads': 1, 'num_nextn_predict_layers': 1, 'o_groups': 8,
        'o_lora_rank': 1024, 'q_lora_rank': 1024, 'qk_rope_head_dim': 64, 'quantization_config': {'quant_method': 'fp8',
        'weight_block_size': [128, 128]}, 'rope_scaling': {'factor': 16, 'original_max_position_embeddings': 65536}, 'sliding_window':
        128, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 129280, 'compress_ratios': {'number_runs':
        '0*2,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,0'}}),
    'deepseek-ai/DeepSeek-V4-Pro':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/deepseek-ai--DeepSeek-V4-Pro_config.json',
        {'architectures': ['DeepseekV4ForCausalLM'], 'expert_dtype': 'fp4', 'head_dim': 512, 'hidden_act': 'silu', 'hidden_size':
        7168, 'index_head_dim': 128, 'index_n_heads': 64, 'index_topk': 1024, 'max_position_embeddings': 1048576, 'model_type':
        'deepseek_v4', 'moe_intermediate_size': 3072, 'n_routed_experts': 384, 'n_shared_experts': 1, 'num_attention_heads': 128,
        'num_experts_per_tok': 6, 'num_hidden_layers': 61, 'num_key_value_heads': 1, 'num_nextn_predict_layers': 1, 'o_groups': 16,
        'o_lora_rank': 1024, 'q_lora_rank': 1536, 'qk_rope_head_dim': 64, 'quantization_config': {'quant_method': 'fp8',
        'weight_block_size': [128, 128]}, 'rope_scaling': {'factor': 16, 'original_max_position_embeddings': 65536}, 'sliding_window':
        128, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 129280, 'compress_ratios': {'number_runs':
        '128*2,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,0'}}),
    'sgl-project/DeepSeek-V4-Flash-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/sgl-project--DeepSeek-V4-Flash-FP8_config.json',
        {'architectures': ['DeepseekV4ForCausalLM'], 'hidden_size': 4096, 'num_hidden_layers': 43, 'num_attention_heads': 64,
        'num_key_value_heads': 1, 'head_dim': 512, 'vocab_size': 129280, 'max_position_embeddings': 1048576, 'moe_intermediate_size':
        2048, 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_experts_per_tok': 6, 'num_nextn_predict_layers': 1, 'q_lora_rank':
        1024, 'o_lora_rank': 1024, 'o_groups': 8, 'qk_rope_head_dim': 64, 'index_head_dim': 128, 'index_n_heads': 64, 'index_topk':
        512, 'sliding_window': 128, 'compress_ratios': {'number_runs':
        '0*2,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,0'},
        'quantization_config': {'quant_method': 'fp8', 'weight_block_size': [128, 128]}, 'rope_scaling': {'factor': 16,
        'original_max_position_embeddings': 65536}, 'torch_dtype': 'bfloat16', 'model_type': 'deepseek_ref'}),
    'sgl-project/DeepSeek-V4-Pro-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/sgl-project--DeepSeek-V4-Pro-FP8_config.json',
        {'architectures': ['DeepseekV4ForCausalLM'], 'hidden_size': 7168, 'num_hidden_layers': 61, 'num_attention_heads': 128,
        'num_key_value_heads': 1, 'head_dim': 512, 'vocab_size': 129280, 'max_position_embeddings': 1048576, 'moe_intermediate_size':
        3072, 'n_routed_experts': 384, 'n_shared_experts': 1, 'num_experts_per_tok': 6, 'num_nextn_predict_layers': 1, 'q_lora_rank':
        1536, 'o_lora_rank': 1024, 'o_groups': 16, 'qk_rope_head_dim': 64, 'index_head_dim': 128, 'index_n_heads': 64, 'index_topk':
        1024, 'sliding_window': 128, 'compress_ratios': {'number_runs':
        '128*2,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,0'},
        'quantization_config': {'quant_method': 'fp8', 'weight_block_size': [128, 128]}, 'rope_scaling': {'factor': 16,
        'original_max_position_embeddings': 65536}, 'torch_dtype': 'bfloat16', 'model_type': 'deepseek_ref'}),
}
