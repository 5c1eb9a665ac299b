"""Whether an engine kept up with what came, or fell further behind the longer it went on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.core.units import seconds
from barostat.twin.intake import NS
from barostat.twin.outcome import Outcome

FEWEST = 20
"""With fewer requests a quarter of them is chance."""
_GROWTH = 2.0
_SHARE_OF_SPAN = 0.05
"""A queue that grows for good holds its last quarter for this share of the time: what comes is then some 5 % more than what is done."""


@dataclass(frozen=True, slots=True)
class KeepingUp:
    """The answer, and the sentence for it."""

    answer: Literal["keeps up", "falls behind", "cannot tell"]
    because: str


def keeping_up(outcome: Outcome) -> KeepingUp:
    """It falls behind where it is stuck, turns requests away, or the wait for the first token grows on and on."""
    if outcome.stuck:
        return KeepingUp("falls behind", "it is stuck for ever")
    if outcome.rejections:
        total = len(outcome.lives) + len(outcome.rejections)
        return KeepingUp("falls behind", f"{len(outcome.rejections):,} of {total:,} requests were turned away")
    lives = sorted(outcome.lives, key=lambda life: life.arrival_ns)
    if len(lives) < FEWEST:
        return KeepingUp("cannot tell", f"{len(lives)} requests are too few to see whether the wait grows")
    waits = [((outcome.end_ns if life.first_token_ns is None else life.first_token_ns) - life.arrival_ns) / NS for life in lives]
    quarter = len(waits) // 4
    early, late = sum(waits[quarter : 2 * quarter]) / quarter, sum(waits[-quarter:]) / quarter
    span_s = (lives[-1].arrival_ns - lives[0].arrival_ns) / NS
    told = f"the mean wait for the first token is {seconds(early)} in the second quarter of the requests and {seconds(late)} in the last"
    if late > _GROWTH * early and late > _SHARE_OF_SPAN * span_s:
        return KeepingUp("falls behind", told)
    return KeepingUp("keeps up", told)
