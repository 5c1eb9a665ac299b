"""Models of nvidia, nemotron: what sizes the memory of each model. Written by dev/catalogue.py; see each row's source.

Shapes: name -> (where the numbers were read, fields of the model's configuration; long lists as runs).
"""

from __future__ import annotations

# fmt: off
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    'nvidia/Llama-3_3-Nemotron-Super-49B-v1':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Llama-3_3-Nemotron-Super-49B-v1_config.json',
        {'architectures': ['DeciLMForCausalLM'], 'block_configs': {'block_runs':
        '8/2.625,8/5.25*5,-/2.625*2,8/5.25*3,-/3.28125,8/5.25*30,-/1.3125,-/2.625*2,-/1.3125,-/5.25,-/1.3125,-/2.625,-/1.3125*3,8/5.25,-/1.3125,-/1.0*2,-/1.3125,-/1.0*3,-/1.3125*2,-/0.5*2,-/1.0*2,-/0.5*2,-/1.0,-/0.5*2,8/5.25*9'},
        'hidden_act': 'silu', 'hidden_size': 8192, 'max_position_embeddings': 131072, 'model_type': 'nemotron-nas',
        'num_attention_heads': 64, 'num_hidden_layers': 80, 'rope_scaling': {'factor': 8.0, 'original_max_position_embeddings': 8192,
        'rope_type': 'llama3'}, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 128256}),
    'nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16_config.json',
        {'architectures': ['NemotronHForCausalLM'], 'conv_kernel': 4, 'expand': 2, 'head_dim': 128, 'hidden_size': 2688,
        'hybrid_override_pattern': 'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME', 'intermediate_size': 1856,
        'mamba_head_dim': 64, 'mamba_num_heads': 64, 'mamba_ssm_cache_dtype': 'float32', 'max_position_embeddings': 262144,
        'mlp_hidden_act': 'relu2', 'model_type': 'nemotron_h', 'moe_intermediate_size': 1856, 'moe_shared_expert_intermediate_size':
        3712, 'n_groups': 8, 'n_routed_experts': 128, 'n_shared_experts': 1, 'num_attention_heads': 32, 'num_experts_per_tok': 6,
        'num_hidden_layers': 52, 'num_key_value_heads': 2, 'ssm_state_size': 128, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'vocab_size': 131072}),
    'nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4_config.json',
        {'architectures': ['NemotronHForCausalLM'], 'conv_kernel': 4, 'expand': 2, 'head_dim': 128, 'hidden_size': 2688,
        'hybrid_override_pattern': 'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME', 'intermediate_size': 1856,
        'mamba_head_dim': 64, 'mamba_num_heads': 64, 'mamba_ssm_cache_dtype': 'float32', 'max_position_embeddings': 262144,
        'mlp_hidden_act': 'relu2', 'model_type': 'nemotron_h', 'moe_intermediate_size': 1856, 'moe_shared_expert_intermediate_size':
        3712, 'n_groups': 8, 'n_routed_experts': 128, 'n_shared_experts': 1, 'num_attention_heads': 32, 'num_experts_per_tok': 6,
        'num_hidden_layers': 52, 'num_key_value_heads': 2, 'ssm_state_size': 128, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'vocab_size': 131072}),
    'nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B':
        ('kaito-project/kaito@056b8280b1a8:presets/workspace/inference/vllm/tests/nemotron-3-nano-30b-a3b-config.json',
        {'architectures': ['NemotronHForCausalLM'], 'conv_kernel': 4, 'expand': 2, 'head_dim': 128, 'hidden_size': 2688,
        'hybrid_override_pattern': 'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME', 'intermediate_size': 1856,
        'mamba_head_dim': 64, 'mamba_num_heads': 64, 'mamba_ssm_cache_dtype': 'float32', 'max_position_embeddings': 262144,
        'mlp_hidden_act': 'relu2', 'model_type': 'nemotron_h', 'moe_intermediate_size': 1856, 'moe_shared_expert_intermediate_size':
        3712, 'n_groups': 8, 'n_routed_experts': 128, 'n_shared_experts': 1, 'num_attention_heads': 32, 'num_experts_per_tok': 6,
        'num_hidden_layers': 52, 'num_key_value_heads': 2, 'ssm_state_size': 128, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'vocab_size': 131072}),
    'nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8_config.json',
        {'architectures': ['NemotronHForCausalLM'], 'conv_kernel': 4, 'dtype': 'bfloat16', 'expand': 2, 'head_dim': 128,
        'hidden_size': 4096, 'hybrid_override_pattern':
        'MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME', 'intermediate_size': 2688,
        'mamba_head_dim': 64, 'mamba_num_heads': 128, 'mamba_ssm_cache_dtype': 'float32', 'max_position_embeddings': 262144,
        'mlp_hidden_act': 'relu2', 'model_type': 'nemotron_h', 'moe_intermediate_size': 2688, 'moe_latent_size': 1024,
        'moe_shared_expert_intermediate_size': 5376, 'n_groups': 8, 'n_routed_experts': 512, 'n_shared_experts': 1,
        'num_attention_heads': 32, 'num_experts_per_tok': 22, 'num_hidden_layers': 88, 'num_key_value_heads': 2,
        'num_nextn_predict_layers': 1, 'ssm_state_size': 128, 'tie_word_embeddings': False, 'vocab_size': 131072}),
    'nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4_config.json',
        {'architectures': ['NemotronHForCausalLM'], 'conv_kernel': 4, 'dtype': 'bfloat16', 'expand': 2, 'head_dim': 128,
        'hidden_size': 4096, 'hybrid_override_pattern':
        'MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME', 'intermediate_size': 2688,
        'mamba_head_dim': 64, 'mamba_num_heads': 128, 'mamba_ssm_cache_dtype': 'float32', 'max_position_embeddings': 262144,
        'mlp_hidden_act': 'relu2', 'model_type': 'nemotron_h', 'moe_intermediate_size': 2688, 'moe_latent_size': 1024,
        'moe_shared_expert_intermediate_size': 5376, 'n_groups': 8, 'n_routed_experts': 512, 'n_shared_experts': 1,
        'num_attention_heads': 32, 'num_experts_per_tok': 22, 'num_hidden_layers': 88, 'num_key_value_heads': 2,
        'num_nextn_predict_layers': 1, 'ssm_state_size': 128, 'tie_word_embeddings': False, 'vocab_size': 131072}),
    'nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16_config.json',
        {'architectures': ['NemotronHForCausalLM'], 'conv_kernel': 4, 'dtype': 'bfloat16', 'expand': 2, 'head_dim': 128,
        'hidden_size': 8192, 'intermediate_size': 5120, 'layers_block_type': ['mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba',
        'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention',
        'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba',
        'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba',
        'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'moe'], 'mamba_head_dim': 64, 'mamba_num_heads': 256, 'mamba_ssm_cache_dtype': 'float32', 'max_position_embeddings': 262144,
        'mlp_hidden_act': 'relu2', 'model_type': 'nemotron_h', 'moe_intermediate_size': 5120, 'moe_latent_size': 2048,
        'moe_shared_expert_intermediate_size': 10240, 'n_groups': 8, 'n_routed_experts': 512, 'n_shared_experts': 1,
        'num_attention_heads': 64, 'num_experts_per_tok': 22, 'num_key_value_heads': 2, 'num_nextn_predict_layers': 1,
        'ssm_state_size': 128, 'tie_word_embeddings': False, 'vocab_size': 131072}),
    'nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8_config.json',
        {'architectures': ['NemotronHForCausalLM'], 'conv_kernel': 4, 'dtype': 'bfloat16', 'expand': 2, 'head_dim': 128,
        'hidden_size': 8192, 'intermediate_size': 5120, 'layers_block_type': ['mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba',
        'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention',
        'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba',
        'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba',
        'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'moe'], 'mamba_head_dim': 64, 'mamba_num_heads': 256, 'mamba_ssm_cache_dtype': 'float32', 'max_position_embeddings': 262144,
        'mlp_hidden_act': 'relu2', 'model_type': 'nemotron_h', 'moe_intermediate_size': 5120, 'moe_latent_size': 2048,
        'moe_shared_expert_intermediate_size': 10240, 'n_groups': 8, 'n_routed_experts': 512, 'n_shared_experts': 1,
        'num_attention_heads': 64, 'num_experts_per_tok': 22, 'num_key_value_heads': 2, 'num_nextn_predict_layers': 1,
        'ssm_state_size': 128, 'tie_word_embeddings': False, 'vocab_size': 131072}),
    'nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4_config.json',
        {'architectures': ['NemotronHForCausalLM'], 'conv_kernel': 4, 'dtype': 'bfloat16', 'expand': 2, 'head_dim': 128,
        'hidden_size': 8192, 'intermediate_size': 5120, 'layers_block_type': ['mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba',
        'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention',
        'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba',
        'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba',
        'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'moe'], 'mamba_head_dim': 64, 'mamba_num_heads': 256, 'mamba_ssm_cache_dtype': 'float32', 'max_position_embeddings': 262144,
        'mlp_hidden_act': 'relu2', 'model_type': 'nemotron_h', 'moe_intermediate_size': 5120, 'moe_latent_size': 2048,
        'moe_shared_expert_intermediate_size': 10240, 'n_groups': 8, 'n_routed_experts': 512, 'n_shared_experts': 1,
        'num_attention_heads': 64, 'num_experts_per_tok': 22, 'num_key_value_heads': 2, 'num_nextn_predict_layers': 1,
        'ssm_state_size': 128, 'tie_word_embeddings': False, 'vocab_size': 131072}),
    'nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4_config.json',
        {'architectures': ['NemotronHForCausalLM'], 'conv_kernel': 4, 'dtype': 'bfloat16', 'expand': 2, 'head_dim': 128,
        'hidden_size': 2688, 'intermediate_size': 1856, 'layers_block_type': ['mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention',
        'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention',
        'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention',
        'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba', 'attention', 'moe', 'mamba', 'moe', 'mamba', 'moe', 'mamba',
        'moe', 'mamba', 'moe'], 'mamba_head_dim': 64, 'mamba_num_heads': 64, 'mamba_ssm_cache_dtype': 'float32',
        'max_position_embeddings': 1048576, 'mlp_hidden_act': 'relu2', 'model_type': 'nemotron_h', 'moe_intermediate_size': 1856,
        'moe_shared_expert_intermediate_size': 3712, 'n_groups': 8, 'n_routed_experts': 128, 'n_shared_experts': 1,
        'num_attention_heads': 32, 'num_experts_per_tok': 6, 'num_hidden_layers': 52, 'num_key_value_heads': 2,
        'num_nextn_predict_layers': 1, 'ssm_state_size': 128, 'tie_word_embeddings': False, 'vocab_size': 131072}),
    'nvidia/Nemotron-H-56B-Base-8K':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/nvidia--Nemotron-H-56B-Base-8K_config.json',
        {'architectures': ['NemotronHForCausalLM'], 'attention_head_dim': 128, 'conv_kernel': 4, 'expand': 2, 'hidden_size': 8192,
        'hybrid_override_pattern':
        'M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-',
        'intermediate_size': 32768, 'mamba_head_dim': 64, 'mamba_num_heads': 256, 'max_position_embeddings': 8192, 'mlp_hidden_act':
        'relu2', 'model_type': 'nemotron_h', 'n_groups': 8, 'num_attention_heads': 64, 'num_hidden_layers': 118,
        'num_key_value_heads': 8, 'ssm_state_size': 256, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size':
        131072}),
}
