"""Rules are values in modules, found by walking their package; nothing registers on import."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from typing import TypeVar

Rule = TypeVar("Rule")


def module_names(path: Iterable[str]) -> tuple[str, ...]:
    """The names of the modules below a package's path that hold a rule, sorted: those without a leading underscore."""
    return _walked(tuple(path))


@cache  # a package does not change while it runs, and a fleet asks for its rules hundreds of times
def _walked(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(found.name for found in pkgutil.iter_modules(path) if not found.name.startswith("_")))


def exported(package: str, path: Iterable[str], attribute: str, kind: type[Rule]) -> list[Rule]:
    """The value of that attribute in every module of the package, in the order of the modules' names.

    Errors: TypeError for a module without such a value (our bug; tests/arch holds it).
    """
    found: list[Rule] = []
    for name in module_names(path):
        value = getattr(importlib.import_module(f"{package}.{name}"), attribute, None)
        if not isinstance(value, kind):
            raise TypeError(f"{package}.{name} exports no {attribute}")
        found.append(value)
    return found
