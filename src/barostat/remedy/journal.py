"""What is kept for people: the timeline and the conditions. The machine writes them and never reads
the timeline.
"""

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
from barostat.remedy.program import program
from barostat.remedy.state import Condition, ConditionStatus, Entry, State


def note(state: State, at: float, event: str, detail: str) -> State:
    """One more line of the timeline."""
    return replace(state, timeline=(*state.timeline, Entry(at, event, detail)))


def condition(state: State, at: float, kind: str, status: ConditionStatus, reason: str) -> State:
    """The condition of that type, in place of what it was."""
    found = Condition(kind, status, reason, at)
    return replace(
        state, conditions=(*(former for former in state.conditions if former.type != kind), found)
    )


def about(state: State, act: Act, said: str) -> str:
    """For the timeline: which pod or number the act was about, and what was said with the
    answer.
    """
    slot = getattr(act, "slot", "")
    pod = state.pod(slot)
    named = f"{slot} ({pod.name})" if pod else slot or _named(state, act)
    return f"{named}: {said}" if said and named else said or named


def left_to_undo(state: State) -> tuple[str, ...]:
    """What is begun and not taken back, in the order in which it would be; nothing once every
    replica has proved the change.
    """
    if state.phase == "Done" or _only_goes_on(state):
        return ()
    return tuple(_says(state, act) for act in reversed(state.undo))


def left_to_do(state: State) -> tuple[str, ...]:
    """What is left of the way forward for a person who is handed a change that every replica has
    proved; nothing in any other state.
    """
    if state.phase != "HandedOff" or not _only_goes_on(state):
        return ()
    return tuple(_says(state, step.act) for step in program(state.plan)[state.cursor :])


def _only_goes_on(state: State) -> bool:
    return state.committed and state.plan.lasts


def _says(state: State, act: Act) -> str:
    return f"{type(act).__name__} {about(state, act, '')}".strip()


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
        case (
            PatchTemplate(back=True)
            | UndoRollout(back=True)
            | WriteLimits(back=True)
            | TightenGateway(back=True)
        ):
            return "back"
    return ""
