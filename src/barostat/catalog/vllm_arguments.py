"""Names of vLLM's other arguments that take a value: what tells a misspelled argument from one that is merely not in FLAGS.

Source: the argument parser of the published wheel 0.32.0 (`make_arg_parser`), and names that older releases had.
"""

from __future__ import annotations

from barostat.catalog.vllm_flags import FLAGS, OTHER_LISTS, OTHER_SWITCHES

_OTHER_VALUED: frozenset[str] = frozenset(
    """
    additional_config all2all_backend allowed_headers allowed_local_media_path allowed_methods allowed_origins
    anthropic_disabled_thinking_effort attention_backend attention_config aux_output_config chat_template chat_template_content_format
    code_revision cohere_format config_format convert cp_kv_cache_interleave_size cpu_distributed_timeout_seconds
    custom_histogram_buckets data_parallel_address data_parallel_backend data_parallel_rank data_parallel_rpc_port
    data_parallel_start_rank data_parallel_supervisor_port dbo_decode_token_threshold dbo_prefill_token_threshold dcp_comm_backend
    dcp_kv_cache_interleave_size default_chat_template_kwargs default_mm_loras device device_ids diffusion_config
    disable_access_log_for_endpoints disable_async_output_proc disable_logprobs_during_spec_decoding disable_mm_preprocessor_cache
    distributed_timeout_seconds dp_supervisor_probe_failure_threshold dp_supervisor_probe_interval_s dp_supervisor_probe_timeout_s
    dp_sync_interval ec_manager_config ec_transfer_config elastic_ep_max_dp_size enable_multimodal_encoder_data_parallel
    enable_prompt_adapter engine_use_ray engram_config eplb_config expert_placement_strategy fault_tolerance_config fingerprint_mode
    fingerprint_value gdn_prefill_backend grpc_port guided_decoding_backend guided_decoding_disable_additional_properties
    guided_decoding_disable_any_whitespace guided_decoding_disable_fallback h11_max_header_count h11_max_incomplete_event_size help
    hf_config_path hf_token io_processor_plugin ir_op_priority jit_monitor_mode kda_decode_backend kda_prefill_backend kernel_config
    kv_events_config kv_load_failure_policy linear_backend log_config_file log_level logging_config logits_processor_pattern
    logprobs_mode long_lora_scaling_factors lora_dtype lora_extra_vocab_size mamba_backend mamba_block_size mamba_cache_dtype
    mamba_cache_mode mamba_cache_philox_rounds mamba_ssm_cache_dtype mamba_ssu_algorithm master_addr master_port
    max_context_len_to_capture max_cpu_loras max_log_len max_logprobs max_lora_cls_labels max_lora_rank max_loras
    max_parallel_loading_workers max_prompt_adapter_token max_prompt_adapters media_io_kwargs mm_encoder_attn_backend
    mm_encoder_attn_dtype mm_encoder_fp8_scale_path mm_encoder_fp8_scale_save_margin mm_encoder_fp8_scale_save_path mm_encoder_tp_mode
    mm_hasher_algorithm mm_ipc_gpu_memory_gb mm_processor_cache_gb mm_processor_cache_type mm_processor_device mm_processor_kwargs
    mm_shm_cache_max_object_size_mb mm_tensor_ipc model_class_overrides model_impl model_loader_extra_config moe_backend
    multi_step_stream_outputs ngram_prompt_lookup_max ngram_prompt_lookup_min node_rank num_crossattn_slots num_lookahead_slots
    num_speculative_tokens offload_backend offload_group_size offload_num_in_group offload_prefetch_step optimization_level
    otlp_traces_endpoint override_neuron_config override_pooler_config per_request_spec_decode_metrics pooler_config
    prefix_cache_retention_interval prefix_match_unit profiler_config pt_load_map_location qlora_adapter_name_or_path
    quantization_config quantization_param_path reasoning_config reasoning_parser reasoning_parser_plugin renderer_num_workers
    replayssm_buffer_len response_role root_path rope_scaling rope_theta rotary_embedding runner safetensors_load_strategy
    safetensors_prefetch_block_size safetensors_prefetch_num_threads scheduler_cls seed show_hidden_metrics_for_version
    sparse_indexer_topk_backend spec_method spec_model spec_tokens speculative_disable_by_batch_size
    speculative_draft_tensor_parallel_size speculative_max_model_len speculative_model speculative_model_quantization
    sse_keep_alive_interval ssl_ca_certs ssl_cert_reqs ssl_certfile ssl_ciphers ssl_keyfile stream_interval structured_outputs_config
    task tokenizer_mode tokenizer_pool_extra_config tokenizer_pool_size tokenizer_pool_type tokenizer_revision tool_call_parser
    tool_parser_plugin tool_server tool_strict_level ubatch_size uds uvicorn_log_level video_pruning_method video_pruning_rate
    watermark_config weight_transfer_config worker_cls worker_extension_cls worker_use_ray
    """.split()  # noqa: SIM905
)


def argument_names() -> frozenset[str]:
    """Every name with underscores that some version of vLLM takes, as far as we have read."""
    return _OTHER_VALUED | OTHER_LISTS | OTHER_SWITCHES | frozenset(FLAGS)
