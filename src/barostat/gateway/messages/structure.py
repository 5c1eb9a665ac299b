"""Measures the structure of a body before it is parsed, because parsing dense brackets would block
the event loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.core.structure_counts import counted

TEXTS_AND_BRACKETS = 65_536
"""Lists, objects and texts of a body, at most: thousands of messages, hundreds of tools, and many
times the prompts of one request.
"""
COMMAS = 1_000_000
"""Between texts, at most: the token ids of the longest context that there is."""
ESCAPES = 1_000_000
"""Backslashes, at most."""
TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""A text with its quotes; over lines with re.S."""
_TOKEN = re.compile(TEXT + rb"|[\[{]", re.S)


def too_much_of(body: bytes) -> str:
    """Return what the body has too much of (values, nesting); "" if it is within bounds. Counting
    stops at the bound.
    """
    if len(body) <= 2 * TEXTS_AND_BRACKETS:  # each of them has two ends
        return ""
    if counted(body, b"\\", ESCAPES) > ESCAPES:
        return f"{ESCAPES:,} backslashes"
    # At first with those within texts, and a text has two quotes: where that is too much, exactly.
    brackets = counted(body, b'[{"', TEXTS_AND_BRACKETS) > TEXTS_AND_BRACKETS
    if brackets and any(
        place == TEXTS_AND_BRACKETS for place, _ in enumerate(_TOKEN.finditer(body))
    ):
        return f"{TEXTS_AND_BRACKETS:,} lists, objects and texts"
    if (
        len(body) > COMMAS
        and _commas(body) > COMMAS
        and sum(map(_commas, _between_texts(body))) > COMMAS
    ):
        return f"{COMMAS:,} commas"
    return ""


def _between_texts(body: bytes) -> Iterator[bytes]:
    """Yield the bytes outside string literals."""
    at = 0
    while (start := body.find(b'"', at)) >= 0:
        yield body[at:start]
        at = _end_of_text(body, start)
    yield body[at:]


def _end_of_text(body: bytes, start: int) -> int:
    """Behind the quote that ends the text. One without a backslash is found at once: the usual one,
    and the longest.
    """
    end = body.find(b'"', start + 1) + 1
    if end and body.find(b"\\", start, end) < 0:
        return end
    text = _TOKEN.match(body, start)
    return text.end() if text is not None else len(body)


def _commas(body: bytes) -> int:
    """A nanosecond a byte however many there are: `count` takes twenty for each."""
    return len(body) - len(body.translate(None, b","))
