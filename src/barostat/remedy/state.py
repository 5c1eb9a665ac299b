"""The state of a remedy, the events that change it, and the commands it emits. Values only; the
record holds what is persisted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.remedy.acts import (
    NOTHING_CUT,
    Act,
    Conflict,
    Cut,
    Done,
    Failed,
    Judged,
    Lost,
    Outcome,
    PodRef,
    Refused,
)
from barostat.remedy.annotations import written_claim
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.precheck import Facts
from barostat.remedy.step import TERMINAL, Phase

Answer = Done | Refused | Conflict | Failed | Lost | Judged
ConditionStatus = Literal["True", "False", "Unknown"]
HomeAs = Literal["planned", "patched", "any"]
WaitKind = Literal["act", "record", "final", "consent", "rest"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the timeline."""

    at: float
    event: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as in Kubernetes: a type, True, False or Unknown, and the reason."""

    type: str
    status: ConditionStatus
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """The outstanding command; there is one at a time. `until`: after this instant, a Tick ends the
    wait.
    """

    kind: WaitKind
    key: str
    attempt: int
    until: float


@dataclass(frozen=True, slots=True)
class State:
    """A remedy under way, or ended.

    Kept in the record: everything but `waiting`, `aborting` and `superseded`, which belong to one
    running program. `cursor`: the step of the program that is next or under way. `undo`: what takes
    back all that was begun, last first from the end. `recorded`: the step under way, with its undo,
    is in the record. `claiming`: a resumed run has to renew the claim before it acts. `cut`: requests
    that it has cut off so far.
    """

    plan: RemedyPlan
    phase: Phase = "Confirming"
    epoch: int = 1
    holder: str = ""
    revision: int = 0
    cursor: int = 0
    undo: tuple[Act, ...] = ()
    pods: tuple[tuple[str, PodRef], ...] = ()
    recorded: bool = False
    committed: bool = False
    back: bool = False
    verified: Outcome | None = None
    why: str = ""
    cut: Cut = NOTHING_CUT
    conditions: tuple[Condition, ...] = ()
    timeline: tuple[Entry, ...] = ()
    waiting: Waiting | None = None
    claiming: bool = False
    approved: bool = False
    aborting: str = ""
    superseded: bool = False

    @property
    def claim(self) -> str:
        """The value that the target's claim must have for this run to act."""
        return written_claim(self.plan.id, self.epoch, self.holder)

    @property
    def may_write(self) -> bool:
        """Consent was given or is not needed: until then nothing is written, not even that it was
        refused.
        """
        return self.approved or self.plan.autonomy == "act" or self.revision > 0

    @property
    def ended(self) -> bool:
        """True when nothing more will come out of it."""
        return self.superseded or (self.phase in TERMINAL and self.waiting is None)

    def pod(self, slot: str) -> PodRef | None:
        """The pod that a slot names."""
        return dict(self.pods).get(slot)


@dataclass(frozen=True, slots=True)
class Began:
    """The run starts. `holder`: a name that no other run has."""

    at: float
    holder: str = ""


@dataclass(frozen=True, slots=True)
class Resumed:
    """A record was read back, by another run. A handed-off remedy continues: back, or forward where
    it is committed.
    """

    at: float
    holder: str = ""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The facts that the pre-checks judge."""

    at: float
    key: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Approved:
    """A person said yes to the plan."""

    at: float


@dataclass(frozen=True, slots=True)
class Declined:
    """Event: a person rejected the plan."""

    at: float


@dataclass(frozen=True, slots=True)
class Aborted:
    """A person wants it ended: what was done is rolled back."""

    at: float
    why: str = "a person ended it"


@dataclass(frozen=True, slots=True)
class Answered:
    """The world's answer to the command with that key."""

    at: float
    key: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Tick:
    """Event: time has passed."""

    at: float


Event = Began | Resumed | Gathered | Approved | Declined | Aborted | Answered | Tick


@dataclass(frozen=True, slots=True)
class Do:
    """Perform the act; answer with the key.

    `claim`: what home's annotation must read at the moment of writing (ClaimHome writes it).
    `home`: what home's template must be, or the answer is Conflict: as the plan found it, as we
    patched it, or anything (a rollback leaves changes by others alone). `pod`: the one that the
    act's slot names. `until`: when the machine stops waiting. The same key again is the same act
    again.
    """

    key: str
    claim: str
    act: Act
    home: HomeAs
    pod: PodRef | None
    until: float


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """The record holds `state`.

    Fits: no record, one of a lower epoch, or one of this epoch and holder with no higher revision.
    Else Conflict: another run continues.
    """

    key: str
    revision: int
    state: State


@dataclass(frozen=True, slots=True)
class Emit:
    """A Kubernetes Event on home, and a line for whoever watches. Needs no answer."""

    reason: str
    message: str
    warning: bool = False


Command = Do | WriteRecord | Emit
