"""Models of zai-org: what sizes the memory of each model. Written by dev/catalogue.py; see each row's source.

Shapes: name -> (where the numbers were read, fields of the model's configuration; long lists as runs).
"""

from __future__ import annotations

# fmt: off
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    'zai-org/GLM-4.5': ('alibaba/rtp-llm@4b8d39cd5cbe:rtp_llm/test/model_test/fake_test/testdata/glm45/tokenizer/config.json',
        {'architectures': ['Glm4MoeForCausalLM'], 'head_dim': 128, 'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size':
        12288, 'max_position_embeddings': 131072, 'model_type': 'glm4_moe', 'moe_intermediate_size': 1536, 'num_attention_heads': 96,
        'n_routed_experts': 160, 'n_shared_experts': 1, 'num_experts_per_tok': 8, 'first_k_dense_replace': 3, 'num_hidden_layers': 92,
        'num_key_value_heads': 8, 'num_nextn_predict_layers': 1, 'tie_word_embeddings': False, 'torch_dtype': 'bfloat16',
        'vocab_size': 151552}),
    'zai-org/GLM-4.7-Flash': ('gogongxt/python@cbff706dc959:scripts/models/glm_4.7_flash.md', {'architectures':
        ['Glm4MoeLiteForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 1, 'hidden_act': 'silu', 'hidden_size': 2048,
        'intermediate_size': 10240, 'kv_lora_rank': 512, 'max_position_embeddings': 202752, 'mlp_layer_types': {'runs':
        'dense,sparse*46'}, 'model_type': 'glm4_moe_lite', 'moe_intermediate_size': 1536, 'n_routed_experts': 64, 'n_shared_experts':
        1, 'num_attention_heads': 20, 'num_experts_per_tok': 4, 'num_hidden_layers': 47, 'num_key_value_heads': 20,
        'num_nextn_predict_layers': 1, 'q_lora_rank': 768, 'qk_nope_head_dim': 192, 'qk_rope_head_dim': 64, 'tie_word_embeddings':
        False, 'v_head_dim': 256, 'vocab_size': 154880}),
    'zai-org/GLM-5-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/zai-org--GLM-5-FP8_config.json',
        {'architectures': ['GlmMoeDsaForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'head_dim':
        64, 'hidden_size': 6144, 'index_head_dim': 128, 'index_n_heads': 32, 'index_topk': 2048, 'intermediate_size': 12288,
        'kv_lora_rank': 512, 'max_position_embeddings': 202752, 'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'model_type':
        'glm_moe_dsa', 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 8,
        'num_hidden_layers': 78, 'num_key_value_heads': 64, 'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, 'qk_nope_head_dim':
        192, 'qk_rope_head_dim': 64, 'tie_word_embeddings': False, 'v_head_dim': 256, 'vocab_size': 154880, 'quantization_config':
        {'quant_method': 'fp8', 'weight_block_size': [128, 128], 'modules_to_not_convert': ['lm_head', 'model.embed_tokens',
        'model.layers.*.eh_proj', 'model.layers.*.enorm', 'model.layers.*.hnorm', 'model.layers.*.input_layernorm',
        'model.layers.*.mlp.gate', 'model.layers.*.mlp.gate.e_score_correction_bias', 'model.layers.*.post_attention_layernorm',
        'model.layers.*.self_attn.indexer.k_norm', 'model.layers.*.self_attn.indexer.k_norm.bias',
        'model.layers.*.self_attn.indexers_proj', 'model.layers.*.self_attn.kv_a_layernorm', 'model.layers.*.self_attn.q_a_layernorm',
        'model.layers.*.shared_head.norm', 'model.norm']}}),
    'zai-org/GLM-5.1-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/zai-org--GLM-5.1-FP8_config.json',
        {'architectures': ['GlmMoeDsaForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'head_dim':
        64, 'hidden_size': 6144, 'index_head_dim': 128, 'index_n_heads': 32, 'index_topk': 2048, 'intermediate_size': 12288,
        'kv_lora_rank': 512, 'max_position_embeddings': 202752, 'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'model_type':
        'glm_moe_dsa', 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 8,
        'num_hidden_layers': 78, 'num_key_value_heads': 64, 'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, 'qk_nope_head_dim':
        192, 'qk_rope_head_dim': 64, 'tie_word_embeddings': False, 'v_head_dim': 256, 'vocab_size': 154880, 'quantization_config':
        {'quant_method': 'fp8', 'weight_block_size': [128, 128], 'modules_to_not_convert': ['lm_head', 'model.embed_tokens',
        'model.layers.*.eh_proj', 'model.layers.*.enorm', 'model.layers.*.hnorm', 'model.layers.*.input_layernorm',
        'model.layers.*.mlp.gate', 'model.layers.*.mlp.gate.e_score_correction_bias', 'model.layers.*.post_attention_layernorm',
        'model.layers.*.self_attn.indexer.k_norm', 'model.layers.*.self_attn.indexer.k_norm.bias',
        'model.layers.*.self_attn.indexers_proj', 'model.layers.*.self_attn.kv_a_layernorm', 'model.layers.*.self_attn.q_a_layernorm',
        'model.layers.*.shared_head.norm', 'model.norm']}}),
    'zai-org/GLM-5.1':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/zai-org--GLM-5.1_config.json',
        {'architectures': ['GlmMoeDsaForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'head_dim':
        64, 'hidden_size': 6144, 'index_head_dim': 128, 'index_n_heads': 32, 'index_topk': 2048, 'intermediate_size': 12288,
        'kv_lora_rank': 512, 'max_position_embeddings': 202752, 'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'model_type':
        'glm_moe_dsa', 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 8,
        'num_hidden_layers': 78, 'num_key_value_heads': 64, 'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, 'qk_nope_head_dim':
        192, 'qk_rope_head_dim': 64, 'tie_word_embeddings': False, 'v_head_dim': 256, 'vocab_size': 154880}),
    'zai-org/GLM-5.2-FP8':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/zai-org--GLM-5.2-FP8_config.json',
        {'architectures': ['GlmMoeDsaForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 3, 'head_dim': 192, 'hidden_act':
        'silu', 'hidden_size': 6144, 'index_head_dim': 128, 'index_n_heads': 32, 'index_skip_topk_offset': 3, 'index_topk': 2048,
        'index_topk_freq': 4, 'intermediate_size': 12288, 'kv_lora_rank': 512, 'max_position_embeddings': 1048576, 'mlp_layer_types':
        {'runs': 'dense*3,sparse*75'}, 'model_type': 'glm_moe_dsa', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1,
        'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 78,
        'num_key_value_heads': 64, 'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, 'qk_nope_head_dim': 192, 'qk_rope_head_dim':
        64, 'tie_word_embeddings': False, 'v_head_dim': 256, 'vocab_size': 154880, 'quantization_config': {'quant_method': 'fp8',
        'weight_block_size': [128, 128], 'modules_to_not_convert': ['lm_head', 'model.embed_tokens', 'model.layers.*.eh_proj',
        'model.layers.*.enorm', 'model.layers.*.hnorm', 'model.layers.*.input_layernorm', 'model.layers.*.mlp.gate',
        'model.layers.*.mlp.gate.e_score_correction_bias', 'model.layers.*.post_attention_layernorm',
        'model.layers.*.self_attn.indexer.k_norm', 'model.layers.*.self_attn.indexer.k_norm.bias',
        'model.layers.*.self_attn.indexers_proj', 'model.layers.*.self_attn.kv_a_layernorm', 'model.layers.*.self_attn.q_a_layernorm',
        'model.layers.*.shared_head.norm', 'model.norm']}}),
    'zai-org/GLM-5.2':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/zai-org--GLM-5.2_config.json',
        {'architectures': ['GlmMoeDsaForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 3, 'head_dim': 192, 'hidden_act':
        'silu', 'hidden_size': 6144, 'index_head_dim': 128, 'index_n_heads': 32, 'index_skip_topk_offset': 3, 'index_topk': 2048,
        'index_topk_freq': 4, 'intermediate_size': 12288, 'kv_lora_rank': 512, 'max_position_embeddings': 1048576, 'mlp_layer_types':
        {'runs': 'dense*3,sparse*75'}, 'model_type': 'glm_moe_dsa', 'moe_intermediate_size': 2048, 'moe_layer_freq': 1,
        'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 78,
        'num_key_value_heads': 64, 'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, 'qk_nope_head_dim': 192, 'qk_rope_head_dim':
        64, 'tie_word_embeddings': False, 'v_head_dim': 256, 'vocab_size': 154880}),
    'zai-org/GLM-5':
        ('ai-dynamo/aiconfigurator@095f58a51c4c:aic-core/src/aiconfigurator_core/model_configs/zai-org--GLM-5_config.json',
        {'architectures': ['GlmMoeDsaForCausalLM'], 'dtype': 'bfloat16', 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'head_dim':
        64, 'hidden_size': 6144, 'index_head_dim': 128, 'index_n_heads': 32, 'index_topk': 2048, 'intermediate_size': 12288,
        'kv_lora_rank': 512, 'max_position_embeddings': 202752, 'moe_intermediate_size': 2048, 'moe_layer_freq': 1, 'model_type':
        'glm_moe_dsa', 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_attention_heads': 64, 'num_experts_per_tok': 8,
        'num_hidden_layers': 78, 'num_key_value_heads': 64, 'num_nextn_predict_layers': 1, 'q_lora_rank': 2048, 'qk_nope_head_dim':
        192, 'qk_rope_head_dim': 64, 'tie_word_embeddings': False, 'v_head_dim': 256, 'vocab_size': 154880}),
}
