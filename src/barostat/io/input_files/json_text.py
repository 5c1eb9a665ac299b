"""JSON of a user's file, decoded; what is none is an error of one sentence."""

from __future__ import annotations

import json
from typing import Any

from barostat.core.errors import InputError


class TooDeep(InputError):
    """Nested too deeply to be read."""


def from_json(text: str, where: str) -> Any:
    """What the text says.

    `where`: the file and the line that it comes from, for a person.
    Errors: InputError for text that is no JSON; TooDeep.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise TooDeep("no JSON: nested too deeply", where) from None
    except ValueError as error:
        raise InputError(f"no JSON: {error}", where) from None
