"""One file per alert, named after what is wrong: its docstring is its page.

A module exports `ALERT`. Modules that start with an underscore hold what several share. Nothing
registers on import: `alerts()` walks this package.
"""

from __future__ import annotations

from barostat.alerts.alert import Alert
from barostat.core.rules import exported


def alerts() -> tuple[Alert, ...]:
    """Every alert, by its file's name."""
    return exported(__name__, __path__, "ALERT", Alert)
