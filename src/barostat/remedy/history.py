"""Evaluates the incidents of one target: which change is in force, which was reverted, which is
still running.
"""

from __future__ import annotations

from collections.abc import Sequence

from barostat.remedy.acts import KeepPrevious
from barostat.remedy.roll_spares import PREVIOUS
from barostat.remedy.state import State
from barostat.remedy.step import TERMINAL


def is_open(state: State) -> bool:
    """True if something is begun, or handed over, and not brought to an end."""
    return state.phase not in TERMINAL or state.phase == "HandedOff"


def taken_back_by(states: Sequence[State], incident: str) -> State | None:
    """The rollback of that incident's change that is still in effect; None for none. `states`: the
    newest first.
    """
    undone: set[str] = set()
    for state in states:
        if state.phase == "Done" and state.plan.id not in undone and state.plan.undoes:
            if state.plan.undoes == incident:
                return state
            undone.add(state.plan.undoes)
    return None


def latest(states: Sequence[State], *, rollbacks: bool = False) -> State | None:
    """The incident that a person means by the target: the newest that is not over, or whose change
    is in force.

    `states`: the newest first. `rollbacks`: what took a change back counts as a change, too.
    """
    for state in states:
        if is_open(state):
            return state
        if (
            state.phase == "Done"
            and state.plan.lasts
            and (rollbacks or not state.plan.undoes)
            and taken_back_by(states, state.plan.id) is None
        ):
            return state
    return None


def kept_until(state: State) -> float | None:
    """When the unit of the former version that the incident keeps ends by itself, in unix seconds;
    None if it keeps none.
    """
    if state.pod(PREVIOUS) is None:
        return None
    kept = (entry.at for entry in state.timeline if entry.event == KeepPrevious.__name__)
    return max(kept, default=state.plan.made_at) + state.plan.keep_previous_s
