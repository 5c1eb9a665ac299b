"""A serving engine's statistics after a step: the numbers behind its metrics and its statistics
line.

Source: vLLM 0.32.0, `v1/metrics/stats.py` (SchedulerStats, IterationStats, FinishedRequestStats).
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SchedulerStats:
    """The scheduler after a step. `lookup_*`: prefix lookups of requests admitted for the first
    time.
    """

    running: int
    waiting: int
    usage_ratio: float
    lookup_requests: int = 0
    lookup_tokens: int = 0
    hit_tokens: int = 0


@dataclass(frozen=True, slots=True)
class FinishedStats:
    """A request that is done. `n` and `longest_tokens` are set with the last of the n that were
    asked for together.
    """

    reason: str
    e2e_s: float
    queue_s: float
    prefill_s: float
    decode_s: float
    prompt_tokens: int
    cached_tokens: int
    generation_tokens: int
    max_tokens: int | None
    preemptions: int
    n: int | None = None
    longest_tokens: int = 0


@dataclass(slots=True)
class IterationStats:
    """What the front end took in with one batch of outputs. Mutable: gathered output by output."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    generation_tokens: int = 0
    preemptions: int = 0
    ttft_s: list[float] = field(default_factory=list)
    itl_s: list[float] = field(default_factory=list)
    finished: list[FinishedStats] = field(default_factory=list)

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that were not cached."""
        return self.prompt_tokens - self.cached_tokens
