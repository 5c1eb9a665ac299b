"""What an answer says of its own size, read from its last bytes only: `usage` ends a body, and is
in the last event of a stream.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TAIL_BYTES = 1024
_COUNT = re.compile(rb'"(p|i|c|o)(?:rompt|nput|ompletion|utput)_tokens"[ \t]*:[ \t]*(\d{1,9})')


class Usage(NamedTuple):
    """Tokens as the engine counted them; None where the answer does not say."""

    input_tokens: int | None
    output_tokens: int | None


NOT_SAID = Usage(None, None)


def usage_in(tail: bytes) -> Usage:
    """The usage that the last bytes of an answer tell.

    A quote within a text is escaped in JSON, so that a text that looks like this is not taken for
    it.
    """
    at = tail.rfind(b'"usage"')
    if at < 0 or tail[at - 1] == 92:
        return NOT_SAID
    seen = made = None
    for which, count in _COUNT.findall(tail, at):
        if which == b"p" or which == b"i":
            if seen is None:
                seen = int(count)
        elif made is None:
            made = int(count)
    return Usage(seen, made)


def at_its_limit(tail: bytes) -> bool:
    """The answer ended because its output limit was reached."""
    at = tail.rfind(b'finish_reason"')
    if at < 0:
        at = tail.rfind(b'stop_reason"')
    if at < 0:
        return b'"max_output_tokens"}' in tail
    said = tail[at + 12 : at + 30]
    return b'"length"' in said or b'"max_tokens"' in said
