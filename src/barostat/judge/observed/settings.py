"""A running engine's resolved configuration as the settings of its twin, and what of it could not
be seen.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from barostat.catalog.settings.defaults import BLOCK_TOKENS
from barostat.core.config import ConfigScalar
from barostat.core.window import Window

# The twin's argument -> vLLM's setting.
_TAKEN = {
    "max_model_len": "max_model_len",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "max_num_active_seqs": "max_num_active_seqs",
    "long_prefill_token_threshold": "long_prefill_token_threshold",
    "watermark": "watermark",
    "policy": "scheduling_policy",
    "max_queued_requests": "max_num_queued_reqs",
    "max_queued_tokens": "max_num_queued_tokens",
    "enable_prefix_caching": "enable_prefix_caching",
    "enable_chunked_prefill": "enable_chunked_prefill",
    "async_scheduling": "async_scheduling",
    "reserve_full_isl": "scheduler_reserve_full_isl",
    "block_size": "block_size",
}
_SWITCHES = (
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "async_scheduling",
    "reserve_full_isl",
)


@dataclass(frozen=True, slots=True)
class ObservedSettings:
    """`values` by the twin's argument names. `missing`: argument -> a sentence with the flag that
    supplies it. `notes`: what is assumed.
    """

    values: dict[str, ConfigScalar]
    missing: dict[str, str]
    notes: tuple[str, ...] = ()


def observed_settings(
    window: Window, *, model_known: bool = False, given: Collection[str] = ()
) -> ObservedSettings:
    """The settings of the engine as its metrics, log and command line resolve them.

    `given`: what is said otherwise, by the twin's names: nothing has to be assumed of it.
    `model_known`: the kinds of attention are told otherwise, so that the pool's blocks stand as
    they are. The pool is what the engine reports; without it nothing can be simulated, and the
    sentence in `missing` says so.
    Source: vLLM 0.32.0; the CPU backend switches asynchronous scheduling off
    (CpuPlatform.check_and_update_config).
    """
    config, notes = window.config, []
    values: dict[str, ConfigScalar] = {}
    for ours, theirs in _TAKEN.items():
        found = config.get(theirs)
        if found is None or (isinstance(found.value, bool) != (ours in _SWITCHES)):
            continue
        values[ours] = found.value
        if (
            not found.certain
            and ours not in given
            and ours in ("max_num_seqs", "max_num_batched_tokens", "block_size")
        ):
            notes.append(
                f"{theirs} {found.value} is assumed ({found.source}): say "
                f"--{ours.replace('_', '-')} if it is another"
            )
    if "async_scheduling" not in values and _is_cpu(window):
        values["async_scheduling"] = False
    missing: dict[str, str] = {}
    blocks = _blocks(window)
    if blocks is None:
        missing["kv_blocks"] = (
            "the size of the KV pool was not seen (num_gpu_blocks, before 0.8 or without a "
            "log of its start): say --kv-blocks N"
        )
    else:
        values["kv_blocks"] = blocks
        tokens = None if model_known else _tokens_of_one_kind(window, blocks)
        if tokens is not None:
            values["kv_blocks"] = (
                int(tokens // (window.config.number("block_size") or BLOCK_TOKENS)) + 1
            )
            notes.append(
                f"the pool of {blocks:,} blocks holds {tokens:,.0f} tokens: several kinds "
                "of attention. The forecast takes them as one; "
                "--model-config says which they are"
            )
    if window.version is not None:
        values["engine_version"] = str(window.version)
    else:
        notes.append(
            "the engine's version was not seen: it is taken to decide as the newest known "
            "(say --engine-version V if it is older)"
        )
    if values.get("max_model_len") == -1:
        del values["max_model_len"]
    return ObservedSettings(values, missing, tuple(notes))


def assumed(window: Window) -> tuple[str, ...]:
    """What of the settings is a guess, with its value: `max_num_seqs 256 assumed`."""
    guessed = (
        (name, window.config.get(name))
        for name in ("max_num_seqs", "max_num_batched_tokens", "block_size")
    )
    return tuple(
        f"{name} {found.value} assumed"
        for name, found in guessed
        if found is not None and not found.certain
    )


def _blocks(window: Window) -> int | None:
    """Blocks of one engine, the null block included."""
    for name in ("num_gpu_blocks", "num_gpu_blocks_override"):
        found, number = window.config.get(name), window.config.number(name)
        if found is not None and number is not None and number > 1:
            return int(number)
    pool = window.signals.get("kv_pool_blocks")
    return int(pool.last) if pool is not None and pool.last > 1 else None


def _is_cpu(window: Window) -> bool:
    version = window.config.get("version")
    text = f"{window.version or ''}{version.value if version is not None else ''}"
    return "+cpu" in text or window.config.get("VLLM_CPU_KVCACHE_SPACE") is not None


def _tokens_of_one_kind(window: Window, blocks: int) -> float | None:
    """Tokens of the pool where they are not its blocks times their size: requests then hold several
    blocks per block of tokens.
    """
    tokens, size = window.config.number("kv_cache_size_tokens"), window.config.number("block_size")
    if not tokens or not size or abs(tokens - blocks * size) <= max(2 * size, 0.02 * tokens):
        return None
    return tokens
