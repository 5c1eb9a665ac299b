"""A document as JSON that every reader takes: what is no number (`Infinity`, `NaN`) is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(document: Any, indent: int | None = 2) -> str:
    """The document as text. Errors: TypeError for what JSON has no form for."""
    try:
        return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(finite(document), indent=indent, ensure_ascii=False, allow_nan=False)


def finite(value: Any) -> Any:
    """The value with None in place of each number that is none."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value
