"""A lever: one change that can be proposed, with the causes and engine versions it is right for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from barostat.core.diagnosis import CauseName
from barostat.core.proposed_change import EdgeLimit, ProposedChange, SetMemory, SetSharedMemory
from barostat.core.prose import Prose
from barostat.core.window import Window

Side = Literal["edge", "demand", "supply", "host", "manifest", "advice"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One concrete change: what to set to which value, and why. Never a no-op on this engine's
    version.
    """

    lever: str
    change: ProposedChange
    because: Prose
    restarts: bool
    rank: int
    """Lower is tried first: live and reversible before what restarts an engine."""


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """This lever is not for this case, and the sentence that says why (shown where classic advice
    would have named it).
    """

    lever: str
    because: Prose
    classic: bool = False
    """True if common advice names this lever for this case: then the reason is worth showing."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The input of a lever: the cause, its variant, and the window."""

    cause: CauseName
    variant: str
    window: Window


@dataclass(frozen=True, slots=True)
class SetsFlag:
    """The lever sets this argument of the engine."""

    name: str


@dataclass(frozen=True, slots=True)
class SetsEdgeLimit:
    """The lever sets this limit of a gateway."""

    limit: EdgeLimit


@dataclass(frozen=True, slots=True)
class SetsMemory:
    """The lever sets an amount of the container's memory."""

    edit: type[SetMemory] | type[SetSharedMemory]


@dataclass(frozen=True, slots=True)
class SetsReplicas:
    """The lever sets the number of replicas."""


Sets = SetsFlag | SetsEdgeLimit | SetsMemory | SetsReplicas


@dataclass(frozen=True, slots=True)
class Lever:
    """A rule that proposes one change.

    `causes`: the causes it helps against; `propose` is called for these only. `sets`: the value
    that `mitigate --lever NAME=VALUE` sets; None if the lever has none.
    """

    name: str
    title: Prose
    side: Side
    causes: tuple[CauseName, ...]
    propose: Callable[[Situation], Proposal | NotApplicable]
    sets: Sets | None = None
