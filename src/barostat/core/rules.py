"""Rules are values in modules, found by walking their package; nothing registers on import."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

Rule = TypeVar("Rule")


def module_names(path: Iterable[str]) -> tuple[str, ...]:
    """The names of the modules below a package's path that hold a rule, sorted: those without a
    leading underscore.
    """
    return tuple(
        sorted(found.name for found in pkgutil.iter_modules(path) if not found.name.startswith("_"))
    )


def exported(
    package: str, path: Iterable[str], attribute: str, kind: type[Rule]
) -> tuple[Rule, ...]:
    """The value of that attribute in every module of the package, in the order of the modules'
    names.

    Errors: TypeError for a module without such a value (our bug; tests/arch holds it).
    """
    found = _values(package, tuple(path), attribute)
    for name, value in found:
        if not isinstance(value, kind):
            raise TypeError(f"{package}.{name} exports no {attribute}")
    return tuple(value for _, value in found)


@cache  # a package does not change while it runs, and a fleet asks for its rules a thousand times
def _values(package: str, path: tuple[str, ...], attribute: str) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (name, getattr(importlib.import_module(f"{package}.{name}"), attribute, None))
        for name in module_names(path)
    )
