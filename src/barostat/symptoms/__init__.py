"""One file per symptom: needs=(signals), judge(window) -> Verdict.

A module named after its symptom (dashes as underscores) exports `SYMPTOM`; its docstring is the
symptom's page. Modules that start with an underscore hold what several symptoms share. Nothing
registers on import: `symptoms()` walks this package.
"""

from __future__ import annotations

from functools import cache

from barostat.core.rules import exported
from barostat.core.symptom import Symptom


@cache  # asked for by every cause of every engine
def symptoms() -> tuple[Symptom, ...]:
    """Every symptom there is, sorted by name."""
    return tuple(
        sorted(exported(__name__, __path__, "SYMPTOM", Symptom), key=lambda symptom: symptom.name)
    )
