"""One file per rule, named after the bad thing: its docstring is its page, and the page's Bad and
Good are its tests.

A module (dashes as underscores) exports `RULE`. Modules that start with an underscore hold what
several rules share. Nothing registers on import: `rules()` walks this package.
"""

from __future__ import annotations

from barostat.core.rules import exported
from barostat.lint.rule import Rule


def rules() -> tuple[Rule, ...]:
    """Every rule, by name."""
    return exported(__name__, __path__, "RULE", Rule)
