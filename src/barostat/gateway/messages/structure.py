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
_BEGINS = re.compile(rb'["\[{]')
_TEXT_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]', re.S)


def too_much_of(body: bytes) -> str:
    """What the body has more of than is read; "" where it may be read. Counted no further than that."""
    if len(body) <= TEXTS_AND_BRACKETS:
        return ""
    if _more_than(ESCAPES, b"\\", body):
        return f"{ESCAPES:,} backslashes"
    many = _more_than(TEXTS_AND_BRACKETS, b'[{"', body)  # those within texts are counted as well, and a text has two quotes
    if not many and (len(body) <= COMMAS or _commas(body) <= COMMAS):
        return ""
    commas = at = found = 0  # now exactly
    while (start := _next(body, at, brackets=many)) >= 0:
        commas += _commas(body[at:start])
        token = _TEXT_OR_BRACKET.match(body, start)
        at = token.end() if token is not None else len(body)
        found += 1
        if found > TEXTS_AND_BRACKETS:
            return f"{TEXTS_AND_BRACKETS:,} lists, objects and texts"
    return f"{COMMAS:,} commas" if commas + _commas(body[at:]) > COMMAS else ""


def _next(body: bytes, at: int, *, brackets: bool) -> int:
    """Where the next text begins, or bracket; -1 where none does."""
    if not brackets:
        return body.find(b'"', at)
    token = _BEGINS.search(body, at)
    return token.start() if token is not None else -1


def _commas(body: bytes) -> int:
    """A nanosecond a byte however many there are: `count` takes twenty for each."""
    return len(body) - len(body.translate(None, b","))


def _more_than(most: int, marks: bytes, body: bytes) -> bool:
    found = 0
    for start in range(0, len(body), _STRETCH):
        found += sum(body.count(mark, start, start + _STRETCH) for mark in marks)
        if found > most:
            return True
    return False
