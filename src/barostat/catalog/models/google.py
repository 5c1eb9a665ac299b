"""Models of google: what sizes the memory of each model. Written by dev/catalogue.py; see each row's source.

Shapes: name -> (where the numbers were read, fields of the model's configuration; long lists as runs).
"""

from __future__ import annotations

# fmt: off
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    'google/gemma-2-27b': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["gemma2_27b"]', {'architectures':
        ['Gemma2ForCausalLM'], 'final_logit_softcapping': 30.0, 'head_dim': 128, 'hidden_act': 'gelu_pytorch_tanh',
        'hidden_activation': 'gelu_pytorch_tanh', 'hidden_size': 4608, 'intermediate_size': 36864, 'max_position_embeddings': 8192,
        'model_type': 'gemma2', 'num_attention_heads': 32, 'num_hidden_layers': 46, 'num_key_value_heads': 16, 'sliding_window': 4096,
        'sliding_window_size': 4096, 'torch_dtype': 'bfloat16', 'vocab_size': 256000}),
    'google/gemma-2-2b': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["gemma2_2b"]', {'architectures':
        ['Gemma2ForCausalLM'], 'final_logit_softcapping': 30.0, 'head_dim': 256, 'hidden_act': 'gelu_pytorch_tanh',
        'hidden_activation': 'gelu_pytorch_tanh', 'hidden_size': 2304, 'intermediate_size': 9216, 'max_position_embeddings': 8192,
        'model_type': 'gemma2', 'num_attention_heads': 8, 'num_hidden_layers': 26, 'num_key_value_heads': 4, 'sliding_window': 4096,
        'torch_dtype': 'bfloat16', 'vocab_size': 256000}),
    'google/gemma-2-9b': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["gemma2_9b"]', {'architectures':
        ['Gemma2ForCausalLM'], 'final_logit_softcapping': 30.0, 'head_dim': 256, 'hidden_act': 'gelu_pytorch_tanh',
        'hidden_activation': 'gelu_pytorch_tanh', 'hidden_size': 3584, 'intermediate_size': 14336, 'max_position_embeddings': 8192,
        'model_type': 'gemma2', 'num_attention_heads': 16, 'num_hidden_layers': 42, 'num_key_value_heads': 8, 'sliding_window': 4096,
        'sliding_window_size': 4096, 'torch_dtype': 'bfloat16', 'vocab_size': 256000}),
    'google/gemma-2b': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["gemma_2b"]', {'architectures':
        ['GemmaForCausalLM'], 'head_dim': 256, 'hidden_act': 'gelu', 'hidden_size': 2048, 'intermediate_size': 16384,
        'max_position_embeddings': 8192, 'model_type': 'gemma', 'num_attention_heads': 8, 'num_hidden_layers': 18,
        'num_key_value_heads': 1, 'torch_dtype': 'bfloat16', 'vocab_size': 256000}),
    'google/gemma-3-12b-it':
        ('AI-Hypercomputer/maxtext@e591f30cbbf2:src/maxtext/checkpoint_conversion/utils/hf_model_configs.py:gemma3_12b_config',
        {'architectures': ['Gemma3ForConditionalGeneration'], 'model_type': 'gemma3', 'text_config': {'head_dim': 256,
        'hidden_activation': 'gelu', 'hidden_size': 3840, 'intermediate_size': 15360, 'max_position_embeddings': 163840, 'model_type':
        'gemma3_text', 'num_attention_heads': 16, 'num_hidden_layers': 48, 'num_key_value_heads': 8, 'rope_scaling': {'factor': 8.0,
        'rope_type': 'linear'}, 'sliding_window': 1024, 'sliding_window_pattern': 6, 'vocab_size': 262144}, 'torch_dtype': 'bfloat16',
        'vision_config': {'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152, 'image_size': 896, 'intermediate_size': 4304,
        'model_type': 'siglip_vision_model', 'num_attention_heads': 16, 'num_hidden_layers': 27, 'patch_size': 14}}),
    'google/gemma-3-1b-it': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["gemma3_1b_it"]', {'architectures':
        ['Gemma3ForCausalLM'], 'head_dim': 256, 'hidden_activation': 'gelu_pytorch_tanh', 'hidden_size': 1152, 'intermediate_size':
        6912, 'max_position_embeddings': 32768, 'model_type': 'gemma3_text', 'num_attention_heads': 4, 'num_hidden_layers': 26,
        'num_key_value_heads': 1, 'sliding_window': 512, 'sliding_window_pattern': 6, 'torch_dtype': 'bfloat16', 'vocab_size':
        262144}),
    'google/gemma-3-27b-it':
        ('AI-Hypercomputer/maxtext@e591f30cbbf2:src/maxtext/checkpoint_conversion/utils/hf_model_configs.py:gemma3_27b_config',
        {'architectures': ['Gemma3ForConditionalGeneration'], 'model_type': 'gemma3', 'text_config': {'head_dim': 128,
        'hidden_activation': 'gelu', 'hidden_size': 5376, 'intermediate_size': 21504, 'max_position_embeddings': 163840, 'model_type':
        'gemma3_text', 'num_attention_heads': 32, 'num_hidden_layers': 62, 'num_key_value_heads': 16, 'rope_scaling': {'factor': 8.0,
        'rope_type': 'linear'}, 'sliding_window': 1024, 'sliding_window_pattern': 6, 'vocab_size': 262144}, 'torch_dtype': 'bfloat16',
        'vision_config': {'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152, 'image_size': 896, 'intermediate_size': 4304,
        'model_type': 'siglip_vision_model', 'num_attention_heads': 16, 'num_hidden_layers': 27, 'patch_size': 14}}),
    'google/gemma-3-4b-it':
        ('AI-Hypercomputer/maxtext@e591f30cbbf2:src/maxtext/checkpoint_conversion/utils/hf_model_configs.py:gemma3_4b_config',
        {'architectures': ['Gemma3ForConditionalGeneration'], 'model_type': 'gemma3', 'text_config': {'head_dim': 256,
        'hidden_activation': 'gelu', 'hidden_size': 2560, 'intermediate_size': 10240, 'max_position_embeddings': 163840, 'model_type':
        'gemma3_text', 'num_attention_heads': 8, 'num_hidden_layers': 34, 'num_key_value_heads': 4, 'rope_scaling': {'factor': 8.0,
        'rope_type': 'linear'}, 'sliding_window': 1024, 'sliding_window_pattern': 6, 'vocab_size': 262144}, 'torch_dtype': 'bfloat16',
        'vision_config': {'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 1152, 'image_size': 896, 'intermediate_size': 4304,
        'model_type': 'siglip_vision_model', 'num_attention_heads': 16, 'num_hidden_layers': 27, 'patch_size': 14}}),
    'google/gemma-4-26B-A4B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/google--gemma-4-26B-A4B_config.json',
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
        'num_hidden_layers': 27, 'num_key_value_heads': 16, 'patch_size': 16}}),
    'google/gemma-4-E2B':
        ('AI-Hypercomputer/maxtext@e591f30cbbf2:src/maxtext/checkpoint_conversion/utils/hf_model_configs.py:gemma4_e2b_dict',
        {'architectures': ['Gemma4ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'gemma4', 'text_config':
        {'attention_k_eq_v': False, 'dtype': 'bfloat16', 'enable_moe_block': False, 'final_logit_softcapping': 30.0,
        'global_head_dim': 512, 'head_dim': 256, 'hidden_activation': 'gelu_pytorch_tanh', 'hidden_size': 1536,
        'hidden_size_per_layer_input': 256, 'intermediate_size': 6144, 'layer_types': {'runs':
        'sliding_attention*4,full_attention,sliding_attention*4,full_attention,sliding_attention*4,full_attention,sliding_attention*4,full_attention,sliding_attention*4,full_attention,sliding_attention*4,full_attention,sliding_attention*4,full_attention'},
        'max_position_embeddings': 131072, 'model_type': 'gemma4_text', 'num_attention_heads': 8, 'num_hidden_layers': 35,
        'num_key_value_heads': 1, 'num_kv_shared_layers': 20, 'sliding_window': 512, 'tie_word_embeddings': True,
        'use_double_wide_mlp': True, 'vocab_size': 262144, 'vocab_size_per_layer_input': 262144}, 'tie_word_embeddings': True,
        'vision_config': {'dtype': 'bfloat16', 'global_head_dim': 64, 'head_dim': 64, 'hidden_activation': 'gelu_pytorch_tanh',
        'hidden_size': 768, 'intermediate_size': 3072, 'max_position_embeddings': 131072, 'model_type': 'gemma4_vision',
        'num_attention_heads': 12, 'num_hidden_layers': 16, 'num_key_value_heads': 12, 'patch_size': 16}}),
    'google/gemma-4-E4B':
        ('AI-Hypercomputer/maxtext@e591f30cbbf2:src/maxtext/checkpoint_conversion/utils/hf_model_configs.py:gemma4_e4b_dict',
        {'architectures': ['Gemma4ForConditionalGeneration'], 'dtype': 'bfloat16', 'model_type': 'gemma4', 'text_config':
        {'attention_k_eq_v': False, 'dtype': 'bfloat16', 'enable_moe_block': False, 'final_logit_softcapping': 30.0,
        'global_head_dim': 512, 'head_dim': 256, 'hidden_activation': 'gelu_pytorch_tanh', 'hidden_size': 2560,
        'hidden_size_per_layer_input': 256, 'intermediate_size': 10240, 'layer_types': {'runs':
        'sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention,sliding_attention*5,full_attention'},
        'max_position_embeddings': 131072, 'model_type': 'gemma4_text', 'num_attention_heads': 8, 'num_hidden_layers': 42,
        'num_key_value_heads': 2, 'num_kv_shared_layers': 18, 'sliding_window': 512, 'tie_word_embeddings': True,
        'use_double_wide_mlp': False, 'vocab_size': 262144, 'vocab_size_per_layer_input': 262144}, 'tie_word_embeddings': True,
        'vision_config': {'dtype': 'bfloat16', 'global_head_dim': 64, 'head_dim': 64, 'hidden_activation': 'gelu_pytorch_tanh',
        'hidden_size': 768, 'intermediate_size': 3072, 'max_position_embeddings': 131072, 'model_type': 'gemma4_vision',
        'num_attention_heads': 12, 'num_hidden_layers': 16, 'num_key_value_heads': 12, 'patch_size': 16}}),
}
