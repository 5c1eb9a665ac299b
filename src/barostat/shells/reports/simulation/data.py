"""A simulated run as data, and its figures and settings in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from barostat.core.units import figure, many
from barostat.shells.reports.api_version import API_VERSION
from barostat.twin.outcome import Outcome
from barostat.twin.settings import Settings
from barostat.twin.summary import Spread, Summary

if TYPE_CHECKING:
    from barostat.twin.drafting import Drafting


def simulation_json(
    settings: Settings, outcome: Outcome, summary: Summary, ends: Sequence[Summary] = ()
) -> dict[str, Any]:
    """`kind: Simulation` as plain data, keys in reading order. Every rejection is listed.

    `ends`: the same run at the ends of what the pace may be off by.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": "Simulation",
        "settings": settings_json(settings),
        "durationSeconds": short(summary.duration_s),
        "requests": {
            "total": summary.requests,
            "finished": summary.finished,
            "rejected": summary.rejected,
            "unfinished": summary.requests - summary.finished - summary.rejected,
            "outputClamped": outcome.clamped_outputs,
        },
        "goodput": {
            "goodRequests": summary.good,
            "goodRequestsPerSecond": short(summary.good_per_s),
            "requestsPerSecond": short(summary.requests_per_s),
            "outputTokensPerSecond": short(summary.output_tokens_per_s),
        },
        "interval": [_end(end) for end in ends] or None,
        "outputTokens": summary.output_tokens,
        "ttftSeconds": _spread(summary.ttft),
        "itlSeconds": _spread(summary.itl),
        "e2eSeconds": _spread(summary.e2e),
        "queueSeconds": _spread(summary.queue),
        "preemptions": outcome.preemptions,
        "recomputedTokens": outcome.recomputed_tokens,
        "prefixCacheHitRatio": short(summary.hit_ratio),
        "kvUsage": {
            "meanRatio": short(summary.usage_mean_ratio),
            "maxRatio": short(summary.usage_max_ratio),
            "overTime": [
                {
                    "atSeconds": short(one.at_s),
                    "meanRatio": short(one.usage_mean_ratio),
                    "maxRatio": short(one.usage_max_ratio),
                    "running": short(one.running),
                    "waiting": short(one.waiting),
                }
                for one in summary.bins
            ],
        },
        "steps": outcome.steps,
        "requestSteps": outcome.request_steps,
        "scheduledTokens": outcome.scheduled_tokens,
        "rejections": [
            {
                "requestId": one.request_id,
                "atSeconds": short(one.at_s),
                "status": one.status,
                "reason": one.reason,
            }
            for one in outcome.rejections
        ],
        "stuck": outcome.stuck or None,
    }


def _end(end: Summary) -> dict[str, Any]:
    return {
        "goodRequestsPerSecond": short(end.good_per_s),
        "outputTokensPerSecond": short(end.output_tokens_per_s),
        "ttftSeconds": _spread(end.ttft),
        "itlSeconds": _spread(end.itl),
        "e2eSeconds": _spread(end.e2e),
        "kvUsageMeanRatio": short(end.usage_mean_ratio),
    }


def settings_json(settings: Settings) -> dict[str, Any]:
    """The settings as plain data."""
    return {
        "kvBlocks": settings.kv_blocks,
        "groups": [
            {
                "blockTokens": group.block_tokens,
                "windowTokens": group.window_tokens,
                "chunkTokens": group.chunk_tokens,
                "state": group.state or None,
            }
            for group in settings.groups
        ],
        "maxModelLen": settings.max_model_len,
        "maxNumSeqs": settings.max_num_seqs,
        "maxNumBatchedTokens": settings.max_num_batched_tokens,
        "maxNumActiveSeqs": settings.max_num_active_seqs,
        "longPrefillTokenThreshold": settings.long_prefill_token_threshold,
        "watermarkRatio": settings.watermark_ratio,
        "policy": settings.policy,
        "prefixCaching": settings.prefix_caching,
        "chunkedPrefill": settings.chunked_prefill,
        "asyncScheduling": settings.async_scheduling,
        "reserveFullIsl": settings.reserve_full_isl,
        "maxQueuedRequests": settings.max_queued_requests,
        "maxQueuedTokens": settings.max_queued_tokens,
        "maxLoras": settings.max_loras,
        "drafting": None if settings.drafting is None else _drafting(settings.drafting),
        "behaviour": asdict(settings.behaviour),
    }


def _drafting(drafting: Drafting) -> dict[str, Any]:
    return {
        "draftTokens": drafting.tokens,
        "acceptanceRatio": drafting.acceptance_ratio,
        "lookaheadTokens": drafting.lookahead_tokens,
        "dropsLastBlock": drafting.drops_block,
    }


def _spread(spread: Spread) -> dict[str, Any]:
    return {
        "count": spread.count,
        "mean": short(spread.mean),
        "p50": short(spread.p50),
        "p90": short(spread.p90),
        "p95": short(spread.p95),
        "p99": short(spread.p99),
        "max": short(spread.highest),
    }


def short(value: float | None) -> float | None:
    """The number with nine digits; None stays None."""
    return None if value is None else float(f"{value:.9g}")


def came_in(summary: Summary) -> str:
    """How many requests the run was of, and how long it took."""
    return f"{many(summary.requests, 'request')} in {format_seconds(summary.duration_s)}"


def engine_line(settings: Settings, version: str) -> str:
    """Return the engine's version and the settings that decide a run, in a line."""
    parts = [
        f"vLLM {version}",
        f"{many(settings.kv_blocks, 'block')} of {settings.groups[0].block_tokens} tokens",
        f"max_num_seqs {settings.max_num_seqs}",
        f"max_num_batched_tokens {settings.max_num_batched_tokens}",
        f"max_model_len {settings.max_model_len}",
    ]
    if settings.max_num_active_seqs is not None:
        parts.append(f"max_num_active_seqs {settings.max_num_active_seqs}")
    if settings.watermark_ratio:
        parts.append(f"watermark {settings.watermark_ratio:g}")
    if settings.policy != "fcfs":
        parts.append(f"{settings.policy} scheduling")
    if not settings.prefix_caching:
        parts.append("no prefix caching")
    return ", ".join(parts)


def format_seconds(value: float | None) -> str:
    """The duration as a person reads it in a column."""
    if value is None:
        return "-"
    if value < 1:
        return f"{figure(value * 1000)} ms"
    return f"{figure(value, 4)} s" if value < 600 else f"{figure(value / 60, 4)} min"
