"""What who watches the process is told, on standard error."""

from __future__ import annotations

import contextlib
import sys


def say(line: str) -> None:
    """The line is there to be read; where nobody reads it any more, nothing else is left undone for
    it.
    """
    with contextlib.suppress(OSError):
        print(f"barostat gateway: {line}", file=sys.stderr, flush=True)
