"""A simulated run as data and as a page for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from barostat.core.units import figure, many
from barostat.shells.reports.api_version import API_VERSION
from barostat.twin.outcome import Outcome
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo, Spread, Summary

if TYPE_CHECKING:
    from barostat.twin.drafting import Drafting

_BARS = " ▁▂▃▄▅▆▇█"


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


def simulation_table(
    settings: Settings,
    outcome: Outcome,
    summary: Summary,
    ends: Sequence[Summary] = (),
    slo: Slo | None = None,
    usable_blocks: int | None = None,
) -> str:
    """The run on half a page. `slo`: without one nothing is called good. `usable_blocks`: of all
    engines, where the run is of several.
    """
    stated = slo is not None and (slo.ttft_s is not None or slo.itl_s is not None)
    tokens = f"{summary.output_tokens_per_s:,.5g} output tokens/s"
    unfinished = summary.requests - summary.finished - summary.rejected
    lines = [
        f"{came_in(summary)}: {summary.finished:,} finished, {summary.rejected:,} rejected"
        + (f", {unfinished:,} unfinished" if unfinished else ""),
        (
            f"goodput      {figure(summary.good_per_s, 4)} good requests/s of "
            f"{figure(summary.requests_per_s, 4)}, {tokens}"
        )
        if stated
        else f"throughput   {figure(summary.requests_per_s, 4)} requests/s, {tokens}",
        "",
        f"{'':12} {'mean':>10} {'p50':>10} {'p90':>10} {'p95':>10} {'p99':>10} {'max':>10}",
    ]
    for name, spread in (
        ("TTFT", summary.ttft),
        ("ITL", summary.itl),
        ("end to end", summary.e2e),
        ("queue", summary.queue),
    ):
        values = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.highest)
        lines.append(f"{name:12} " + " ".join(f"{format_seconds(value):>10}" for value in values))
    if ends:
        first, last = ends[0], ends[-1]
        lines.append(
            f"if steps are off as they may be: TTFT p99 {format_seconds(first.ttft.p99)} "
            f"to {format_seconds(last.ttft.p99)}, "
            f"ITL p99 {format_seconds(first.itl.p99)} to {format_seconds(last.itl.p99)}, "
            f"{figure(last.good_per_s, 4)} to "
            f"{figure(first.good_per_s, 4)}{' good' if stated else ''} requests/s"
        )
    lines += [
        "",
        (
            f"KV usage     {summary.usage_mean_ratio:.0%} on average, "
            f"{summary.usage_max_ratio:.0%} at most, "
            f"of {many(usable_blocks or settings.usable_blocks, 'block')}"
        ),
        f"             {_bar([one.usage_mean_ratio for one in summary.bins])}",
        (
            f"preemptions  {outcome.preemptions:,}; {many(outcome.recomputed_tokens, 'token')} "
            "computed again"
        ),
        f"prefix cache {summary.hit_ratio:.1%} of the prompt tokens were there",
        (
            f"steps        {outcome.steps:,}, with "
            f"{outcome.request_steps / outcome.steps if outcome.steps else 0:.1f} requests on "
            "average"
        ),
    ]
    reasons: dict[str, int] = {}
    for one in outcome.rejections:
        reasons[f"{one.status} {one.reason}"] = reasons.get(f"{one.status} {one.reason}", 0) + 1
    lines += [f"rejected     {count:,} with {reason}" for reason, count in sorted(reasons.items())]
    if outcome.clamped_outputs:
        lines.append(f"clamped      {many(outcome.clamped_outputs, 'output')} cut to max_model_len")
    if outcome.stuck:
        lines += ["", f"STUCK: {outcome.stuck}"]
    return "\n".join(lines) + "\n"


def came_in(summary: Summary) -> str:
    """How many requests the run was of, and how long it took."""
    return f"{many(summary.requests, 'request')} in {format_seconds(summary.duration_s)}"


def _bar(ratios: list[float]) -> str:
    return "".join(
        _BARS[min(len(_BARS) - 1, max(0, round(ratio * (len(_BARS) - 1))))] for ratio in ratios
    )


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
