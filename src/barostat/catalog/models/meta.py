"""Models of meta-llama, redhatai, codellama: what sizes the memory of each model. Written by dev/catalogue.py; see each row's source.

Shapes: name -> (where the numbers were read, fields of the model's configuration; long lists as runs).
"""

from __future__ import annotations

# fmt: off
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    'RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic':
        ('inference-sim/inference-sim@f90a1e3a6787:model_configs/llama-4-scout-17b-16e-instruct-fp8-dynamic/config.json',
        {'architectures': ['Llama4ForConditionalGeneration'], 'model_type': 'llama4', 'text_config': {'attention_chunk_size': 8192,
        'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'interleave_moe_layer_step': 1, 'intermediate_size': 8192,
        'intermediate_size_mlp': 16384, 'max_position_embeddings': 10485760, 'model_type': 'llama4_text', 'no_rope_layers': [],
        'num_attention_heads': 40, 'num_experts_per_tok': 1, 'num_hidden_layers': 48, 'num_key_value_heads': 8, 'num_local_experts':
        16, 'rope_scaling': {'factor': 16.0, 'original_max_position_embeddings': 8192, 'rope_type': 'llama3'}, 'torch_dtype':
        'bfloat16', 'vocab_size': 202048}, 'torch_dtype': 'bfloat16', 'vision_config': {'hidden_act': 'gelu', 'hidden_size': 1408,
        'image_size': 336, 'intermediate_size': 5632, 'model_type': 'llama4_vision_model', 'num_attention_heads': 16,
        'num_hidden_layers': 34, 'patch_size': 14}, 'quantization_config': {'quant_method': 'compressed-tensors', 'format':
        'float-quantized', 'ignore': ['language_model.lm_head', 'language_model.model.layers.*.feed_forward.router',
        'language_model.model.layers.*.self_attn.k_proj', 'language_model.model.layers.*.self_attn.o_proj',
        'language_model.model.layers.*.self_attn.q_proj', 'language_model.model.layers.*.self_attn.v_proj',
        'multi_modal_projector.linear_1', 'vision_model.model.layers.*.mlp.fc1', 'vision_model.model.layers.*.mlp.fc2',
        'vision_model.model.layers.*.self_attn.k_proj', 'vision_model.model.layers.*.self_attn.o_proj',
        'vision_model.model.layers.*.self_attn.q_proj', 'vision_model.model.layers.*.self_attn.v_proj',
        'vision_model.patch_embedding.linear', 'vision_model.vision_adapter.mlp.fc1', 'vision_model.vision_adapter.mlp.fc2'],
        'config_groups': {'group_0': {'weights': {'group_size': None, 'num_bits': 8, 'strategy': 'channel', 'type': 'float'},
        'format': None, 'targets': ['Linear']}}}}),
    'codellama/CodeLlama-34b-Instruct-hf':
        ('inference-sim/inference-sim@f90a1e3a6787:model_configs/codellama-34b-instruct-hf/config.json', {'architectures':
        ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 8192, 'intermediate_size': 22016, 'max_position_embeddings': 16384,
        'model_type': 'llama', 'num_attention_heads': 64, 'num_hidden_layers': 48, 'num_key_value_heads': 8, 'tie_word_embeddings':
        False, 'torch_dtype': 'bfloat16', 'vocab_size': 32000}),
    'meta-llama/Llama-2-7b-hf': ('inference-sim/inference-sim@f90a1e3a6787:model_configs/llama-2-7b-hf/config.json', {'architectures':
        ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 11008, 'max_position_embeddings': 4096,
        'model_type': 'llama', 'num_attention_heads': 32, 'num_hidden_layers': 32, 'num_key_value_heads': 32, 'tie_word_embeddings':
        False, 'torch_dtype': 'float16', 'vocab_size': 32000}),
    'meta-llama/Llama-3.1-70B-Instruct': ('inference-sim/inference-sim@f90a1e3a6787:model_configs/llama-3.1-70b-instruct/config.json',
        {'architectures': ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 8192, 'intermediate_size': 28672,
        'max_position_embeddings': 131072, 'model_type': 'llama', 'num_attention_heads': 64, 'num_hidden_layers': 80,
        'num_key_value_heads': 8, 'rope_scaling': {'factor': 8.0, 'original_max_position_embeddings': 8192, 'rope_type': 'llama3'},
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 128256}),
    'meta-llama/Llama-3.1-8B-Instruct': ('inference-sim/inference-sim@f90a1e3a6787:model_configs/llama-3.1-8b-instruct/config.json',
        {'architectures': ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 14336,
        'max_position_embeddings': 131072, 'model_type': 'llama', 'num_attention_heads': 32, 'num_hidden_layers': 32,
        'num_key_value_heads': 8, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 128256}),
    'meta-llama/Llama-3.2-1B': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["llama3_2_1b"]', {'architectures':
        ['LlamaForCausalLM'], 'head_dim': 64, 'hidden_act': 'silu', 'hidden_size': 2048, 'intermediate_size': 8192,
        'max_position_embeddings': 131072, 'model_type': 'llama', 'num_attention_heads': 32, 'num_hidden_layers': 16,
        'num_key_value_heads': 8, 'rope_scaling': {'factor': 32.0, 'original_max_position_embeddings': 8192, 'rope_type': 'llama3'},
        'tie_word_embeddings': True, 'torch_dtype': 'bfloat16', 'vocab_size': 128256}),
    'meta-llama/Llama-3.2-3B': ('mlc-ai/mlc-llm@79d603f085f5:python/mlc_llm/model/model_preset.py["llama3_2_3b"]', {'architectures':
        ['LlamaForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 3072, 'intermediate_size': 8192,
        'max_position_embeddings': 131072, 'model_type': 'llama', 'num_attention_heads': 24, 'num_hidden_layers': 28,
        'num_key_value_heads': 8, 'rope_scaling': {'factor': 32.0, 'original_max_position_embeddings': 8192, 'rope_type': 'llama3'},
        'tie_word_embeddings': True, 'torch_dtype': 'bfloat16', 'vocab_size': 128256}),
    'meta-llama/Llama-4-Maverick-17B-128E-Instruct':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/meta-llama--Llama-4-Maverick-17B-128E-Instruct_config.json',
        {'architectures': ['Llama4ForConditionalGeneration'], 'model_type': 'llama4', 'text_config': {'attention_chunk_size': 8192,
        'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'interleave_moe_layer_step': 2, 'intermediate_size': 8192,
        'intermediate_size_mlp': 16384, 'max_position_embeddings': 1048576, 'model_type': 'llama4_text', 'num_attention_heads': 40,
        'num_experts_per_tok': 1, 'num_hidden_layers': 48, 'num_key_value_heads': 8, 'num_local_experts': 128, 'torch_dtype':
        'bfloat16', 'vocab_size': 202048}, 'torch_dtype': 'bfloat16'}),
    'meta-llama/Llama-4-Scout-17B-16E-Instruct':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/meta-llama--Llama-4-Scout-17B-16E-Instruct_config.json',
        {'architectures': ['Llama4ForConditionalGeneration'], 'model_type': 'llama4', 'text_config': {'attention_chunk_size': 8192,
        'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'interleave_moe_layer_step': 1, 'intermediate_size': 8192,
        'intermediate_size_mlp': 16384, 'max_position_embeddings': 10485760, 'model_type': 'llama4_text', 'num_attention_heads': 40,
        'num_experts_per_tok': 1, 'num_hidden_layers': 48, 'num_key_value_heads': 8, 'num_local_experts': 16, 'rope_scaling':
        {'factor': 16.0, 'original_max_position_embeddings': 8192, 'rope_type': 'llama3'}, 'torch_dtype': 'bfloat16', 'vocab_size':
        202048}, 'torch_dtype': 'bfloat16'}),
    'meta-llama/Meta-Llama-3.1-405B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/meta-llama--Meta-Llama-3.1-405B_config.json',
        {'architectures': ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 16384, 'intermediate_size': 53248,
        'max_position_embeddings': 131072, 'model_type': 'llama', 'num_attention_heads': 128, 'num_hidden_layers': 126,
        'num_key_value_heads': 8, 'rope_scaling': {'factor': 8.0, 'original_max_position_embeddings': 8192, 'rope_type': 'llama3'},
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 128256}),
    'meta-llama/Meta-Llama-3.1-70B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/meta-llama--Meta-Llama-3.1-70B_config.json',
        {'architectures': ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 8192, 'intermediate_size': 28672,
        'max_position_embeddings': 131072, 'model_type': 'llama', 'num_attention_heads': 64, 'num_hidden_layers': 80,
        'num_key_value_heads': 8, 'rope_scaling': {'factor': 8.0, 'original_max_position_embeddings': 8192, 'rope_type': 'llama3'},
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 128256}),
    'meta-llama/Meta-Llama-3.1-8B':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/meta-llama--Meta-Llama-3.1-8B_config.json',
        {'architectures': ['LlamaForCausalLM'], 'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 14336,
        'max_position_embeddings': 131072, 'model_type': 'llama', 'num_attention_heads': 32, 'num_hidden_layers': 32,
        'num_key_value_heads': 8, 'rope_scaling': {'factor': 8.0, 'original_max_position_embeddings': 8192, 'rope_type': 'llama3'},
        'tie_word_embeddings': False, 'torch_dtype': 'bfloat16', 'vocab_size': 128256}),
}
