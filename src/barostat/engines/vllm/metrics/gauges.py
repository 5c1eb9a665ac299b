"""The engine's state as its gauges show it: KV pool, queue, sleep. One scrape is enough."""

from __future__ import annotations

import math

from barostat.catalog import metric_names as names
from barostat.catalog.signals import signal
from barostat.core.signal import Signal
from barostat.engines.vllm.metrics.scrapes import EngineScrapes, engines_of
from barostat.engines.vllm.metrics.settings import Pool, pool

Points = list[tuple[float, float]]


def gauge_signals(engine: EngineScrapes) -> list[Signal | None]:
    """Every signal that gauges and the configuration metric give; None if the metric is not
    there.
    """
    usage, usage_source = _usage(engine)
    shape = _latest_pool(engine)
    running = engine.gauge(names.RUNNING)
    return [
        signal("kv_usage_ratio", usage, usage_source),
        *_pool_signals(engine, shape, usage),
        signal("running_requests", running, engine.spelled(names.RUNNING)),
        signal(
            "batch_size_p95",
            _p95(running),
            f"{engine.spelled(names.RUNNING)}, 95th percentile of {len(running)} scrapes",
        ),
        *_queue(engine),
        *_adapters(engine),
        signal(
            "engine_sleeping", _sleeping(engine), f"awake of {engine.spelled(names.SLEEP_STATE)}"
        ),
        signal(
            "data_parallel_engines",
            [(scrape.at, float(len(engines_of(scrape.exposition)))) for scrape in engine.scrapes],
            f"engine labels ({engine.scrapes[-1].source})",
        ),
    ]


def queue_length(engine: EngineScrapes) -> Points:
    """Requests that wait, V0's swapped ones included: they were preempted and wait for their
    blocks.
    """
    swapped = dict(engine.gauge(names.SWAPPED_V0))
    return [(at, value + swapped.get(at, 0.0)) for at, value in engine.gauge(names.WAITING)]


def usage_ratio(engine: EngineScrapes) -> Points:
    """The KV usage gauge as 0..1."""
    return _usage(engine)[0]


def _usage(engine: EngineScrapes) -> tuple[Points, str]:
    points, source = engine.gauge(names.KV_USAGE, max), engine.spelled(names.KV_USAGE)
    # Called "perc" and always 0..1 in every vLLM. What is above 1 went through something that made
    # percent of it.
    if any(value > 1.01 for _, value in points):
        return [
            (at, value / 100) for at, value in points
        ], f"{source}, read as percent because it is above 1"
    return points, source


def _queue(engine: EngineScrapes) -> list[Signal | None]:
    waiting, source = queue_length(engine), engine.spelled(names.WAITING, names.SWAPPED_V0)
    found: list[Signal | None] = [signal("waiting_requests", waiting, source)]
    capacity = engine.gauge(names.WAITING_BY_REASON, reason="capacity")
    if capacity:
        by_reason = engine.spelled(names.WAITING_BY_REASON)
        found.append(
            signal("capacity_waiting_requests", capacity, f"reason capacity of {by_reason}")
        )
        deferred = engine.gauge(names.WAITING_BY_REASON, reason="deferred")
        found.append(
            signal("deferred_waiting_requests", deferred, f"reason deferred of {by_reason}")
        )
    else:
        found.append(
            signal(
                "capacity_waiting_requests",
                waiting,
                f"all of {source}: vLLM before 0.20.0 does not tell the deferred ones apart",
            )
        )
    return found


def _adapters(engine: EngineScrapes) -> list[Signal | None]:
    """LoRA adapters in use, and those that only wait. The series of the latest state counts: each
    state is a series of its own, whose value is the time at which it was seen.
    """
    running: Points = []
    waiting: Points = []
    for scrape in engine.scrapes:
        latest = max(
            scrape.exposition.named(names.LORA_REQUESTS),
            key=lambda sample: sample.value,
            default=None,
        )
        if latest is None:
            continue
        in_use = _adapter_names(latest.labels.get("running_lora_adapters", ""))
        wanted = _adapter_names(latest.labels.get("waiting_lora_adapters", ""))
        running.append((scrape.at, float(len(in_use))))
        waiting.append((scrape.at, float(len(wanted - in_use))))
    source = names.LORA_REQUESTS
    return [
        signal("running_adapters", running, f"running_lora_adapters of {source}"),
        signal("waiting_adapters", waiting, f"waiting_lora_adapters of {source}"),
    ]


def _adapter_names(label: str) -> set[str]:
    return {name.strip() for name in label.split(",") if name.strip()}


def _sleeping(engine: EngineScrapes) -> Points:
    return [
        (at, 0.0 if awake else 1.0)
        for at, awake in engine.gauge(names.SLEEP_STATE, sleep_state="awake")
    ]


def _latest_pool(engine: EngineScrapes) -> tuple[float, Pool] | None:
    for scrape in reversed(engine.scrapes):
        if scrape.exposition.named(names.CACHE_CONFIG):
            return scrape.at, pool(scrape.exposition, engine.engine)
    return None


def _pool_signals(
    engine: EngineScrapes, found: tuple[float, Pool] | None, usage: Points
) -> list[Signal | None]:
    if found is None:
        return []
    at, shape = found
    source = engine.scrapes[-1].source
    signals: list[Signal | None] = []
    if shape.block_size_tokens is not None:
        signals.append(
            signal(
                "block_size_tokens",
                [(at, shape.block_size_tokens)],
                f"block_size of {names.CACHE_CONFIG} ({source})",
            )
        )
    if shape.blocks is not None:
        signals.append(
            signal("kv_pool_blocks", [(at, shape.blocks)], f"{shape.blocks_from} ({source})")
        )
    if shape.tokens is not None:
        signals.append(
            signal("kv_pool_tokens", [(at, shape.tokens)], f"{shape.tokens_from} ({source})")
        )
        used = [
            (then, max(0.0, ratio * shape.usable_ratio - shape.idle_usage_ratio) * shape.tokens)
            for then, ratio in usage
        ]
        derived = (
            f"{engine.spelled(names.KV_USAGE)} times {shape.tokens:g} tokens ({shape.tokens_from})"
        )
        signals.append(
            signal(
                "kv_used_tokens",
                used,
                f"{derived}, without the null block" if _has_null_block(shape) else derived,
            )
        )
    return signals


def _has_null_block(shape: Pool) -> bool:
    return shape.usable_ratio != 1.0 or shape.idle_usage_ratio != 0.0


def _p95(points: Points) -> Points:
    """The 95th percentile of the values (linear between ranks), dated with the last point."""
    if not points:
        return []
    values = sorted(value for _, value in points)
    rank = 0.95 * (len(values) - 1)
    low, high = values[math.floor(rank)], values[math.ceil(rank)]
    return [(points[-1][0], low + (high - low) * (rank - math.floor(rank)))]
