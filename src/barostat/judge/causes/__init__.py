"""One file per cause of the closed list: symptoms -> Claim, Cleared or Open. The page that `explain` prints is the module's docstring."""

from __future__ import annotations

import importlib
import pkgutil

from barostat.judge.case import Cause


def causes() -> tuple[Cause, ...]:
    """Every cause, by rank."""
    modules = (importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    return tuple(sorted((module.CAUSE for module in modules), key=lambda cause: (cause.rank, cause.name)))
