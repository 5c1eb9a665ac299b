"""The few series of an engine's /metrics that the gateway goes by, read in a fraction of the time
that the whole page takes.

The whole reader (`engines.vllm.metrics`) is used once per engine, for its pool; this one every
second, beside live requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from barostat.admit.replica_news import Observation, Pool
from barostat.catalog import metric_names as names
from barostat.catalog.settings.defaults import BLOCK_TOKENS
from barostat.engines.vllm.metrics.exposition import read
from barostat.engines.vllm.metrics.settings import pool as pool_of
from barostat.engines.vllm.metrics.settings import settings

_VALUE = re.compile(
    rb"(?:\{[^\n]*\})?[ \t]+([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?![^\s])"
)


def series(names: Iterable[str], suffix: str = "") -> tuple[bytes, ...]:
    """The names of a quantity as a page has them, the newest first."""
    return tuple(f"{name}{suffix}".encode() for name in names)


RUNNING, GENERATED = series(names.RUNNING), series(names.GENERATION_TOKENS, "_total")
_WAITING, _PREEMPTIONS = series(names.WAITING), series(names.PREEMPTIONS, "_total")
_USAGE = series(names.KV_USAGE)
_PROGRESS = (
    GENERATED,
    series(names.PROMPT_TOKENS, "_total"),
    series(names.STEP_TOKENS, "_count"),
    series(names.FINISHED, "_total"),
    series(names.PREFIX_QUERIES, "_total"),
)
"""The first four are counted with the tokens of an answer, the last when a request is first
scheduled.
"""
_GAPS = series(names.ITL)
_BEGAN = series(names.COUNTERS_BEGAN)
"""When a counter began, to less than a microsecond: it differs between any two processes. Missing
where several processes share their metrics.
"""
_LARGEST = 1e18
"""Largest plausible count or share; larger and invalid values are ignored."""


@dataclass(frozen=True, slots=True)
class EnginePage:
    """One scrape. `progress`: increases whenever the engine produces a token or finishes a request.
    `gaps`: number of gaps between tokens since the engine started, and `gaps_s` their sum. `began`:
    equal for scrapes of the same process; empty if unknown.
    """

    usage_ratio: float
    running: int
    waiting: int
    preemptions: int
    progress: float
    engines: int
    gaps: float = 0.0
    gaps_s: float = 0.0
    began: tuple[float, ...] = ()

    def observation(self, gaps_before: float, gaps_before_s: float) -> Observation:
        """Return the observation for the desk, with the gaps since the previous scrape, unless the
        engine restarted.
        """
        gaps, gaps_s = self.gaps - gaps_before, self.gaps_s - gaps_before_s
        token_s = gaps_s / gaps if gaps > 0 and gaps_s > 0 else None
        return Observation(self.usage_ratio, self.running, self.waiting, self.preemptions, token_s)


def values_of(page: bytes, name: bytes) -> list[float]:
    """Return the values of a metric, one per label set."""
    found: list[float] = []
    at = page.find(name)
    while at >= 0:
        line = at + len(name)
        if (
            (at == 0 or page[at - 1] == 10)
            and (match := _VALUE.match(page, line)) is not None
            and abs(value := float(match[1])) <= _LARGEST
        ):
            found.append(value)
        at = page.find(name, line)
    return found


def first_of(page: bytes, quantity: Iterable[bytes]) -> list[float]:
    """The values of a quantity under the newest of its names that the page has."""
    return next((found for name in quantity if (found := values_of(page, name))), [])


def read_page(page: bytes) -> EnginePage | None:
    """Parse a metrics page; None if it is not vLLM's."""
    running = first_of(page, RUNNING)
    if not running:
        return None
    gap = next((name for name in _GAPS if values_of(page, name + b"_count")), _GAPS[0])
    usage = first_of(page, _USAGE)
    return EnginePage(
        usage_ratio=sum(usage) / len(usage) if usage else 0.0,
        running=int(sum(running)),
        waiting=int(sum(first_of(page, _WAITING))),
        preemptions=int(sum(first_of(page, _PREEMPTIONS))),
        progress=sum(sum(first_of(page, quantity)) for quantity in _PROGRESS),
        engines=len(running),
        gaps=sum(values_of(page, gap + b"_count")),
        gaps_s=sum(values_of(page, gap + b"_sum")),
        began=tuple(first_of(page, _BEGAN)),
    )


def pool_in(page: bytes, longest_tokens: int | None) -> Pool | None:
    """The KV pool of all engines behind the page together, None if it does not say, or they have
    none (models without attention).
    """
    exposition = read(page.decode("utf-8", "replace"))
    engines = sorted(
        {
            sample.labels.get("engine", "")
            for name in names.RUNNING
            for sample in exposition.named(name)
        }
    ) or [""]
    tokens = 0.0
    block = float(BLOCK_TOKENS)
    for engine in engines:
        one = pool_of(exposition, engine)
        if one.tokens is None:
            return None
        block = one.block_size_tokens or block
        tokens += one.tokens - (
            block if one.blocks is not None and one.tokens == one.blocks * block else 0.0
        )
    if tokens < 1:
        return None
    said = settings(exposition)
    sharing = said.get("enable_prefix_caching")
    watermark = said.get("watermark")
    return Pool(
        kv_tokens=int(tokens),
        block_tokens=int(block),
        longest_tokens=longest_tokens,
        shares_prefixes=sharing is None or sharing.value is not False,
        watermark_ratio=float(watermark.value)
        if watermark is not None and isinstance(watermark.value, int | float)
        else 0.0,
    )
