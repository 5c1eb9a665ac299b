"""The few series of an engine's /metrics that the gateway goes by, read in a fraction of the time
that the whole page takes.

The whole reader (`engines.vllm.metrics`) is used once per engine, for its pool; this one every
second, beside live requests.
Source: vLLM 0.6 to 0.33, metric names as in `catalog.metric_names`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from barostat.admit.replica_news import Observation, Pool
from barostat.catalog.settings.defaults import BLOCK_TOKENS
from barostat.engines.vllm.metrics.exposition import read
from barostat.engines.vllm.metrics.settings import pool as pool_of
from barostat.engines.vllm.metrics.settings import settings

_VALUE = re.compile(
    rb"(?:\{[^\n]*\})?[ \t]+([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?![^\s])"
)
_PROGRESS = (
    b"vllm:generation_tokens_total", b"vllm:prompt_tokens_total", b"vllm:iteration_tokens_total_count", b"vllm:request_success_total",
    b"vllm:prefix_cache_queries_total",
)  # fmt: skip
"""The first four are counted with the tokens of an answer, the last when a request is first
scheduled.
"""
_GAPS = (b"vllm:inter_token_latency_seconds", b"vllm:time_per_output_token_seconds")
"""Newer and older name of the histogram of times between two tokens; some versions show both."""
_BEGAN = (b"vllm:generation_tokens_created", b"vllm:prompt_tokens_created")
"""When a counter began, to less than a millionth of a second: no two processes have it alike. Not
there where several processes share their metrics.
"""
_LARGEST = 1e18
"""No count and no share is larger: what is, or is no number, is left out."""


@dataclass(frozen=True, slots=True)
class EnginePage:
    """One look. `progress`: grows whenever the engine has made a token or ended a request. `gaps`:
    between two tokens of an answer, of all answers since the engine started, and `gaps_s` their
    sum. `began`: equal for pages of the same process only; empty where they do not say.
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
        """What the desk is told; of the gaps those since the look before, where the engine has not
        begun anew.
        """
        gaps, gaps_s = self.gaps - gaps_before, self.gaps_s - gaps_before_s
        token_s = gaps_s / gaps if gaps > 0 and gaps_s > 0 else None
        return Observation(self.usage_ratio, self.running, self.waiting, self.preemptions, token_s)


def values_of(page: bytes, name: bytes) -> list[float]:
    """What the page says under that name, of each set of labels."""
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


def read_page(page: bytes) -> EnginePage | None:
    """What the page tells, None where it is no vLLM's."""
    running = values_of(page, b"vllm:num_requests_running")
    if not running:
        return None
    gap = next((name for name in _GAPS if values_of(page, name + b"_count")), _GAPS[0])
    usage = values_of(page, b"vllm:kv_cache_usage_perc") or values_of(
        page, b"vllm:gpu_cache_usage_perc"
    )
    return EnginePage(
        usage_ratio=sum(usage) / len(usage) if usage else 0.0,
        running=int(sum(running)),
        waiting=int(sum(values_of(page, b"vllm:num_requests_waiting"))),
        preemptions=int(sum(values_of(page, b"vllm:num_preemptions_total"))),
        progress=sum(sum(values_of(page, name)) for name in _PROGRESS),
        engines=len(running),
        gaps=sum(values_of(page, gap + b"_count")),
        gaps_s=sum(values_of(page, gap + b"_sum")),
        began=next((tuple(found) for name in _BEGAN if (found := values_of(page, name))), ()),
    )


def pool_in(page: bytes, longest_tokens: int | None) -> Pool | None:
    """The KV pool of all engines behind the page together, None where it does not say, or they have
    none (models without attention).
    """
    exposition = read(page.decode("utf-8", "replace"))
    engines = sorted(
        {
            sample.labels.get("engine", "")
            for sample in exposition.named("vllm:num_requests_running")
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
