"""What vLLM does from which version on: the gates that symptoms, levers and parsers ask before they
say something about an engine.

Source: the wheels 0.6.6.post1 to 0.33.0 (vllm/v1/core: scheduler, KVCacheManager, BlockPool;
vllm/v1/engine, vllm/config, vllm/envs), and the pull requests named.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.version import EngineVersion


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Something that holds from `since` on and, where `until` is set, before `until`."""

    name: str
    since: str
    meaning: str
    until: str = ""


_BEHAVIOURS: tuple[Behaviour, ...] = (
    Behaviour("v1-default", "0.8.0", "the V1 engine is the default: preemption always recomputes, nothing is swapped"),
    Behaviour("v1-only", "0.11.0", "the V0 engine is gone"),
    Behaviour("v0-possible", "0.0.0", "VLLM_USE_V1=0, or an argument that V1 lacks, brings the V0 engine", until="0.11.0"),
    Behaviour("swap-space-ignored", "0.8.0", "V1 accepts --swap-space and never swaps", until="0.18.0"),
    Behaviour("swap-space-refused", "0.18.0", "--swap-space is an unknown argument: the engine does not start"),
    Behaviour("prefix-caching-default", "0.8.0", "prefix caching is on unless switched off"),
    Behaviour("chunked-prefill-default", "0.8.0", "chunked prefill is on for generative models"),
    Behaviour("chunked-prefill-forced", "0.8.0", "chunked prefill cannot be switched off for generative models", until="0.11.1"),
    Behaviour("kv-connectors", "0.9.0", "the V1 scheduler takes KV blocks from other engines (WAITING_FOR_REMOTE_KVS)"),
    Behaviour("preemption-warning", "0.0.0", "V0 warns at the first and every 50th preemption", until="0.11.0"),
    Behaviour("async-scheduling-default", "0.14.0", "two batches in flight; blocks are freed one step later"),
    Behaviour("auto-model-length", "0.14.0", "--max-model-len auto takes the longest length of which one request fits"),
    Behaviour("api-servers-follow-data-parallel", "0.15.0", "an API server process per data-parallel engine; no statistics line then"),
    Behaviour("drain-on-shutdown", "0.18.0", "--shutdown-timeout lets requests in flight finish"),
    Behaviour("output-cap-override", "0.18.0", "max_new_tokens in --override-generation-config caps every request"),
    Behaviour("graphs-estimated-opt-in", "0.18.0", "graph memory can be taken from the KV budget (off by default)", until="0.20.0"),
    Behaviour("full-sequence-admission", "0.19.0", "a request is admitted only if its whole known sequence fits in free blocks (#37307)"),
    Behaviour("window-admission-cap", "0.20.0", "a sliding window or local chunk counts at admission with the blocks it can hold"),
    Behaviour("graphs-in-budget", "0.20.0", "graph memory is part of what gpu_memory_utilization allows"),
    Behaviour("waiting-by-reason", "0.20.0", "num_requests_waiting_by_reason tells capacity from deferred"),
    Behaviour("pool-tokens-from-concurrency", "0.20.1", "the logged pool size is concurrency times length: hybrids depend on it"),
    Behaviour("blocks-override-checked", "0.21.0", "the start-up fit check uses --num-gpu-blocks-override"),
    Behaviour("unhashed-blocks-reused-first", "0.23.0", "freed blocks without a hash are reused before those in the prefix cache"),
    Behaviour("admission-watermark", "0.24.0", "--watermark keeps blocks free at admission; 0 by default (#44594)"),
    Behaviour("pool-tokens-metric", "0.24.0", "cache_config_info has kv_cache_size_tokens"),
    Behaviour("window-freed-when-processed", "0.26.0", "blocks behind a window are freed once their step is processed"),
    Behaviour("large-memory-tier", "0.28.0", "cards of 160 GiB and more take a budget of 16384 tokens per step by default"),
    Behaviour("queue-limits", "0.29.0", "--max-num-queued-reqs and --max-num-queued-tokens answer 503 instead of queueing without bound"),
    Behaviour("sparse-window-cache", "0.30.0", "the prefix cache keeps only those blocks of a window at which a request can resume"),
    Behaviour("active-sequence-limit", "0.31.0", "--max-num-active-seqs limits what runs and leaves the graph sizes alone"),
    Behaviour("lone-request-unthrottled", "0.31.0", "long_prefill_token_threshold does not hold back a request that runs alone"),
    Behaviour("rejections-metric", "0.32.0", "admission_rejections_total counts the 503 of the queue limits"),
    Behaviour("output-clamped-to-context", "0.32.0", "prompt plus max_tokens beyond the context is clamped, not refused"),
    Behaviour("self-preempted-skips-on", "0.33.0", "by priority, a request that preempts itself does not end the step"),
)  # fmt: skip

BEHAVIOURS: dict[str, Behaviour] = {behaviour.name: behaviour for behaviour in _BEHAVIOURS}

SCHEDULING: frozenset[str] = frozenset((
    "v1-default", "prefix-caching-default", "chunked-prefill-default", "chunked-prefill-forced", "async-scheduling-default",
    "full-sequence-admission", "window-admission-cap", "unhashed-blocks-reused-first", "window-freed-when-processed",
    "sparse-window-cache", "lone-request-unthrottled", "output-clamped-to-context", "self-preempted-skips-on",
))  # fmt: skip
"""Behaviours that decide which requests run, without an argument that enables them."""


def behaves(name: str, version: EngineVersion | None) -> bool | None:
    """Whether that version behaves so; None if the version is not known.

    Errors: KeyError for a name that is not in BEHAVIOURS (a programming error).
    """
    behaviour = BEHAVIOURS[name]
    if version is None:
        return None
    return version.at_least(behaviour.since) and not (
        behaviour.until and version.at_least(behaviour.until)
    )
