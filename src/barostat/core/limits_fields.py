"""The fields of a limits document: how each is spelled in a file, of which type it is, which
numbers it takes.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from barostat.core.naming import camel

# Bounds of numbers by name: (lowest, highest, whether the lowest itself is refused).
BOUNDS: dict[str, tuple[float, float | None, bool]] = {
    "watermark": (0, 1, False), "gpu_memory_utilization": (0, 1, True), "headroom_ratio": (0, 1, False), "share": (0, 1, True),
    "pool_share": (0, 1, True), "queue_share": (0, 1, False),
    "floor_replicas": (0, None, False), "max_replicas": (1, None, False), "changes_per_hour": (0, None, False),
    "keep_previous_seconds": (0, 86400, False),
}  # fmt: skip
_POSITIVE_INTEGER: tuple[float, float | None, bool] = (1, None, False)
_POSITIVE_NUMBER: tuple[float, float | None, bool] = (0, None, True)


def bounds(name: str, kind: type) -> tuple[float, float | None, bool]:
    """The bounds of a number (int or float) of this name."""
    return BOUNDS.get(name, _POSITIVE_INTEGER if kind is int else _POSITIVE_NUMBER)


def inner(hint: Any) -> Any:
    """The type without its `| None`."""
    arguments = [argument for argument in typing.get_args(hint) if argument is not type(None)]
    return (
        arguments[0]
        if typing.get_origin(hint) in (types.UnionType, typing.Union) and len(arguments) == 1
        else hint
    )


def fields_of(cls: type) -> dict[str, tuple[str, Any]]:
    """Key in the file -> (name in the dataclass, type)."""
    hints = typing.get_type_hints(cls)
    return {
        camel(field.name): (field.name, inner(hints[field.name]))
        for field in dataclasses.fields(cls)
    }


def required(cls: type) -> set[str]:
    """The names of the fields that must be given."""
    return {
        field.name
        for field in dataclasses.fields(cls)
        if field.default is field.default_factory is dataclasses.MISSING
    }
