"""Levers: one file each, one change each, right for the cause and the engine's version and never a no-op.

A module named after its lever (dashes as underscores) exports `LEVER`; its docstring is the lever's page. Modules that start with an
underscore hold what several levers share. Nothing registers on import: `levers()` walks this package.
"""

from __future__ import annotations

import importlib
import pkgutil

from barostat.core.lever import Lever


def module_names() -> tuple[str, ...]:
    """The names of the modules that hold a lever, sorted."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")))


def levers() -> tuple[Lever, ...]:
    """Every lever there is, sorted by name.

    Errors: TypeError for a module without a `LEVER` (our bug; tests/arch holds it).
    """
    found: list[Lever] = []
    for name in module_names():
        value = getattr(importlib.import_module(f"{__name__}.{name}"), "LEVER", None)
        if not isinstance(value, Lever):
            raise TypeError(f"barostat.levers.{name} exports no LEVER")
        found.append(value)
    return tuple(sorted(found, key=lambda lever: lever.name))
