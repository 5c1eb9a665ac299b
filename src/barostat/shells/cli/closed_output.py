"""An output that nobody reads."""

from __future__ import annotations

import os
from typing import TextIO


def let_go(stream: TextIO) -> None:
    """What the stream still holds, and all that comes, goes nowhere: also what the interpreter
    flushes when it ends.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def print_or_let_go(text: str, stream: TextIO) -> None:
    """A line, at once; where nobody reads the stream, nothing, now and from then on."""
    try:
        print(text, file=stream, flush=True)
    except OSError:
        let_go(stream)
