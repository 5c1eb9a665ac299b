"""What a person asks `mitigate` for by name."""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.proposed_change import ProposedChange


@dataclass(frozen=True, slots=True)
class RequestedLever:
    """A lever, with the value that the diagnosis proposes."""

    lever: str


@dataclass(frozen=True, slots=True)
class RequestedChange:
    """A change with its value. `lever`: the name under which the incident keeps it."""

    lever: str
    change: ProposedChange


Requested = RequestedLever | RequestedChange
