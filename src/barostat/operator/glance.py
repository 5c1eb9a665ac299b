"""Decides from a few series of one scrape whether a verdict is due. A verdict costs a hundred
times as much.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from barostat.catalog.metric_names import (
    GENERATION_TOKENS,
    ITL,
    KV_USAGE,
    PREEMPTIONS,
    RUNNING,
    TTFT,
    WAITING,
)

NEARLY_FULL = 0.9
SLOWER_BY = 1.5
"""A mean latency that rose by this factor over its usual value is looked into."""
_READ = (
    *RUNNING,
    *WAITING,
    *KV_USAGE,
    *(f"{name}_total" for name in (*PREEMPTIONS, *GENERATION_TOKENS)),
    *(f"{name}_{part}" for name in (*ITL, *TTFT) for part in ("sum", "count")),
)
_SERIES = re.compile(
    rb"^(?:ray_)?vllm[:_](%b)(?:\{[^\n]*?\})? ([0-9.eE+-]+)"
    % "|".join(name.removeprefix("vllm:") for name in _READ).encode(),
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
                key = f"vllm:{name.decode()}"
                found[key] = found.get(key, 0.0) + float(value)
                engines += key in RUNNING
            except ValueError:
                continue
        return cls(found, engines)

    @property
    def usage(self) -> float:
        """Usage of the KV pools, summed over the engines."""
        return self.get(KV_USAGE)

    def get(self, names: Sequence[str], suffix: str = "") -> float:
        """Return the value under the largest of these names, 0 without any."""
        return max(self.values.get(f"{name}{suffix}", 0.0) for name in names)


@dataclass(slots=True)
class Usual:
    """The usual mean latency of an engine, followed slowly."""

    means: dict[str, float] = field(default_factory=dict)

    def rose(self, names: Sequence[str], before: Glance, after: Glance) -> bool:
        """True if the mean since the previous scrape is far above the usual one."""
        count = after.get(names, "_count") - before.get(names, "_count")
        total = after.get(names, "_sum") - before.get(names, "_sum")
        if count <= 0 or total < 0:
            return False
        mean = total / count
        usual = self.means.get(names[0], mean)
        self.means[names[0]] = usual + 0.05 * (mean - usual)
        return mean > SLOWER_BY * usual


def worse(before: Glance, after: Glance, usual: Usual) -> bool:
    """True if something between two pages may be harm: a queue, a preemption, a full pool, no
    progress, a restart, or slower answers.
    """
    rose = [usual.rose(names, before, after) for names in (ITL, TTFT)]
    made = after.get(GENERATION_TOKENS, "_total") - before.get(GENERATION_TOKENS, "_total")
    stalled = after.get(RUNNING) > 0 and made == 0
    usage = after.usage
    preempted = after.get(PREEMPTIONS, "_total") != before.get(PREEMPTIONS, "_total")
    waiting = after.get(WAITING) > 0
    return waiting or preempted or stalled or made < 0 or usage >= NEARLY_FULL or any(rose)
