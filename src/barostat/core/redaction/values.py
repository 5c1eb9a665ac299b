"""Applies a function to every text in a nested value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any, TypeVar

_T = TypeVar("_T")
_FIELDS: dict[type, tuple[str, ...] | None] = {}
_WITHOUT_TEXT = frozenset((type(None), bool, int, float))


def every_text(
    value: _T, change: Callable[[str], str], already: frozenset[type] = frozenset()
) -> _T:
    """The value with every text in it changed, keys of mappings too; the very same object where
    nothing had to be. `already`: types whose texts have been changed before.
    """
    found: Any = _changed(value, change, _WITHOUT_TEXT | already)
    return found  # type: ignore[no-any-return]


def _changed(value: Any, change: Callable[[str], str], as_they_are: frozenset[type]) -> Any:
    kind = type(value)
    if kind in as_they_are:
        return value
    if isinstance(value, str):
        return new if (new := change(value)) != value else value
    if isinstance(value, tuple | list):
        made = [
            item if type(item) in as_they_are else _changed(item, change, as_they_are)
            for item in value
        ]
        return value if all(map(is_, made, value)) else kind(made)
    if (names := _fields(kind)) is not None:
        changed = {
            name: new
            for name in names
            if type(old := getattr(value, name)) not in as_they_are
            and (new := _changed(old, change, as_they_are)) is not old
        }
        return replace(value, **changed) if changed else value
    if isinstance(value, Mapping):
        pairs = {
            _changed(key, change, as_they_are): _changed(item, change, as_they_are)
            for key, item in value.items()
        }
        return (
            value
            if all(key in pairs and pairs[key] is item for key, item in value.items())
            else pairs
        )
    return value


def _fields(kind: type) -> tuple[str, ...] | None:
    """The names of what a dataclass is made with; None for another type. Found once for each type:
    a million values ask.
    """
    if kind not in _FIELDS:
        _FIELDS[kind] = (
            tuple(one.name for one in fields(kind) if one.init) if is_dataclass(kind) else None
        )
    return _FIELDS[kind]
