"""Levers: one file each, one change each, right for the cause and the engine's version and never a
no-op.

A module named after its lever (dashes as underscores) exports `LEVER`; its docstring is the lever's
page. Modules that start with an underscore hold what several levers share. Nothing registers on
import: `levers()` walks this package.
"""

from __future__ import annotations

from functools import cache

from barostat.core.lever import Lever
from barostat.core.rules import exported


@cache  # asked for by every engine of a fleet
def levers() -> tuple[Lever, ...]:
    """Every lever there is, sorted by name."""
    return tuple(sorted(exported(__name__, __path__, "LEVER", Lever), key=lambda lever: lever.name))
