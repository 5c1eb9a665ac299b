"""Whole values: what is done to every text in them, however deep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from barostat.core.redaction.credentials import clean

_T = TypeVar("_T")


def without_secrets(value: _T) -> _T:
    """The value with every text in it cleaned; the very same object where nothing had to be."""
    return every_text(value, clean)


def every_text(value: _T, change: Callable[[str], str]) -> _T:
    """The value with every text in it changed, keys of mappings too; the very same object where nothing had to be."""
    found: Any = _changed(value, change)
    return found  # type: ignore[no-any-return]


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return new if (new := change(value)) != value else value
    if isinstance(value, tuple | list):
        made = [_changed(item, change) for item in value]
        return value if all(new is old for new, old in zip(made, value, strict=True)) else type(value)(made)
    if isinstance(value, Mapping):
        pairs = {_changed(key, change): _changed(item, change) for key, item in value.items()}
        return value if all(key in pairs and pairs[key] is item for key, item in value.items()) else pairs
    if is_dataclass(value) and not isinstance(value, type):
        found = ((one.name, getattr(value, one.name)) for one in fields(value) if one.init)
        changed = {name: new for name, old in found if (new := _changed(old, change)) is not old}
        return replace(value, **changed) if changed else value
    return value
