"""A lever: one change that can be proposed, with the causes and engine versions it is right for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from barostat.core.diagnosis import CauseName
from barostat.core.window import Window

Side = Literal["edge", "demand", "supply", "host", "manifest", "advice"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One concrete change: what to set to which value, and why. Never a no-op on this engine's
    version.
    """

    lever: str
    change: str
    because: str
    restarts: bool
    rank: int
    """Lower is tried first: live and reversible before what restarts an engine."""


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """This lever is not for this case, and the sentence that says why (shown where classic advice
    would have named it).
    """

    lever: str
    because: str
    classic: bool = False
    """True where common advice names this lever for this case: then the reason is worth showing."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a lever may look at: the cause and its variant, and the window it was found in."""

    cause: CauseName
    variant: str
    window: Window


@dataclass(frozen=True, slots=True)
class Lever:
    """A rule that proposes one change.

    `causes`: causes it can help with. `propose` is only called for these; every other case is not
    this lever's.
    """

    name: str
    title: str
    side: Side
    causes: tuple[CauseName, ...]
    propose: Callable[[Situation], Proposal | NotApplicable]
