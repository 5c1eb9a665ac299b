"""The labels of vllm:cache_config_info: the fields of CacheConfig, with their values in a default
configuration.

Source: vLLM 0.6.6 to 0.33.0, CacheConfig.metrics_info; the values of 0.32.0 seen at a running
engine.
"""

from __future__ import annotations

from typing import NamedTuple

from barostat.catalog.metric_names import Era
from barostat.catalog.settings.defaults import BLOCK_TOKENS, default, is_old
from barostat.catalog.settings.table import SETTINGS
from barostat.core.version import EngineVersion


class Label(NamedTuple):
    """A label that is no argument, with its value in a default configuration. `since`: first
    version that has it, empty if older than 0.9; `since_sure`: False if it may be older; `before`:
    first version without it.
    """

    name: str
    value: str
    since: str = ""
    before: str = ""
    since_sure: bool = True


_LABELS = (
    Label("_block_size_resolved", "True", "0.31.0"),
    Label("cache_hit_alignment_tokens", "None", "0.31.0"),
    Label("cpu_kvcache_space_bytes", "None", "0.9.2", "0.20.0"),
    Label("cpu_offload_gb", "0", before="0.18.0"),
    Label("effective_attention_block_size", str(BLOCK_TOKENS), "0.31.0"),
    Label("enable_mamba_shared_prefix_checkpoint", "False", "0.31.0"),
    Label("hash_block_size", "None", "0.31.0"),
    Label("is_attention_free", "False"),
    Label("kv_cache_layout", "None", "0.31.0"),
    Label("kv_cache_max_concurrency", "None", "0.24.0"),
    Label("kv_cache_size_tokens", "None", "0.24.0"),
    Label("kv_sharing_fast_prefill", "False"),
    Label("mamba_block_size", "None"),
    Label("mamba_cache_mode", "none", "0.14.0", since_sure=False),
    Label("mamba_page_size_padded", "None"),
    Label("num_cpu_blocks", "None"),
    Label("num_gpu_blocks", "None"),
    Label("prefix_cache_retention_interval", "0", "0.29.0"),
    Label("prefix_match_unit", "None", "0.31.0"),
    Label("replayssm_buffer_len", "16", "0.31.0"),
    Label("skip_page_size_padded", "None", "0.31.0"),
    Label("sliding_window", "None"),
    Label("swa_bounded_replay", "True", "0.31.0"),
    Label("use_kda_recoverssm", "False", "0.31.0"),
    Label("use_replayssm", "False", "0.31.0"),
    Label("user_specified_block_size", "False", "0.18.0"),
)
OF_SETTINGS = {setting.label: setting for setting in SETTINGS.values() if setting.label}
"""The arguments that have a label, by it."""


def cache_labels(version: EngineVersion, values: dict[str, str]) -> dict[str, str]:
    """Return the labels of that version (0.12.0 and newer) with these values, else the defaults."""
    shown = {
        label.name: label.value
        for label in _LABELS
        if _is_there(label.since, label.before, version)
    }
    for label, setting in OF_SETTINGS.items():
        if _is_there(setting.since, setting.gone, version):
            usual = default(setting.name, version)
            nothing = "[]" if setting.kind == "list" else "None"
            shown[label] = nothing if usual is None else str(usual.value)
    return {name: values.get(name, shown[name]) for name in sorted(shown)}


def _is_there(since: str, before: str, version: EngineVersion) -> bool:
    return not (since and version.before(since)) and not (before and version.at_least(before))


LABEL_ERAS = (
    *(
        Era(
            label.name,
            label.since,
            label.before,
            always=bool(label.since) and label.since_sure and not label.before,
        )
        for label in _LABELS
        if label.since or label.before
    ),
    *(
        Era(label, "" if is_old(setting) else setting.since, setting.gone, always=not setting.gone)
        for label, setting in OF_SETTINGS.items()
        if setting.since_sure and (setting.gone or not is_old(setting))
    ),
)
"""The versions that each label shows, where it does not show in all."""
