"""The remedy machine, each state of it kept once and named by a number, and what each event makes
of it worked out once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from tests.model.cluster import Broken, Request, Setting

from barostat.remedy.acts import Done, Judged, Lost, Refused
from barostat.remedy.machine import current, step
from barostat.remedy.state import (
    Answered,
    Began,
    Do,
    Event,
    Gathered,
    Resumed,
    State,
    Tick,
    WriteRecord,
)

Value = TypeVar("Value")
LATE = 1e12
KEY = "due"


class Moved(NamedTuple):
    """What an event makes of a machine, by number: the machine after it, what it sends (-1:
    nothing), whether its epoch is a new one.
    """

    machine: int
    sent: int
    renewed: bool


class Numbered(Generic[Value]):
    """Values, each kept once and named by a number."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.numbers: dict[Value, int] = {}

    def number(self, value: Value) -> int:
        """The number of that value."""
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = len(self.values)
            self.values.append(value)
        return found


class Machines:
    """The states of the machine that one setting leads to."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.states: list[State] = []
        self.numbers: dict[object, int] = {}
        self.steps: dict[tuple[int, str, object], Moved] = {}
        self.sent: Numbered[Request | int] = Numbered()
        self.checked: set[int] = set()

    def number(self, state: State) -> int:
        """The number of that state, without what only people read and without what only grows."""
        waiting = None if state.waiting is None else replace(state.waiting, key=KEY, until=0.0)
        flags = (
            state.recorded,
            state.committed,
            state.back,
            state.verified,
            state.claiming,
            state.approved,
            state.superseded,
        )
        key: object = (
            state.plan.id,
            state.phase,
            state.cursor,
            state.undo,
            state.pods,
            waiting,
            bool(state.aborting),
            flags,
        )
        if state.ended and not self.resumable(state):
            key = (state.plan.id, state.phase, state.superseded)
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.states)
            short = replace(
                state, timeline=(), conditions=(), epoch=1, revision=0, why="", waiting=waiting
            )
            self.states.append(short)
        return found

    def move(self, machine: int, name: str, event: Event) -> Moved:
        """What the event makes of the machine. `name` is the event's, for the memory: each is
        worked out once.
        """
        known = (machine, name, event.facts if isinstance(event, Gathered) else None)
        cached = self.steps.get(known)
        if cached is None:
            state = self.states[machine]
            after, commands = step(state, event)
            sent: list[Request | int] = []
            for command in commands:
                match command:
                    case WriteRecord(_, _, kept):
                        sent.append(self.number(kept))
                    case Do(_, _, act, home, pod):
                        sent.append(Request(act, pod.name if pod else "", home))
            assert len(sent) <= 1, "one thing is outstanding at a time"
            cached = Moved(
                self.number(after),
                self.sent.number(sent[0]) if sent else -1,
                after.epoch > state.epoch,
            )
            self.steps[known] = cached
        return cached

    def check(self, machine: int) -> Broken:
        """L5 and L6, as far as they are about the machine alone: silence ends it, and an answer to
        something else changes nothing.
        """
        if machine in self.checked:
            return ()
        state = self.states[machine]
        for answer in (Done(), Refused("late"), Lost("late"), Judged("better")):
            if step(state, Answered(0.0, "another", answer)) != (state, ()):
                return ("L6: an answer to something that is not outstanding changes the state",)
        path: list[int] = []
        while machine not in self.checked:
            path.append(machine)
            state = self.states[machine]
            if state.ended:
                break
            event: Event = (
                Tick(LATE)
                if state.waiting is not None
                else (Began(0.0) if state.phase == "Confirming" else Resumed(0.0))
            )
            name = "tick" if state.waiting is not None else type(event).__name__
            following = self.move(machine, name, event).machine
            if following in path:
                act = current(state)
                return (
                    (
                        "L5: when nothing answers, "
                        f"{type(act).__name__ if act else state.phase} never ends"
                    ),
                )
            machine = following
        self.checked.update(path)
        return ()

    def resumable(self, state: State) -> bool:
        """True for what was handed off, where a person may have it resumed."""
        return (
            self.setting.resumes
            and state.phase == "HandedOff"
            and state.ended
            and not state.superseded
        )
