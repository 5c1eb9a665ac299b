"""One step of a plan's program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.remedy.acts import Act

Phase = Literal[
    "Confirming", "Planned", "Preparing", "Draining", "Changing", "Verifying", "Holding", "Promoting", "RollingBack",
    "Done", "RolledBack", "HandedOff", "Refused",
]  # fmt: skip
TERMINAL: frozenset[Phase] = frozenset({"Done", "RolledBack", "HandedOff", "Refused"})


@dataclass(frozen=True, slots=True)
class Step:
    """One act, its phase, and the undo that is pushed onto the stack before the act is sent.

    The stack is undone from its end, so the last act of `undo` is sent first. `forgets`: number of
    entries on top of the stack that the new ones replace. `commits`: once done, the remedy only
    goes forward.
    """

    phase: Phase
    act: Act
    undo: tuple[Act, ...] = ()
    forgets: int = 0
    commits: bool = False
