"""What a run of the twin came to: every request's times, every step's load, and the counts that
people ask for.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from barostat.twin.intake import Rejection


@dataclass(slots=True)
class Life:
    """One request that was let in. Times in nanoseconds from the start; None for what did not
    happen.

    `recomputed_tokens`: computed again after preemptions; `cached_tokens`: what the prefix cache
    spared its first admission.
    """

    request_id: str
    arrival_ns: int
    input_tokens: int
    output_tokens: int = 0
    admitted_ns: int | None = None
    first_token_ns: int | None = None
    finished_ns: int | None = None
    preemptions: int = 0
    recomputed_tokens: int = 0
    cached_tokens: int = 0


@dataclass(slots=True)
class Outcome:
    """A whole run. `steps` counts those in which something was scheduled; `request_steps` the
    requests in them.

    `load` has one entry per such step: (start in ns, free blocks, running, waiting), counted after
    scheduling. `gaps` counts the times between a request's tokens, in ns. `stuck`: why the engine
    could never proceed; empty if it can.
    """

    lives: list[Life] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    load: list[tuple[int, int, int, int]] = field(default_factory=list)
    gaps: Counter[int] = field(default_factory=Counter)
    steps: int = 0
    request_steps: int = 0
    scheduled_tokens: int = 0
    preemptions: int = 0
    recomputed_tokens: int = 0
    cached_tokens: int = 0
    looked_up_tokens: int = 0
    clamped_outputs: int = 0
    end_ns: int = 0
    stuck: str = ""


DRY = "no token in {:,} steps: the requests preempt each other for ever"
