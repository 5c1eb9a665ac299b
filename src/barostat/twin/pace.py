"""How long a step takes, as far as a run asks: what any pace answers, and the one in which every
step takes as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Pace(Protocol):
    """How long a step takes, and when the next may start."""

    def step_ns(self, prefill_tokens: int, decodes: int, kv_tokens: int, pairs: int = 0) -> int:
        """Duration of a step in ns. `prefill_tokens`: prompt tokens computed; `decodes`: requests
        that get their next token; `kv_tokens`: cached tokens read.

        `pairs`: of a prompt token and a token up to it, which it attends to.
        """

    def start_ns(self, arrival_ns: int) -> int:
        """When an idle engine starts its next step for a request that arrives then."""

    @property
    def empty_ns(self) -> int:
        """Duration of a step in which nothing is scheduled because all that runs waits for the step
        before.
        """


def attended(tokens: int, reached: int) -> int:
    """Pairs of one of the tokens that a request computes in a step and a token up to it; `reached`
    tokens are computed after it.
    """
    return tokens * reached - tokens * (tokens - 1) // 2


@dataclass(frozen=True, slots=True)
class EverySteps:
    """Every step takes as long, and steps start at multiples of it: arrival times are step
    numbers.
    """

    each_ns: int

    def step_ns(self, prefill_tokens: int, decodes: int, kv_tokens: int, pairs: int = 0) -> int:
        """Return the fixed duration of a step, in ns."""
        del prefill_tokens, decodes, kv_tokens, pairs
        return self.each_ns

    def start_ns(self, arrival_ns: int) -> int:
        """The first multiple at or after the arrival."""
        return -(-arrival_ns // self.each_ns) * self.each_ns

    @property
    def empty_ns(self) -> int:
        """Duration of an empty step, in ns: as any other."""
        return self.each_ns
