"""Lines for the person who watches the process, on standard error."""

from __future__ import annotations

import contextlib
import sys

_MOST_CHARACTERS = 1000


def say(line: str) -> None:
    """Write one line. Unprintable characters are escaped, because names may come from an engine or
    a client and must not forge a second line; long lines are cut. A closed stderr is ignored.
    """
    shown = "".join(
        one if one.isprintable() else ascii(one)[1:-1] for one in line[:_MOST_CHARACTERS]
    )
    cut = f"... ({len(line)} characters)" if len(line) > _MOST_CHARACTERS else ""
    with contextlib.suppress(OSError, UnicodeError):
        print(f"barostat gateway: {shown}{cut}", file=sys.stderr, flush=True)
