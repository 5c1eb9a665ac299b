"""One file per cause of the closed list: symptoms -> Claim, Cleared or Open. The page that
`explain` prints is the module's docstring.
"""

from __future__ import annotations

from functools import cache

from barostat.core.rules import exported
from barostat.judge.diagnosis.case import Cause


@cache  # asked for by every engine of a fleet
def causes() -> tuple[Cause, ...]:
    """Every cause, by rank."""
    return tuple(
        sorted(
            exported(__name__, __path__, "CAUSE", Cause), key=lambda cause: (cause.rank, cause.name)
        )
    )
