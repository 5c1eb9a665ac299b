"""A load test as plain data, and its figures in words."""

from __future__ import annotations

from typing import Any

from barostat.judge.load_test.figures import Figures, Keeping
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.simulation.data import format_seconds
from barostat.twin.summary import Slo, Spread

LATENCIES = ("TTFT", "ITL", "per token", "end to end")


def spreads(found: Figures) -> tuple[tuple[str, Spread], ...]:
    """Return the latency distributions by name."""
    return tuple(zip(LATENCIES, (found.ttft, found.itl, found.tpot, found.e2e), strict=True))


def load_json(
    target: str, traffic: str, found: Figures, slo: Slo, notes: tuple[str, ...] = ()
) -> dict[str, Any]:
    """`kind: Load` as plain data, keys in reading order."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Load",
        "target": target,
        **figures_json(traffic, found, slo),
        "notes": list(notes),
    }


def figures_json(traffic: str, found: Figures, slo: Slo) -> dict[str, Any]:
    """One run as plain data."""
    stated = slo.ttft_s is not None or slo.itl_s is not None
    return {
        "traffic": traffic,
        "durationSeconds": _short(found.duration_s),
        "interrupted": found.interrupted,
        "requests": {
            "sent": found.sent,
            "ok": found.ok,
            "refused": found.refused,
            "errors": found.errors,
            "cut": found.cut,
            "mostAtOnce": found.peak,
            "reasons": dict(found.reasons),
        },
        "goodput": {"goodRequests": found.good, "goodRequestsPerSecond": _short(found.good_per_s)}
        if stated
        else None,
        "throughput": {
            "sentPerSecond": _short(found.sent_per_s),
            "requestsPerSecond": _short(found.ok_per_s),
            "inputTokensPerSecond": _short(found.input_tokens_per_s),
            "outputTokensPerSecond": _short(found.output_tokens_per_s),
        },
        "ttftSeconds": _spread(found.ttft),
        "itlSeconds": _spread(found.itl),
        "secondsPerToken": _spread(found.tpot),
        "e2eSeconds": _spread(found.e2e),
        "tokensPerEvent": _short(found.tokens_per_event),
        "inputTokensOffRatio": _short(found.input_off_ratio),
        "engine": {
            "kvUsageMeanRatio": _short(found.engine.usage_mean_ratio),
            "kvUsageMaxRatio": _short(found.engine.usage_max_ratio),
            "runningMax": found.engine.running_max,
            "waitingMax": found.engine.waiting_max,
            "preemptions": found.engine.preemptions,
        }
        if found.engine is not None
        else None,
        "sender": {
            "keptSchedule": not found.keeping.trouble,
            "trouble": found.keeping.trouble or None,
            "lateSeconds": _spread(found.keeping.late),
            "lateRatio": _short(found.keeping.late_ratio),
            "loopLagP99Seconds": _short(found.keeping.lag_p99_s),
            "cpuRatio": _short(found.keeping.cpu_ratio),
        },
    }


def _spread(spread: Spread) -> dict[str, Any]:
    names = ("mean", "p50", "p90", "p95", "p99", "max")
    values = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.highest)
    return {
        "count": spread.count,
        **{name: _short(value) for name, value in zip(names, values, strict=True)},
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def sender(keeping: Keeping) -> str:
    """Return a sentence on whether the sender kept its schedule."""
    if not keeping.late.count:
        return "no request was due"
    late = (
        f"sends {format_seconds(keeping.late.p99)} late at p99, {keeping.cpu_ratio:.0%} of one core"
    )
    if keeping.trouble:
        return (
            f"did not keep up: {keeping.trouble}; the figures reflect the sender as much as the "
            f"engine"
        )
    return f"kept the schedule: {late}"
