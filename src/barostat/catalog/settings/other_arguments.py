"""Arguments of vLLM without a row in the table: their bare names, which tell a misspelled argument
from an unknown one and a switch from an argument with a value; and those that are gone.

Source: the argument parser of the published wheel 0.32.0 (`make_arg_parser`), and names that older
releases had.
"""

from __future__ import annotations

from typing import NamedTuple


class Removed(NamedTuple):
    """A former argument. `gone`: first version without it; `instead`: its replacement, if any."""

    gone: str
    instead: str = ""


_OLD_SPECULATION = Removed("0.8.3", "--speculative-config")
_UNREPLACED = Removed("0.10.0")
_GUIDED = Removed("0.12.0", "--structured-outputs-config")
_EPLB = Removed("0.12.0", "--eplb-config")

REMOVED: dict[str, Removed] = {
    "device": Removed("0.10.0"),
    "disable_async_output_proc": Removed("0.11.0"),
    "disable_frontend_multiprocessing": Removed("0.10.0"),
    "disable_log_requests": Removed("0.17.0", "--no-enable-log-requests"),
    "disable_logprobs_during_spec_decoding": _OLD_SPECULATION,
    "disable_mm_preprocessor_cache": Removed("0.13.0", "--mm-processor-cache-gb 0"),
    "enable_lora_bias": Removed("0.11.1"),
    "enable_multimodal_encoder_data_parallel": Removed("0.13.0", "--mm-encoder-tp-mode data"),
    "enable_prompt_adapter": Removed("0.10.2"),
    "enable_reasoning": Removed("0.10.0", "--reasoning-parser alone"),
    "eplb_log_balancedness": _EPLB,
    "eplb_step_interval": _EPLB,
    "eplb_window_size": _EPLB,
    "guided_decoding_backend": _GUIDED,
    "guided_decoding_disable_additional_properties": _GUIDED,
    "guided_decoding_disable_any_whitespace": _GUIDED,
    "guided_decoding_disable_fallback": _GUIDED,
    "logits_processor_pattern": Removed("0.17.0"),
    "long_lora_scaling_factors": Removed("0.10.0"),
    "lora_extra_vocab_size": Removed("0.12.0"),
    "max_prompt_adapter_token": _UNREPLACED,
    "max_prompt_adapters": _UNREPLACED,
    "multi_step_stream_outputs": Removed("0.10.1"),
    "ngram_prompt_lookup_max": _OLD_SPECULATION,
    "ngram_prompt_lookup_min": _OLD_SPECULATION,
    "num_lookahead_slots": Removed("0.12.0"),
    "num_redundant_experts": _EPLB,
    "num_speculative_tokens": _OLD_SPECULATION,
    "override_neuron_config": Removed("0.10.2"),
    "override_pooler_config": Removed("0.12.0", "--pooler-config"),
    "prompt_adapters": _UNREPLACED,
    "qlora_adapter_name_or_path": Removed("0.10.0"),
    "rope_scaling": Removed("0.11.1", "--hf-overrides"),
    "rope_theta": Removed("0.11.1", "--hf-overrides"),
    "spec_decoding_acceptance_method": _OLD_SPECULATION,
    "speculative_disable_by_batch_size": _OLD_SPECULATION,
    "speculative_disable_mqa_scorer": _OLD_SPECULATION,
    "speculative_draft_tensor_parallel_size": _OLD_SPECULATION,
    "speculative_max_model_len": _OLD_SPECULATION,
    "speculative_model": _OLD_SPECULATION,
    "speculative_model_quantization": _OLD_SPECULATION,
    "task": Removed("0.13.0", "--runner (with --convert)"),
    "tokenizer_pool_extra_config": _UNREPLACED,
    "tokenizer_pool_size": _UNREPLACED,
    "tokenizer_pool_type": _UNREPLACED,
    "typical_acceptance_sampler_posterior_threshold": _OLD_SPECULATION,
}
"""Source: `add_cli_args` and `make_arg_parser` of the source archives 0.7.3 to 0.20.0 (every minor
but 0.15), of the wheel 0.32.0.
"""

SHORT: dict[str, str] = {
    "-ac": "attention_config",
    "-dc": "diffusion_config",
    "-dpa": "data_parallel_address",
    "-dpb": "data_parallel_backend",
    "-dpe": "data_parallel_external_lb",
    "-dph": "data_parallel_hybrid_lb",
    "-dpm": "data_parallel_multi_port_external_lb",
    "-dpn": "data_parallel_rank",
    "-dpp": "data_parallel_rpc_port",
    "-dpr": "data_parallel_start_rank",
    "-r": "node_rank",
}
"""Short options of arguments without a row."""

SWITCHES: frozenset[str] = frozenset(
    """
    allow_credentials allow_deprecated_quantization cohere_is_reasoning_model cudagraph_metrics
    data_parallel_external_lb data_parallel_hybrid_lb data_parallel_multi_port_external_lb
    dcp_q_replicate disable_cascade_attn disable_chunked_mm_input disable_fastapi_docs
    disable_frontend_multiprocessing disable_log_requests disable_nccl_for_dp_synchronization
    disable_sliding_window disable_uvicorn_access_log enable_auto_tool_choice
    enable_batch_sharded_sampling enable_cumem_allocator enable_dbo enable_elastic_ep
    enable_ep_weight_filter enable_eplb enable_fault_tolerance enable_flash_late_interaction
    enable_flashinfer_autotune enable_force_include_usage enable_hc_sp
    enable_layerwise_nvtx_tracing enable_log_deltas enable_log_outputs enable_log_requests
    enable_mamba_cache_stochastic_rounding enable_mamba_shared_prefix_checkpoint
    enable_mfu_metrics enable_mixed_moe_lora_format enable_mm_embeds enable_moe_shared_loras
    enable_nccl_comm_suspend enable_offline_docs enable_per_request_metrics enable_prompt_embeds
    enable_prompt_tokens_details enable_reasoning enable_request_id_headers
    enable_return_routed_experts enable_scale_out enable_shm_tensor_arena enable_sleep_mode
    enable_ssl_refresh enable_tokenizer_info_endpoint enable_tower_connector_lora
    enable_trace_replay exclude_tools_when_tool_choice_none fail_on_environ_validation grpc
    headless interleave_mm_strings jit_monitor_verbose kv_sharing_fast_prefill log_error_stack
    mm_device_do_normalize mm_encoder_only numa_bind ray_workers_use_nsight return_sampling_mask
    return_tokens_as_token_ids skip_tokenizer_init sleep_mode_offload_cudagraph
    specialize_active_lora swa_bounded_replay tokens_only trust_request_chat_template
    trust_request_mm_kwargs use_fp64_gumbel use_replayssm use_tqdm_on_load
    """.split()  # noqa: SIM905
)
"""Arguments without a value."""

LISTS: frozenset[str] = frozenset(
    """
    allowed_media_domains api_key collect_detailed_traces cpu_offload_params ignore_patterns
    logits_processors lora_modules lora_target_modules middleware numa_bind_cpus numa_bind_nodes
    offload_params prompt_adapters sleep_preserve_parameter_names
    """.split()  # noqa: SIM905
)
"""Arguments with several values."""

VALUED: frozenset[str] = frozenset(
    """
    additional_config all2all_backend allowed_headers allowed_local_media_path allowed_methods
    allowed_origins anthropic_disabled_thinking_effort attention_backend attention_config
    aux_output_config chat_template chat_template_content_format code_revision cohere_format
    config_format convert cp_kv_cache_interleave_size cpu_distributed_timeout_seconds
    custom_histogram_buckets data_parallel_address data_parallel_backend data_parallel_rank
    data_parallel_rpc_port data_parallel_start_rank data_parallel_supervisor_port
    dbo_decode_token_threshold dbo_prefill_token_threshold dcp_comm_backend
    dcp_kv_cache_interleave_size default_chat_template_kwargs default_mm_loras device device_ids
    diffusion_config disable_access_log_for_endpoints disable_async_output_proc
    disable_logprobs_during_spec_decoding disable_mm_preprocessor_cache
    distributed_timeout_seconds dp_supervisor_probe_failure_threshold
    dp_supervisor_probe_interval_s dp_supervisor_probe_timeout_s dp_sync_interval
    ec_manager_config ec_transfer_config elastic_ep_max_dp_size
    enable_multimodal_encoder_data_parallel enable_prompt_adapter engine_use_ray engram_config
    eplb_config expert_placement_strategy fault_tolerance_config fingerprint_mode
    fingerprint_value gdn_prefill_backend grpc_port guided_decoding_backend
    guided_decoding_disable_additional_properties guided_decoding_disable_any_whitespace
    guided_decoding_disable_fallback h11_max_header_count h11_max_incomplete_event_size help
    hf_config_path hf_token io_processor_plugin ir_op_priority jit_monitor_mode kda_decode_backend
    kda_prefill_backend kernel_config kv_events_config kv_load_failure_policy linear_backend
    log_config_file log_level logging_config logits_processor_pattern logprobs_mode
    long_lora_scaling_factors lora_extra_vocab_size mamba_backend
    mamba_cache_philox_rounds mamba_ssu_algorithm master_addr master_port
    max_context_len_to_capture max_cpu_loras max_log_len max_logprobs max_lora_cls_labels
    max_parallel_loading_workers max_prompt_adapter_token max_prompt_adapters media_io_kwargs
    mm_encoder_attn_backend mm_encoder_attn_dtype mm_encoder_fp8_scale_path
    mm_encoder_fp8_scale_save_margin mm_encoder_fp8_scale_save_path mm_encoder_tp_mode
    mm_hasher_algorithm mm_ipc_gpu_memory_gb mm_processor_cache_gb mm_processor_cache_type
    mm_processor_device mm_processor_kwargs mm_shm_cache_max_object_size_mb mm_tensor_ipc
    model_class_overrides model_impl model_loader_extra_config moe_backend
    multi_step_stream_outputs ngram_prompt_lookup_max ngram_prompt_lookup_min node_rank
    num_crossattn_slots num_lookahead_slots num_speculative_tokens offload_backend
    offload_group_size offload_num_in_group offload_prefetch_step optimization_level
    otlp_traces_endpoint override_neuron_config override_pooler_config
    per_request_spec_decode_metrics pooler_config prefix_cache_retention_interval
    prefix_match_unit profiler_config pt_load_map_location qlora_adapter_name_or_path
    quantization_config quantization_param_path reasoning_config reasoning_parser
    reasoning_parser_plugin renderer_num_workers replayssm_buffer_len response_role root_path
    rope_scaling rope_theta rotary_embedding runner safetensors_load_strategy
    safetensors_prefetch_block_size safetensors_prefetch_num_threads scheduler_cls seed
    show_hidden_metrics_for_version sparse_indexer_topk_backend spec_method spec_model spec_tokens
    speculative_disable_by_batch_size speculative_draft_tensor_parallel_size
    speculative_max_model_len speculative_model speculative_model_quantization
    sse_keep_alive_interval ssl_ca_certs ssl_cert_reqs ssl_certfile ssl_ciphers ssl_keyfile
    stream_interval structured_outputs_config task tokenizer_mode tokenizer_pool_extra_config
    tokenizer_pool_size tokenizer_pool_type tokenizer_revision tool_call_parser tool_parser_plugin
    tool_server tool_strict_level ubatch_size uds uvicorn_log_level video_pruning_method
    video_pruning_rate watermark_config weight_transfer_config worker_cls worker_extension_cls
    worker_use_ray
    """.split()  # noqa: SIM905
)
"""Arguments with one value."""
