"""The timeline and the conditions of an incident, for people. The machine writes them and never
reads the timeline.
"""

from __future__ import annotations

from dataclasses import replace

from barostat.core.units import many
from barostat.remedy.acts import (
    Act,
    AwaitHome,
    AwaitSpare,
    AwaitUnit,
    CreateSpare,
    Cut,
    DeleteSpare,
    DropPrevious,
    MovePartition,
    OpenCanary,
    PatchTemplate,
    PauseOwner,
    ResumeOwner,
    RollHome,
    ScaleHome,
    ShiftTraffic,
    StageChange,
    TightenGateway,
    UndoRollout,
    WriteLimits,
)
from barostat.remedy.program import program
from barostat.remedy.state import Condition, ConditionStatus, Entry, State


def note(state: State, at: float, event: str, detail: str) -> State:
    """Add a line to the timeline."""
    return replace(state, timeline=(*state.timeline, Entry(at, event, detail)))


def condition(state: State, at: float, kind: str, status: ConditionStatus, reason: str) -> State:
    """Replace the condition of that type."""
    found = Condition(kind, status, reason, at)
    return replace(
        state, conditions=(*(former for former in state.conditions if former.type != kind), found)
    )


def about(state: State, act: Act, said: str) -> str:
    """Return the pod or number that the act is about, with the note of its answer."""
    slot = getattr(act, "slot", "")
    pod = state.pod(slot)
    named = f"{slot} ({pod.name})" if pod else slot or _named(state, act)
    return f"{named}: {said}" if said and named else said or named


def cut_sentence(cut: Cut) -> str:
    """Return how many requests were cut off at most, for a person; empty for none."""
    said = []
    if cut.requests:
        were = "request was" if cut.requests == 1 else "requests were"
        said.append(f"at most {cut.requests:,} {were} cut")
    if cut.unknown_pods:
        said.append(
            f"how many requests the end of {many(cut.unknown_pods, 'pod')} cut is not known: its "
            "metrics did not answer"
        )
    return "; ".join(said)


def left_to_undo(state: State) -> tuple[str, ...]:
    """Return the acts that are left to take back, in their order; none once every unit has proved
    the change.
    """
    if state.phase == "Done" or _only_goes_on(state):
        return ()
    return tuple(_says(state, act) for act in reversed(state.undo))


def left_to_do(state: State) -> tuple[str, ...]:
    """Return the acts that are left to do, for a person who is handed a change that every unit has
    proved; none in any other state.
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
        case DropPrevious(index):
            return state.plan.drops[index]
        case PauseOwner(index) | ResumeOwner(index):
            return str(state.plan.owners[index])
        case ScaleHome(former, to):
            return f"{former} -> {to} replicas"
        case AwaitHome(ready):
            return f"{ready} Ready"
        case MovePartition(former, to):
            return f"partition {former} -> {to}"
        case ShiftTraffic(former, to):
            return f"{former} % -> {to} %"
        case AwaitUnit(_, place):
            return f"unit {place}"
        case (
            PatchTemplate(back=True)
            | UndoRollout(back=True)
            | StageChange(back=True)
            | OpenCanary(back=True)
            | RollHome(back=True)
            | WriteLimits(back=True)
            | TightenGateway(back=True)
        ):
            return "back"
    return ""
