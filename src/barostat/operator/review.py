"""Reviews a period of observation: each incident, the change that the operator would have made, its
forecast, and what people did. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barostat.operator.incident import PressureIncident, seconds_of
from barostat.operator.step import Key, key_of
from barostat.remedy.state import State

OWN_REMEDY = "op-"
"""How the id of a remedy begins that an operator began; any other is a person's."""
AFTER_S = 600.0
"""A change that a person makes this long after the end of an incident still belongs to it."""
HELPS = ("helps", "trade-off")


@dataclass(frozen=True, slots=True)
class ManualAction:
    """A remedy that a person began. `phase`: how it stands; `why`: in a sentence."""

    record: str
    at: float
    change: str
    phase: str
    why: str


@dataclass(frozen=True, slots=True)
class ReviewedIncident:
    """One incident with what people did about it. `for_s`: until its end, or until the review."""

    incident: PressureIncident
    for_s: float
    by_hand: tuple[ManualAction, ...] = ()

    @property
    def would_help(self) -> bool:
        """True if the twin forecasts that the proposed change helps."""
        plan = self.incident.status.plan
        return plan is not None and plan.effect in HELPS

    @property
    def is_tried(self) -> bool:
        """True if the twin tried the proposed change."""
        plan = self.incident.status.plan
        return plan is not None and bool(plan.effect)


@dataclass(frozen=True, slots=True)
class Review:
    """The incidents that overlap the time from `since` to `until` (unix seconds), the longest first.

    `problems`: what could not be read, a sentence each.
    """

    since: float
    until: float
    incidents: tuple[ReviewedIncident, ...]
    problems: tuple[str, ...] = ()

    @property
    def harmed_s(self) -> float:
        """Seconds of harm, over all incidents."""
        return sum(one.for_s for one in self.incidents)

    @property
    def avoidable_s(self) -> float:
        """Seconds of harm in the incidents whose proposed change helps on the twin."""
        return sum(one.for_s for one in self.incidents if one.would_help)


def review(
    incidents: Iterable[PressureIncident],
    records: Iterable[State],
    since: float,
    until: float,
    problems: Iterable[str] = (),
) -> Review:
    """The review of that time. `records`: remedies on record, of people and of operators."""
    by_hand: dict[Key, list[ManualAction]] = {}
    for state in records:
        plan = state.plan
        if not plan.id.startswith(OWN_REMEDY):
            target = Key(plan.target.namespace, plan.target.kind, plan.target.name)
            action = ManualAction(plan.id, plan.made_at, str(plan.change), state.phase, state.why)
            by_hand.setdefault(target, []).append(action)
    found = []
    for incident in incidents:
        began = seconds_of(incident.spec.first_harm_at)
        ended = seconds_of(incident.status.ended_at) if incident.status.ended_at else until
        if began > until or ended < since:
            continue
        own = [
            action
            for action in by_hand.get(key_of(incident), [])
            if began <= action.at <= ended + AFTER_S
        ]
        for_s = max(0.0, min(ended, until) - max(began, since))
        found.append(ReviewedIncident(incident, for_s, tuple(own)))
    found.sort(key=lambda one: (-one.for_s, one.incident.name))
    return Review(since, until, tuple(found), tuple(problems))
