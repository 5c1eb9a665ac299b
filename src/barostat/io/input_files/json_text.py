"""Decodes JSON of a user's file; invalid JSON is an error of one sentence."""

from __future__ import annotations

import json
import sys
from typing import Any

from barostat.core.errors import InputError


class TooDeep(InputError):
    """Nested too deeply to be read."""


def from_json(text: str, where: str) -> Any:
    """Parse JSON.

    `where`: the file and the line that it comes from, for a person.
    Errors: InputError for invalid JSON; TooDeep.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        kind = TooDeep if isinstance(error, RecursionError) else InputError
        raise kind(f"no JSON: {why_no_json(error)}", where) from None


def why_no_json(error: ValueError | RecursionError) -> str:
    """Return the decoder's error in plain words."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, line {error.lineno} column {error.colno}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeError):
        return "not UTF-8 text"
    return f"a number of more than {sys.get_int_max_str_digits():,} digits"
