"""Speculative decoding as the scheduler sees it: drafts per step, slots reserved for them, and how
many of them are accepted.

Source: vLLM 0.32.0, SpeculativeConfig, VllmConfig.num_lookahead_tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from barostat.core.errors import InputError
from barostat.twin.workload.random_streams import Dice

_MOST_DRAFTS = 1000


@dataclass(frozen=True, slots=True)
class Drafting:
    """The drafter of an engine.

    `tokens`: drafts per request and step. `acceptance_ratio`: probability that a draft is accepted
    when all drafts before it were. `lookahead_tokens`: KV slots that are reserved past the
    scheduled tokens. `batch_slots`: tokens of a step's batch that the drafter needs beside each
    request's own. `drops_block`: the last block of a cached prefix is computed again, as EAGLE and
    MTP need its hidden states.
    """

    tokens: int
    acceptance_ratio: float
    lookahead_tokens: int = 0
    batch_slots: int = 0
    drops_block: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.tokens <= _MOST_DRAFTS:
            raise InputError(
                f"must be 1 to {_MOST_DRAFTS}, not {self.tokens}", "num_speculative_tokens"
            )
        if not 0 <= self.acceptance_ratio <= 1:
            raise InputError(f"must be 0 to 1, not {self.acceptance_ratio:g}", "acceptance ratio")

    def of_request(self, request_id: str) -> AcceptedDrafts:
        """The drafts that are accepted for that request."""
        return AcceptedDrafts(self, request_id)


class AcceptedDrafts:
    """Accepted drafts of one request, by how many tokens it has produced. The same whatever the
    schedule, so that two schedules differ only by their decisions.
    """

    __slots__ = ("_accepted", "_dice", "_most", "_ratio")

    def __init__(self, drafting: Drafting, request_id: str) -> None:
        self._dice = Dice(drafting.seed, f"drafts/{request_id}")
        self._ratio = drafting.acceptance_ratio
        self._most = drafting.tokens
        self._accepted: list[int] = []

    def at(self, output_tokens: int) -> int:
        """Leading drafts that are accepted in the step after so many output tokens."""
        accepted = self._accepted
        while len(accepted) <= output_tokens:
            accepted.append(self._next())
        return accepted[output_tokens]

    def _next(self) -> int:
        thrown = 1 - self._dice.uniform()
        if self._ratio <= 0:
            return 0
        if self._ratio >= 1:
            return self._most
        return min(self._most, int(math.log(thrown) / math.log(self._ratio)))


def acceptance_of(mean_accepted: float, tokens: int) -> float:
    """The acceptance ratio with which that many of a step's drafts are accepted on average.

    `mean_accepted`: accepted drafts per step, as an engine counts them.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if sum(middle**place for place in range(1, tokens + 1)) < mean_accepted:
            low = middle
        else:
            high = middle
    return (low + high) / 2
