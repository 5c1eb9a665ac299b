"""One file per symptom: needs=(signals), judge(window) -> Verdict.

A module named after its symptom (dashes as underscores) exports `SYMPTOM`; its docstring is the symptom's page. Modules that start with an
underscore hold what several rules share. Nothing registers on import: `symptoms()` walks this package.
"""

from __future__ import annotations

import importlib
import pkgutil

from barostat.core.symptom import Symptom


def module_names() -> tuple[str, ...]:
    """The names of the modules that hold a symptom, sorted."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")))


def symptoms() -> tuple[Symptom, ...]:
    """Every symptom there is, sorted by name.

    Errors: TypeError for a module without a `SYMPTOM` (our bug; tests/arch holds it).
    """
    found: list[Symptom] = []
    for name in module_names():
        value = getattr(importlib.import_module(f"{__name__}.{name}"), "SYMPTOM", None)
        if not isinstance(value, Symptom):
            raise TypeError(f"barostat.symptoms.{name} exports no SYMPTOM")
        found.append(value)
    return tuple(sorted(found, key=lambda symptom: symptom.name))
