"""Extracts the pool and the observed traffic from a running engine's window."""

from __future__ import annotations

from barostat.core.config import EngineConfig
from barostat.core.units import GIB
from barostat.core.window import Window
from barostat.judge.sizing.plan import Measured
from barostat.judge.sizing.request_shape import Traffic, traffic_from_quantiles

# Values that describe what the engine found, not what it was told: they must not steer the
# prediction.
_FOUND = (
    "num_gpu_blocks", "kv_cache_size_tokens", "kv_cache_max_concurrency", "available_kv_cache_memory_gib", "model_memory_gib",
    "graph_memory_gib", "num_cpu_blocks",
)  # fmt: skip


def measured_of(window: Window) -> Measured | None:
    """The pool as the engine reports it, or None if it reports none."""
    config = window.config
    blocks, tokens = config.number("num_gpu_blocks"), config.number("kv_cache_size_tokens")
    memory, weights = (
        config.number("available_kv_cache_memory_gib"),
        config.number("model_memory_gib"),
    )
    if blocks is None and tokens is None and memory is None:
        return None
    named = ("num_gpu_blocks", "kv_cache_size_tokens", "available_kv_cache_memory_gib")
    sources = [found.source for name in named if (found := config.get(name)) is not None]
    certain = config.get("num_gpu_blocks")
    return Measured(
        source="; ".join(dict.fromkeys(sources)),
        available_kv_bytes=int(memory * GIB) if memory is not None and blocks is None else None,
        blocks=int(blocks)
        if blocks is not None and certain is not None and certain.certain
        else None,
        tokens=int(tokens) if tokens is not None else None,
        concurrency=config.number("kv_cache_max_concurrency"),
        weights_bytes=int(weights * GIB) if weights is not None else None,
    )


def declared_of(config: EngineConfig) -> EngineConfig:
    """The settings without what the engine found out itself."""
    return EngineConfig(
        {name: value for name, value in config.values.items() if name not in _FOUND},
        config.problems,
    )


def traffic_of_window(window: Window) -> Traffic | None:
    """Lengths as the engine's histograms show them, or None if they are not there."""
    names = ("prompt_tokens_p50", "prompt_tokens_p95", "output_tokens_p50", "output_tokens_p95")
    found = [window.signals.get(name) for name in names]
    if any(signal is None for signal in found):
        return None
    p50_in, p95_in, p50_out, p95_out = (signal.last for signal in found if signal is not None)
    return traffic_from_quantiles(
        (p50_in, _p99(p50_in, p95_in)),
        (p50_out, _p99(p50_out, p95_out)),
        f"the histograms of {window.replica or 'the engine'}",
    )


def _p99(p50: float, p95: float) -> float:
    """The 99th percentile of a lognormal with this median and 95th percentile."""
    low, high = max(1.0, p50), max(1.0, p50, p95)
    return float(low * (high / low) ** (2.326 / 1.645))
