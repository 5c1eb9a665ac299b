"""The command-line arguments of vLLM that matter for KV pressure, serving and start-up: since when,
until when, and what they do.

This is no complete list of vLLM's arguments, so a name that is missing here says nothing about
vLLM: `known_flag` answers "not in our catalogue" for it.

Source: the argument parsers of the published wheels 0.6.6.post1 to 0.33.0, every minor read
(`EngineArgs.add_cli_args`, `make_arg_parser`); what is dated before them is from the release notes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.core.version import EngineVersion

FlagType = Literal["int", "length", "float", "bool", "text", "json", "list"]
Presence = Literal["present", "absent", "unknown version", "not in our catalogue"]

OLDEST_READ = "0.6.6"
NEWEST_READ = (0, 33)
"""The newest minor whose flags, defaults and metric names are known."""


def option_of(name: str) -> str:
    """A name with underscores as one writes it: `--max-num-seqs`."""
    return "--" + name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Flag:
    """One argument by vLLM's own name with underscores.

    `since`: first version that has it; empty where it is older than the oldest version read.
    `since_sure` is False where it may be older than `since` (first seen there). `gone`: first
    version without it; empty while it exists. `effect`: what it does for KV and load. `instead`:
    what replaced it.
    """

    name: str
    kind: FlagType
    effect: str = ""
    since: str = ""
    gone: str = ""
    aliases: tuple[str, ...] = ()
    instead: str = ""
    since_sure: bool = True

    @property
    def option(self) -> str:
        """As one writes it: `--max-num-seqs`."""
        return option_of(self.name)


_FLAGS: tuple[Flag, ...] = (
    # --- the pool
    Flag("gpu_memory_utilization", "float", "share of the card's total memory for this engine; what weights leave is the KV pool",
         since="0.1.0", aliases=("device_memory_utilization",)),
    Flag("kv_cache_memory_bytes", "int", "size of the KV pool per card; gpu_memory_utilization is then ignored", since="0.10.2",
         aliases=("kv_cache_memory",)),
    Flag("num_gpu_blocks_override", "int", "number of KV blocks regardless of memory: a knob for tests"),
    Flag("block_size", "int", "tokens per KV block", since="0.1.0"),
    Flag("kv_cache_dtype", "text", "precision of the KV cache; fp8 halves the bytes per token"),
    Flag("kv_cache_dtype_skip_layers", "list", "layers that keep their precision", since="0.19.0"),
    Flag("enable_prefix_caching", "bool", "reuse of KV blocks between requests; makes recomputation after preemption cheaper",
         since="0.5.0", since_sure=False),
    Flag("prefix_caching_hash_algo", "text"),
    Flag("kv_offloading_size", "float", "GiB of host memory for a second prefix-cache tier; no room to run requests in", since="0.11.1"),
    Flag("kv_offloading_backend", "text", since="0.11.1"),
    Flag("kv_transfer_config", "json", "KV connector: disaggregation or offloading"),
    Flag("cpu_offload_gb", "float", "GiB of weights kept in host memory; the freed memory of the card goes to the KV pool"),
    Flag("swap_space", "float", "GiB of host memory into which V0 swapped sequences", since="0.1.0", gone="0.18.0",
         instead="--kv-offloading-size"),
    Flag("disable_hybrid_kv_cache_manager", "bool", "sliding-window layers take as many blocks as full attention", since="0.9.1"),
    Flag("calculate_kv_scales", "bool", gone="0.28.0"),
    Flag("kv_cache_metrics", "bool", "histograms of block life and reuse", since="0.12.0"),
    Flag("kv_cache_metrics_sample", "float", since="0.12.0"),
    # --- how much runs at once
    Flag("max_model_len", "length", "longest sequence that is accepted; no reservation per request", since="0.2.0", since_sure=False),
    Flag("max_num_seqs", "int", "limit on running requests, slots of the runner, sizes of the captured graphs", since="0.1.0"),
    Flag("max_num_active_seqs", "int", "limit on running requests alone; graphs and runner keep their size", since="0.31.0"),
    Flag("max_num_batched_tokens", "int", "token budget of one step; sets the profiled activation peak", since="0.1.0"),
    Flag("max_num_scheduled_tokens", "int", "token budget of the scheduler where it must be below max_num_batched_tokens", since="0.26.0"),
    Flag("enable_chunked_prefill", "bool", "long prompts are computed in pieces beside the decodes", since="0.5.0", since_sure=False),
    Flag("long_prefill_token_threshold", "int", "limit on the piece of one prompt per step"),
    Flag("long_prefill_token_threshold_adaptive", "bool", since="0.31.0"),
    Flag("max_num_partial_prefills", "int", "read by the V0 scheduler only", since="0.7.3", gone="0.27.0", since_sure=False),
    Flag("max_long_partial_prefills", "int", "read by the V0 scheduler only", since="0.7.3", gone="0.27.0", since_sure=False),
    Flag("scheduling_policy", "text", "fcfs or priority"),
    Flag("scheduler_reserve_full_isl", "bool", "a request is admitted only if its whole sequence fits the free blocks", since="0.19.0"),
    Flag("watermark", "float", "share of the blocks kept free when a request is admitted beside running ones", since="0.24.0"),
    Flag("prefill_schedule_interval", "int", "prefills are admitted at every n-th step", since="0.24.0"),
    Flag("max_num_queued_reqs", "int", "limit on unfinished requests (waiting and running); beyond it 503", since="0.29.0"),
    Flag("max_num_queued_tokens", "int", "limit on prompt tokens that wait for prefill; beyond it 503", since="0.29.0"),
    Flag("async_scheduling", "bool", "two batches in flight; blocks are freed one step later", since="0.10.0", since_sure=False),
    Flag("preemption_mode", "text", "V0: recompute or swap", gone="0.11.0"),
    Flag("scheduler_delay_factor", "float", "V0 only", gone="0.11.0"),
    Flag("num_scheduler_steps", "int", "V0 only", gone="0.10.1"),
    Flag("use_v2_block_manager", "bool", "did nothing since V0's second block manager became the only one", gone="0.10.0"),
    Flag("performance_mode", "text", "throughput doubles the defaults of max_num_seqs and max_num_batched_tokens", since="0.17.0"),
    # --- graphs and start-up
    Flag("enforce_eager", "bool", "no captured graphs: their memory goes to the KV pool, decoding is slower"),
    Flag("max_seq_len_to_capture", "int", gone="0.11.0"),
    Flag("cuda_graph_sizes", "list", since="0.9.0", gone="0.12.1", instead="--cudagraph-capture-sizes"),
    Flag("cudagraph_capture_sizes", "list", "batch sizes for which graphs are captured", since="0.11.1"),
    Flag("max_cudagraph_capture_size", "int", "largest batch size for which a graph is captured", since="0.11.1"),
    Flag("compilation_config", "json", aliases=("-cc",)),
    Flag("load_format", "text"),
    # --- parallelism
    Flag("tensor_parallel_size", "int", "cards that share each layer; divides KV heads", since="0.1.0", aliases=("-tp",)),
    Flag("pipeline_parallel_size", "int", "stages that share the layers", since="0.1.0", aliases=("-pp",)),
    Flag("data_parallel_size", "int", "engines behind one endpoint, a pool each", since="0.8.0", aliases=("-dp",), since_sure=False),
    Flag("data_parallel_size_local", "int", since="0.9.0", aliases=("-dpl",), since_sure=False),
    Flag("decode_context_parallel_size", "int", "shares a sequence's KV over the tensor-parallel ranks", since="0.10.2", aliases=("-dcp",)),
    Flag("prefill_context_parallel_size", "int", since="0.12.0", aliases=("-pcp",), since_sure=False),
    Flag("enable_expert_parallel", "bool", since="0.8.0", aliases=("-ep",), since_sure=False),
    Flag("nnodes", "int", since="0.11.1", aliases=("-n",), since_sure=False),
    Flag("distributed_executor_backend", "text"),
    Flag("disable_custom_all_reduce", "bool"),
    Flag("api_server_count", "int", "processes that parse HTTP and tokenize", since="0.9.2", aliases=("-asc",), since_sure=False),
    # --- model
    Flag("model", "text", since="0.1.0"),
    Flag("tokenizer", "text", since="0.1.0"),
    Flag("served_model_name", "list"),
    Flag("dtype", "text", since="0.1.0"),
    Flag("quantization", "text", aliases=("-q",)),
    Flag("trust_remote_code", "bool"),
    Flag("revision", "text"),
    Flag("download_dir", "text"),
    Flag("limit_mm_per_prompt", "json", "images, videos and sounds per request; the largest are profiled at start"),
    Flag("skip_mm_profiling", "bool", since="0.11.0", since_sure=False),
    Flag("speculative_config", "json", "draft tokens take KV slots too", aliases=("-sc",)),
    Flag("hf_overrides", "json"),
    Flag("generation_config", "text"),
    Flag("override_generation_config", "json", "max_new_tokens in it caps the output of every request since 0.18.0"),
    Flag("enable_lora", "bool", "adapters take memory of the card"),
    # --- server and observability
    Flag("host", "text", since="0.1.0"),
    Flag("port", "int", since="0.1.0"),
    Flag("config", "text", "a YAML file of arguments; the command line goes before it"),
    Flag("disable_log_stats", "bool", "no statistics line and no vllm: metrics at all"),
    Flag("enable_server_load_tracking", "bool"),
    Flag("enable_logging_iteration_details", "bool", since="0.14.0"),
    Flag("aggregate_engine_logging", "bool", since="0.11.1"),
    Flag("shutdown_timeout", "int", "seconds for which requests in flight may finish after SIGTERM", since="0.18.0"),
)  # fmt: skip

FLAGS: dict[str, Flag] = {flag.name: flag for flag in _FLAGS}


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that an argument takes. `open_below`, `open_above`: the end itself is none of
    them.
    """

    least: float
    most: float = 2**31 - 1
    open_below: bool = False
    open_above: bool = False

    def __contains__(self, number: float) -> bool:
        above = number > self.least if self.open_below else number >= self.least
        return above and (number < self.most if self.open_above else number <= self.most)

    def __str__(self) -> str:
        least, most = (
            f"{end:,.0f}" if end == int(end) else f"{end:g}" for end in (self.least, self.most)
        )
        return (
            f"{'above' if self.open_below else 'from'} {least} "
            f"{'to below' if self.open_above else 'up to'} {most}"
        )


_SHARE = Range(0.0, 1.0, open_below=True)
_RANGES: dict[str, Range] = {
    "gpu_memory_utilization": _SHARE, "kv_cache_metrics_sample": _SHARE, "watermark": Range(0.0, 1.0, open_above=True),
    "kv_cache_memory_bytes": Range(1, 10**17), "port": Range(1, 65535), "kv_offloading_size": Range(0.0, open_below=True),
    **dict.fromkeys(
        ("data_parallel_size_local", "long_prefill_token_threshold", "max_num_queued_reqs", "max_num_queued_tokens",
         "max_cudagraph_capture_size", "max_seq_len_to_capture", "shutdown_timeout"), Range(0)
    ),
}  # fmt: skip
CHOICES: dict[str, tuple[str, ...]] = {
    "scheduling_policy": ("fcfs", "priority"),
    "performance_mode": ("balanced", "interactivity", "throughput"),
    "preemption_mode": ("recompute", "swap"),
    "kv_offloading_backend": ("native", "lmcache"),
    "dtype": ("auto", "half", "float16", "bfloat16", "float", "float32"),
    "kv_cache_dtype": (
        "auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla", "nvfp4_ds_mla", "turboquant_k8v4",
        "turboquant_4bit_nc", "turboquant_k3v4_nc", "turboquant_3bit_nc", "ultraquant_4bit", "int4_per_token_head", "int8_per_token_head",
        "fp8_per_token_head", "nvfp4", "nvfp4_4over6",
    ),
}  # fmt: skip
"""The texts that an argument takes, where they are few. Source: vLLM 0.32.0, vllm/config (an older
version may have fewer).
"""


_MAY_BE_NOTHING = frozenset(
    ("kv_cache_memory_bytes", "max_model_len", "max_num_batched_tokens", "max_num_seqs", "num_gpu_blocks_override", "kv_offloading_size",
     "quantization", "max_cudagraph_capture_size")
)  # fmt: skip


def says_nothing(name: str, text: str) -> bool:
    """True for an empty value, or `None`, of an argument that may be left open: vLLM then takes its
    default, as if it were not given.

    Source: vLLM 0.32.0, engine/arg_utils optional_type.
    """
    return text in ("", "None") and name in _MAY_BE_NOTHING


def range_of(name: str) -> Range | None:
    """The numbers that the argument takes, as far as it takes numbers: most take what is at least
    1, amounts and shares from 0.

    Source: vLLM 0.32.0, the bounds of the fields in vllm/config.
    """
    flag = FLAGS.get(name)
    if flag is None or flag.kind not in ("int", "length", "float"):
        return None
    return _RANGES.get(name, Range(0.0 if flag.kind == "float" else 1))


ALIASES: dict[str, str] = {alias: flag.name for flag in _FLAGS for alias in flag.aliases} | {
    "-ac": "attention_config", "-dc": "diffusion_config", "-dpa": "data_parallel_address", "-dpb": "data_parallel_backend",
    "-dpe": "data_parallel_external_lb", "-dph": "data_parallel_hybrid_lb", "-dpm": "data_parallel_multi_port_external_lb",
    "-dpn": "data_parallel_rank", "-dpp": "data_parallel_rpc_port", "-dpr": "data_parallel_start_rank", "-r": "node_rank",
}  # fmt: skip

OTHER_SWITCHES: frozenset[str] = frozenset(
    """
    allow_credentials allow_deprecated_quantization cohere_is_reasoning_model cudagraph_metrics data_parallel_external_lb
    data_parallel_hybrid_lb data_parallel_multi_port_external_lb dcp_q_replicate disable_cascade_attn disable_chunked_mm_input
    disable_fastapi_docs disable_frontend_multiprocessing disable_log_requests disable_nccl_for_dp_synchronization
    disable_sliding_window disable_uvicorn_access_log enable_auto_tool_choice enable_batch_sharded_sampling enable_cumem_allocator
    enable_dbo enable_elastic_ep enable_ep_weight_filter enable_eplb enable_fault_tolerance enable_flash_late_interaction
    enable_flashinfer_autotune enable_force_include_usage enable_hc_sp enable_layerwise_nvtx_tracing enable_log_deltas
    enable_log_outputs enable_log_requests enable_mamba_cache_stochastic_rounding enable_mamba_shared_prefix_checkpoint
    enable_mfu_metrics enable_mixed_moe_lora_format enable_mm_embeds enable_moe_shared_loras enable_nccl_comm_suspend
    enable_offline_docs enable_per_request_metrics enable_prompt_embeds enable_prompt_tokens_details enable_reasoning
    enable_request_id_headers enable_return_routed_experts enable_scale_out enable_shm_tensor_arena enable_sleep_mode enable_ssl_refresh
    enable_tokenizer_info_endpoint enable_tower_connector_lora enable_trace_replay exclude_tools_when_tool_choice_none
    fail_on_environ_validation fully_sharded_loras grpc headless interleave_mm_strings jit_monitor_verbose kv_sharing_fast_prefill
    language_model_only log_error_stack mm_device_do_normalize mm_encoder_only numa_bind ray_workers_use_nsight return_sampling_mask
    return_tokens_as_token_ids skip_tokenizer_init sleep_mode_offload_cudagraph specialize_active_lora swa_bounded_replay tokens_only
    trust_request_chat_template trust_request_mm_kwargs use_fp64_gumbel use_replayssm use_tqdm_on_load
    """.split()  # noqa: SIM905
)
"""Arguments that take no value, beyond the ones in FLAGS: needed to tell a switch from an argument
whose value follows.
"""

OTHER_LISTS: frozenset[str] = frozenset(
    """
    allowed_media_domains api_key collect_detailed_traces cpu_offload_params ignore_patterns logits_processors lora_modules
    lora_target_modules middleware numa_bind_cpus numa_bind_nodes offload_params prompt_adapters sleep_preserve_parameter_names
    """.split()  # noqa: SIM905
)
"""Arguments that take several values, beyond the ones in FLAGS."""


def canonical_name(spelled: str) -> str:
    """vLLM's own name with underscores for an argument as spelled: `--max-num-seqs`, `-tp`,
    `max_num_seqs`, `--device-memory-utilization`.

    A beginning that only one name of the catalogue has is taken for it, as argparse does. A name
    that we do not have comes back as it is.
    """
    if spelled.startswith("-") and not spelled.startswith("--"):
        return ALIASES.get(spelled, spelled)
    name = spelled.removeprefix("--").replace("-", "_")
    if name in FLAGS or name in OTHER_SWITCHES or name in OTHER_LISTS:
        return name
    if name in ALIASES:
        return ALIASES[name]
    starts = (
        [known for known in FLAGS if known.startswith(name)]
        if len(name) >= 8 and spelled.startswith("--")
        else []
    )
    return starts[0] if len(starts) == 1 else name


def is_switch(name: str) -> bool:
    """True if the argument of that name is known to take no value."""
    flag = FLAGS.get(name)
    return name in OTHER_SWITCHES or (flag is not None and flag.kind == "bool")


def known_flag(name: str, version: EngineVersion | None) -> Presence:
    """Whether that version has the argument, as far as our catalogue tells.

    "absent" is only said where both ends of its life are known.
    """
    flag = FLAGS.get(canonical_name(name))
    if flag is None:
        return "not in our catalogue"
    if version is None:
        return "unknown version"
    if flag.gone and version.at_least(flag.gone):
        return "absent"
    if flag.since and version.at_least(flag.since):
        return "present"
    if flag.since and not flag.since_sure:
        return "unknown version"
    if flag.since:
        return "absent"
    return "present" if version.at_least(OLDEST_READ) else "unknown version"


def has_flag(name: str, version: EngineVersion | None) -> bool | None:
    """True or False where the catalogue tells whether that version has the argument; None where it
    does not.
    """
    match known_flag(name, version):
        case "present":
            return True
        case "absent":
            return False
        case _:
            return None
