"""A glance at one page of metrics: whether a verdict is due. A verdict costs a hundred times as
much.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NEARLY_FULL = 0.9
SLOWER_BY = 1.5
"""A mean latency that rose by this factor over its usual value is looked into."""
_SERIES = re.compile(
    rb"^(?:ray_)?vllm[:_](num_requests_running|num_requests_waiting|kv_cache_usage_perc|gpu_cache_usage_perc"
    rb"|num_preemptions_total|generation_tokens_total|inter_token_latency_seconds_sum"
    rb"|inter_token_latency_seconds_count|time_to_first_token_seconds_sum"
    rb"|time_to_first_token_seconds_count)(?:\{[^\n]*?\})? ([0-9.eE+-]+)",
    re.MULTILINE,
)


@dataclass(slots=True)
class Glance:
    """Sums of a few series of one scrape, to decide whether a verdict is due."""

    values: dict[str, float] = field(default_factory=dict)
    engines: int = 0
    """Data-parallel engines of the page: usage is a sum over them."""

    @classmethod
    def of(cls, page: bytes) -> Glance:
        """The sums over all engines of the page."""
        found: dict[str, float] = {}
        engines = 0
        for name, value in _SERIES.findall(page):
            try:
                key = name.decode()
                found[key] = found.get(key, 0.0) + float(value)
                engines += key == "num_requests_running"
            except ValueError:
                continue
        return cls(found, engines)

    @property
    def usage(self) -> float:
        """Usage of the KV pools, summed over the engines."""
        return max(self.get("kv_cache_usage_perc"), self.get("gpu_cache_usage_perc"))

    def get(self, name: str) -> float:
        """The value, 0 for one that is not there."""
        return self.values.get(name, 0.0)


@dataclass(slots=True)
class Usual:
    """The usual mean latency of an engine, followed slowly."""

    means: dict[str, float] = field(default_factory=dict)

    def rose(self, name: str, before: Glance, after: Glance) -> bool:
        """True where the mean since the page before is far above the usual one."""
        count = after.get(f"{name}_count") - before.get(f"{name}_count")
        total = after.get(f"{name}_sum") - before.get(f"{name}_sum")
        if count <= 0 or total < 0:
            return False
        mean = total / count
        usual = self.means.get(name, mean)
        self.means[name] = usual + 0.05 * (mean - usual)
        return mean > SLOWER_BY * usual


def worse(before: Glance, after: Glance, usual: Usual) -> bool:
    """True where something between two pages may be harm: a queue, a preemption, a full pool, no
    progress, a restart, or slower answers.
    """
    rose = [
        usual.rose(name, before, after)
        for name in ("inter_token_latency_seconds", "time_to_first_token_seconds")
    ]
    made = after.get("generation_tokens_total") - before.get("generation_tokens_total")
    stalled = after.get("num_requests_running") > 0 and made == 0
    usage = after.usage
    preempted = after.get("num_preemptions_total") != before.get("num_preemptions_total")
    waiting = after.get("num_requests_waiting") > 0
    return waiting or preempted or stalled or made < 0 or usage >= NEARLY_FULL or any(rose)
