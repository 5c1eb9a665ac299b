"""The labels of vllm:cache_config_info from 0.12 on: the fields of CacheConfig, with what a default
configuration shows.

Source: vLLM 0.12.0 to 0.33.0, CacheConfig.metrics_info; the values of 0.32.0 seen at a running
engine.
"""

from __future__ import annotations

from barostat.catalog.vllm_defaults import USUAL_BLOCK_TOKENS, usual_utilization
from barostat.core.version import EngineVersion

# Label, value of a default configuration, from which version, until which.
_LABELS: tuple[tuple[str, str, str, str], ...] = (
    ("_block_size_resolved", "True", "0.31.0", ""),
    ("block_size", str(USUAL_BLOCK_TOKENS), "", ""),
    ("cache_dtype", "auto", "", ""),
    ("cache_hit_alignment_tokens", "None", "0.31.0", ""),
    ("calculate_kv_scales", "False", "", "0.28.0"),
    ("cpu_kvcache_space_bytes", "None", "", "0.20.0"),
    ("cpu_offload_gb", "0", "", "0.18.0"),
    ("effective_attention_block_size", str(USUAL_BLOCK_TOKENS), "0.31.0", ""),
    ("enable_mamba_shared_prefix_checkpoint", "False", "0.31.0", ""),
    ("enable_prefix_caching", "True", "", ""),
    ("gpu_memory_utilization", f"{usual_utilization():g}", "", ""),
    ("hash_block_size", "None", "0.31.0", ""),
    ("is_attention_free", "False", "", ""),
    ("kv_cache_dtype_skip_layers", "[]", "0.19.0", ""),
    ("kv_cache_layout", "None", "0.31.0", ""),
    ("kv_cache_max_concurrency", "None", "0.24.0", ""),
    ("kv_cache_memory_bytes", "None", "", ""),
    ("kv_cache_size_tokens", "None", "0.24.0", ""),
    ("kv_offloading_backend", "native", "", ""),
    ("kv_offloading_size", "None", "", ""),
    ("kv_sharing_fast_prefill", "False", "", ""),
    ("mamba_block_size", "None", "", ""),
    ("mamba_cache_dtype", "auto", "", ""),
    ("mamba_cache_mode", "none", "0.14.0", ""),
    ("mamba_page_size_padded", "None", "", ""),
    ("mamba_ssm_cache_dtype", "auto", "", ""),
    ("num_cpu_blocks", "None", "", ""),
    ("num_gpu_blocks", "None", "", ""),
    ("num_gpu_blocks_override", "None", "", ""),
    ("prefix_cache_retention_interval", "0", "0.29.0", ""),
    ("prefix_caching_hash_algo", "sha256", "", ""),
    ("prefix_match_unit", "None", "0.31.0", ""),
    ("replayssm_buffer_len", "16", "0.31.0", ""),
    ("skip_page_size_padded", "None", "0.31.0", ""),
    ("sliding_window", "None", "", ""),
    ("swa_bounded_replay", "True", "0.31.0", ""),
    ("swap_space", "4", "", "0.18.0"),
    ("use_kda_recoverssm", "False", "0.31.0", ""),
    ("use_replayssm", "False", "0.31.0", ""),
    ("user_specified_block_size", "False", "0.18.0", ""),
)


def cache_labels(version: EngineVersion, known: dict[str, str]) -> dict[str, str]:
    """The labels that this version shows: as `known` says, and as by default where it does not."""
    return {
        name: known.get(name, value)
        for name, value, since, before in _LABELS
        if not (since and version.before(since)) and not (before and version.at_least(before))
    }
