"""vLLM's arguments that are not in FLAGS: their names, which tell a misspelled argument from one
that is merely not there, and which of them are gone.

Source: the argument parser of the published wheel 0.32.0 (`make_arg_parser`), and names that older
releases had.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.catalog.vllm_flags import FLAGS, OTHER_LISTS, OTHER_SWITCHES, known_flag, option_of
from barostat.core.version import EngineVersion


@dataclass(frozen=True, slots=True)
class Removed:
    """An argument that was there once. `gone`: the first version without it; `instead`: what
    replaced it, empty where nothing did.
    """

    gone: str
    instead: str = ""


_OLD_SPECULATION = Removed("0.8.3", "--speculative-config")
_UNREPLACED = Removed("0.10.0")
_GUIDED = Removed("0.12.0", "--structured-outputs-config")
_EPLB = Removed("0.12.0", "--eplb-config")

REMOVED: dict[str, Removed] = {
    **dict.fromkeys(
        ("disable_logprobs_during_spec_decoding", "ngram_prompt_lookup_max", "ngram_prompt_lookup_min", "num_speculative_tokens",
         "spec_decoding_acceptance_method", "speculative_disable_by_batch_size", "speculative_disable_mqa_scorer",
         "speculative_draft_tensor_parallel_size", "speculative_max_model_len", "speculative_model", "speculative_model_quantization",
         "typical_acceptance_sampler_posterior_threshold"), _OLD_SPECULATION),
    **dict.fromkeys(("max_prompt_adapter_token", "max_prompt_adapters", "prompt_adapters"), _UNREPLACED),
    **dict.fromkeys(("tokenizer_pool_extra_config", "tokenizer_pool_size", "tokenizer_pool_type"), _UNREPLACED),
    **dict.fromkeys(
        ("guided_decoding_backend", "guided_decoding_disable_additional_properties", "guided_decoding_disable_any_whitespace",
         "guided_decoding_disable_fallback"), _GUIDED),
    **dict.fromkeys(("eplb_log_balancedness", "eplb_step_interval", "eplb_window_size", "num_redundant_experts"), _EPLB),
    "device": Removed("0.10.0"),
    "disable_async_output_proc": Removed("0.11.0"),
    "disable_frontend_multiprocessing": Removed("0.10.0"),
    "disable_log_requests": Removed("0.17.0", "--no-enable-log-requests"),
    "disable_mm_preprocessor_cache": Removed("0.13.0", "--mm-processor-cache-gb 0"),
    "enable_lora_bias": Removed("0.11.1"),
    "enable_multimodal_encoder_data_parallel": Removed("0.13.0", "--mm-encoder-tp-mode data"),
    "enable_prompt_adapter": Removed("0.10.2"),
    "enable_reasoning": Removed("0.10.0", "--reasoning-parser alone"),
    "logits_processor_pattern": Removed("0.17.0"),
    "long_lora_scaling_factors": Removed("0.10.0"),
    "lora_extra_vocab_size": Removed("0.12.0"),
    "multi_step_stream_outputs": Removed("0.10.1"),
    "num_lookahead_slots": Removed("0.12.0"),
    "override_neuron_config": Removed("0.10.2"),
    "override_pooler_config": Removed("0.12.0", "--pooler-config"),
    "qlora_adapter_name_or_path": Removed("0.10.0"),
    "rope_scaling": Removed("0.11.1", "--hf-overrides"),
    "rope_theta": Removed("0.11.1", "--hf-overrides"),
    "task": Removed("0.13.0", "--runner (with --convert)"),
}  # fmt: skip
"""What is gone of those, and when. Source: `add_cli_args` and `make_arg_parser` of the source
archives 0.7.3 to 0.20.0 (every minor but 0.15), of the wheel 0.32.0.
"""

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
    return _OTHER_VALUED | OTHER_LISTS | OTHER_SWITCHES | frozenset(FLAGS) | frozenset(REMOVED)


def removed(name: str, version: EngineVersion) -> Removed | None:
    """What became of an argument that this version has no more; None for one that it has, that
    FLAGS has, or that we do not have.
    """
    found = REMOVED.get(name)
    return found if found is not None and version.at_least(found.gone) else None


@dataclass(frozen=True, slots=True)
class Lacking:
    """An argument that a version does not have: it came `since` then or is `gone` since then, one
    of the two; and what replaced it.
    """

    option: str
    since: str
    gone: str
    instead: str


def lacking(name: str, version: EngineVersion) -> Lacking | None:
    """Why the version refuses the argument, by its name with underscores; None for one that it has,
    or that is on neither list.
    """
    flag = FLAGS.get(name)
    if flag is None:
        found = removed(name, version)
        return (
            Lacking(option_of(name), "", found.gone, found.instead) if found is not None else None
        )
    if known_flag(name, version) != "absent":
        return None
    ended = flag.gone if flag.gone and version.at_least(flag.gone) else ""
    return Lacking(flag.option, "" if ended else flag.since, ended, flag.instead)
