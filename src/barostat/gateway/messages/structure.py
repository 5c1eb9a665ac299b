"""How much of a body is structure, told before it is read: a loop that reads dense brackets does nothing else meanwhile."""

from __future__ import annotations

import re

TEXTS_AND_BRACKETS = 50_000
"""Lists, objects and texts of a body, at most: thousands of messages, hundreds of tools, and many times the prompts of one request."""
COMMAS = 1_000_000
"""Between texts, at most: the token ids of the longest context that there is."""
ESCAPES = 1_000_000
"""Backslashes, at most."""
_STRETCH = 1 << 16
_TEXT_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]', re.S)


def too_much_of(body: bytes) -> str:
    """What the body has more of than is read; "" where it may be read. Counted no further than that."""
    if len(body) <= TEXTS_AND_BRACKETS:
        return ""
    if _more_than(ESCAPES, b"\\", body):
        return f"{ESCAPES:,} backslashes"
    if not (_more_than(TEXTS_AND_BRACKETS, b'[{"', body) or _more_than(COMMAS, b",", body)):
        return ""
    commas = end = 0  # those within texts were counted as well, and a text has two quotes: now exactly
    for place, found in enumerate(_TEXT_OR_BRACKET.finditer(body)):
        if place == TEXTS_AND_BRACKETS:
            return f"{TEXTS_AND_BRACKETS:,} lists, objects and texts"
        commas += body.count(b",", end, found.start())
        end = found.end()
    return f"{COMMAS:,} commas" if _more_than(COMMAS - commas, b",", body[end:]) else ""


def _more_than(most: int, marks: bytes, body: bytes) -> bool:
    found = 0
    for start in range(0, len(body), _STRETCH):
        found += sum(body.count(mark, start, start + _STRETCH) for mark in marks)
        if found > most:
            return True
    return False
