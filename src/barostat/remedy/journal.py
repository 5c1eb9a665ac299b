"""What is kept for people: the timeline and the conditions. The machine writes them and never reads the timeline."""

from __future__ import annotations

from dataclasses import replace

from barostat.remedy.acts import (
    Act,
    AwaitHome,
    AwaitSpare,
    CreateSpare,
    DeleteSpare,
    PatchTemplate,
    PauseOwner,
    ResumeOwner,
    ScaleHome,
    TightenGateway,
    UndoRollout,
    WriteLimits,
)
from barostat.remedy.state import Condition, ConditionStatus, Entry, State


def note(state: State, at: float, event: str, detail: str) -> State:
    """One more line of the timeline."""
    return replace(state, timeline=(*state.timeline, Entry(at, event, detail)))


def condition(state: State, at: float, kind: str, status: ConditionStatus, reason: str) -> State:
    """The condition of that type, in place of what it was."""
    found = Condition(kind, status, reason, at)
    return replace(state, conditions=(*(former for former in state.conditions if former.type != kind), found))


def about(state: State, act: Act, said: str) -> str:
    """For the timeline: which pod or number the act was about, and what was said with the answer."""
    slot = getattr(act, "slot", "")
    pod = state.pod(slot)
    named = f"{slot} ({pod.name})" if pod else slot or _named(state, act)
    return f"{named}: {said}" if said and named else said or named


def _named(state: State, act: Act) -> str:
    match act:
        case CreateSpare(index) | AwaitSpare(index) | DeleteSpare(index):
            return f"spare-{index}"
        case PauseOwner(index) | ResumeOwner(index):
            return str(state.plan.owners[index])
        case ScaleHome(former, to):
            return f"{former} -> {to} replicas"
        case AwaitHome(ready):
            return f"{ready} Ready"
        case PatchTemplate(back=True) | UndoRollout(back=True) | WriteLimits(back=True) | TightenGateway(back=True):
            return "back"
    return ""
