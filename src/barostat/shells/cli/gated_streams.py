"""What the command line prints goes through one gate: text from outside is seen, and drives no
terminal.

The gate stands in stdout and stderr themselves, so that a renderer, argparse and a log line go
through it whether they think of it or not. What Barostat draws itself (colours, a line in place)
takes the way around by name: `own`.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from barostat.core.visible import visible

_ERRORS = "barostat.visible"


class Gate:
    """A stream that shows each acting character; all else is the real stream's. `failed`: what
    became of a write (argparse hides it).
    """

    def __init__(self, real: TextIO) -> None:
        self.real = real
        self.failed: OSError | None = None

    def write(self, text: str) -> int:
        """The text has gone on, every character of it to be seen."""
        try:
            self.real.write(visible(text))
        except OSError as error:
            self.failed = error
            raise
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Each has gone on."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


@contextmanager
def gated() -> Iterator[None]:
    """Within, stdout and stderr are gated, and a sign that the locale does not have is written out
    as JSON would.
    """
    codecs.register_error(_ERRORS, _written_out)
    before = sys.stdout, sys.stderr
    for real in before:
        if callable(change := getattr(real, "reconfigure", None)):
            change(errors=_ERRORS)
    sys.stdout, sys.stderr = (cast("TextIO", Gate(real)) for real in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def own(stream: TextIO) -> TextIO:
    """The stream itself, for what Barostat draws; text from outside in it has been through
    `visible` before.
    """
    return stream.real if isinstance(stream, Gate) else stream


def _written_out(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)
    ), error.end
