"""What the histograms observed within the window: latencies, request shape, tokens per step."""

from __future__ import annotations

from barostat.catalog import metric_names as names
from barostat.catalog.signals import signal
from barostat.core.signal import Signal
from barostat.engines.vllm.metrics.quantiles import Histogram, quantile
from barostat.engines.vllm.metrics.scrapes import EngineScrapes

_LATENCIES: tuple[tuple[tuple[str, ...], tuple[tuple[str, float], ...]], ...] = (
    (names.TTFT, (("ttft_p50_s", 0.5), ("ttft_p99_s", 0.99))),
    (names.ITL, (("itl_p50_s", 0.5), ("itl_p99_s", 0.99))),
    (names.TPOT, (("tpot_p50_s", 0.5), ("tpot_p99_s", 0.99))),
    (names.QUEUE_TIME, (("queue_p50_s", 0.5), ("queue_p99_s", 0.99))),
    (names.E2E, (("e2e_p50_s", 0.5), ("e2e_p99_s", 0.99))),
    (names.PREFILL_TIME, (("prefill_p50_s", 0.5),)),
    (names.STEP_TOKENS, (("step_tokens_p95", 0.95),)),
)
_SHAPES: tuple[tuple[tuple[str, ...], tuple[tuple[str, float], ...]], ...] = (
    (names.PROMPT_LENGTH, (("prompt_tokens_p50", 0.5), ("prompt_tokens_p95", 0.95))),
    (names.OUTPUT_LENGTH, (("output_tokens_p50", 0.5), ("output_tokens_p95", 0.95))),
    (names.MAX_TOKENS, (("max_tokens_p50", 0.5), ("max_tokens_p95", 0.95))),
)
_MEANS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ttft_mean_s", names.TTFT),
    ("itl_mean_s", names.ITL),
    ("prompt_tokens_mean", names.PROMPT_LENGTH),
    ("output_tokens_mean", names.OUTPUT_LENGTH),
)


def histogram_signals(engine: EngineScrapes) -> list[Signal | None]:
    """Quantiles between the first and the last scrape, and means between consecutive ones; None
    if nothing was observed.

    One scrape alone gives the request shape since the start of the engine, and says so; latencies
    of a whole life would hide the present.
    """
    at = engine.scrapes[-1].at
    found: list[Signal | None] = []
    for family, quantiles in (*_LATENCIES, *_SHAPES):
        observed = engine.observed(family)
        if observed is not None:
            found += _quantiles(
                observed, quantiles, at, f"{engine.spelled(family)} within the window"
            )
    if len(engine.scrapes) == 1:
        for family, quantiles in _SHAPES:
            lifetime = engine.histogram(engine.scrapes[0].exposition, family)
            if lifetime is not None:
                found += _quantiles(
                    lifetime,
                    quantiles,
                    at,
                    f"{engine.spelled(family)} since the engine's start (one scrape only)",
                )
    for name, family in _MEANS:
        steps = engine.histogram_steps(family, family[0])
        means = [
            (step.end, step.total / step.observations) for step in steps if step.observations > 0
        ]
        found.append(signal(name, means, f"sum per count of {engine.spelled(family)}"))
    found.append(_preempted_twice(engine, at))
    return found


def _quantiles(
    observed: Histogram, wanted: tuple[tuple[str, float], ...], at: float, source: str
) -> list[Signal | None]:
    found: list[Signal | None] = []
    for name, q in wanted:
        estimate = quantile(observed, q)
        if estimate is not None:
            detail = "beyond the last bucket: at least this" if estimate.beyond else ""
            found.append(
                signal(
                    name,
                    [(at, estimate.value)],
                    f"{source}, {observed.total:g} observations",
                    detail,
                )
            )
    return found


def _preempted_twice(engine: EngineScrapes, at: float) -> Signal | None:
    """Requests finished in the window after two or more preemptions: the bucket le=1 holds those
    with none and those with one.
    """
    observed = engine.observed(names.PREEMPTIONS_PER_REQUEST)
    below = observed.up_to(1.0) if observed else None
    if observed is None or below is None:
        return None
    return signal(
        "requests_preempted_twice",
        [(at, observed.total - below)],
        f"{engine.spelled(names.PREEMPTIONS_PER_REQUEST)} above le=1",
    )
