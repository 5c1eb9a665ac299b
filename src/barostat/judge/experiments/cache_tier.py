"""A prefix cache behind the pool, at its best: what preemptions threw out comes back, and nothing
is computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from barostat.twin.outcome import Outcome
from barostat.twin.pace import Pace


@dataclass(frozen=True, slots=True)
class FewerPromptTokens:
    """The pace, where only this share of the prompt tokens of a step has to be computed."""

    pace: Pace
    kept_ratio: float

    def step_ns(self, prefill_tokens: int, decodes: int, kv_tokens: int, pairs: int = 0) -> int:
        """Return the duration of the step with fewer prompt tokens, in ns."""
        computed = max(1, round(prefill_tokens * self.kept_ratio)) if prefill_tokens else 0
        return self.pace.step_ns(computed, decodes, kv_tokens, round(pairs * self.kept_ratio))

    def start_ns(self, arrival_ns: int) -> int:
        """As the pace says."""
        return self.pace.start_ns(arrival_ns)

    @property
    def empty_ns(self) -> int:
        """As the pace says."""
        return self.pace.empty_ns


def with_tier(outcome: Outcome, pace: Pace, again: Callable[[Pace], Outcome]) -> Outcome:
    """The run where that much comes back. `outcome`: the run without the tier; `again`: the same
    run at another pace.

    To first order: prompt tokens cost less by the share of them that would have come back from the
    tier.
    """
    if not outcome.recomputed_tokens:
        return outcome
    prompts = (
        sum(life.input_tokens for life in outcome.lives)
        - outcome.cached_tokens
        + outcome.recomputed_tokens
    )
    found = again(
        FewerPromptTokens(pace, 1 - min(1.0, outcome.recomputed_tokens / max(1, prompts)))
    )
    found.recomputed_tokens = 0
    for life in found.lives:
        life.recomputed_tokens = 0
    return found
