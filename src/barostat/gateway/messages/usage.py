"""Reads `usage` from the last bytes of a response: it ends a body, or is in the last event of a
stream.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from barostat.gateway.messages.routes import Route
from barostat.gateway.messages.structure import TEXT

TAIL_BYTES = 1024
_KEY = b'"usage":'
_STRUCTURE = re.compile(TEXT + rb"|[\[\]{}]", re.S)
_COUNT = re.compile(rb'"(p|i|c|o)(?:rompt|nput|ompletion|utput)_tokens"[ \t]*:[ \t]*(\d{1,9})')


class Usage(NamedTuple):
    """Tokens as the engine counted them; None if the answer does not say."""

    input_tokens: int | None
    output_tokens: int | None


NOT_SAID = Usage(None, None)


def usage_in(tail: bytes, levels: int = 0) -> Usage:
    """Return the usage in the last bytes of a response.

    Quotes in texts are escaped in JSON, so text that looks like usage does not match. `levels`:
    number of objects that must close after it, if a response repeats objects of the request; 0 for
    any.
    """
    at = tail.rfind(_KEY)
    while at >= 0 and (tail[at - 1] == 92 or (levels and _ends_behind(tail, at) != levels)):
        at = tail.rfind(_KEY, 0, at)
    if at < 0:
        return NOT_SAID
    seen = made = None
    for which, count in _COUNT.findall(tail, at):
        if which == b"p" or which == b"i":
            if seen is None:
                seen = int(count)
        elif made is None:
            made = int(count)
    return Usage(seen, made)


def levels_behind(route: Route, stream: bool) -> int:
    """Return how many objects end behind the usage of an answer that repeats the request's own, 0
    for an answer that repeats none.
    """
    if route != "responses":
        return 0
    return 2 if stream else 1


def _ends_behind(tail: bytes, at: int) -> int:
    """Count the objects and lists that are open at `at` and end after it."""
    depth = 0
    for found in _STRUCTURE.finditer(tail, at):
        mark = found[0]
        if mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
    return -depth


def at_its_limit(tail: bytes) -> bool:
    """The answer ended because its output limit was reached."""
    at = tail.rfind(b'finish_reason"')
    if at < 0:
        at = tail.rfind(b'stop_reason"')
    if at < 0:
        return b'"max_output_tokens"}' in tail
    said = tail[at + 12 : at + 30]
    return b'"length"' in said or b'"max_tokens"' in said
