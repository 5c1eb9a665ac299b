"""Whether an engine kept up with what came, or fell further behind the longer it went on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.core.units import many, seconds
from barostat.twin.intake import NS, OF_ITSELF
from barostat.twin.outcome import Life, Outcome

FEWEST = 20
"""With fewer requests a quarter of them is chance."""
_GROWTH = 1.3
"""A wait that grows in proportion to time is 2.3 times as long in the last quarter as in the
second; less where ever less comes.
"""
_SHARE_OF_SPAN = 0.05
"""A queue that grows for good holds its last quarter for this share of the time: what comes is then
some 5 % more than what is done.
"""
_NEVER_DRAINED = 0.5
"""A queue that holds its last quarter for this share of the time was never worked off, whether it
still grows or not.
"""


@dataclass(frozen=True, slots=True)
class KeepingUp:
    """The answer, and the sentence for it."""

    answer: Literal["keeps up", "falls behind", "cannot tell"]
    because: str


def keeping_up(outcome: Outcome) -> KeepingUp:
    """It falls behind where it is stuck, turns requests away, or the wait for the first token grows
    on and on.

    A request that is longer than the engine takes says nothing of that: it is refused however
    little comes.
    """
    if outcome.stuck:
        return KeepingUp("falls behind", "it is stuck for ever")
    if turned_away := sum(one.status not in OF_ITSELF for one in outcome.rejections):
        total = len(outcome.lives) + len(outcome.rejections)
        return KeepingUp(
            "falls behind", f"{turned_away:,} of {many(total, 'request')} were turned away"
        )
    lives = sorted(outcome.lives, key=lambda life: life.arrival_ns)
    if len(lives) < FEWEST:
        return KeepingUp(
            "cannot tell",
            f"it takes {FEWEST} requests to see whether the wait grows, and {len(lives)} "
            "were let in",
        )
    if lives[0].arrival_ns == lives[-1].arrival_ns:
        return KeepingUp(
            "cannot tell",
            f"all {len(lives):,} requests come at one instant, which is no rate: they wait "
            "for each other",
        )
    waits = [_until_s(life.first_token_ns, life, outcome) for life in lives]
    quarter = len(waits) // 4
    queued = sum(_until_s(life.admitted_ns, life, outcome) for life in lives[-quarter:]) / quarter
    early, late = sum(waits[quarter : 2 * quarter]) / quarter, sum(waits[-quarter:]) / quarter
    span_s = (lives[-1].arrival_ns - lives[0].arrival_ns) / NS
    told = (
        f"the mean wait for the first token is {seconds(early)} in the second quarter of the "
        f"requests and {seconds(late)} in the last"
    )
    if late > _SHARE_OF_SPAN * span_s and (
        late > _GROWTH * early or queued > _NEVER_DRAINED * span_s
    ):
        return KeepingUp("falls behind", told)
    return KeepingUp("keeps up", told)


def _until_s(at_ns: int | None, life: Life, outcome: Outcome) -> float:
    """How long the request waited for that; to the end of the run where it never came."""
    return ((outcome.end_ns if at_ns is None else at_ns) - life.arrival_ns) / NS
