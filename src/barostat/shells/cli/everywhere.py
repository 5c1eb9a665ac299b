"""The flags that every verb takes, in any place before `--`: how much is said beside the result,
and whether in colour.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from barostat.core.errors import InputError, OutsideError


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add them to the parser and to every one within it."""
    group = parser.add_argument_group("common options")
    for names, told in (
        (
            ("-v", "--verbose"),
            "log outgoing requests to stderr; show a traceback on internal errors",
        ),
        (("--quiet",), "print only errors and questions to stderr"),
        (("--no-color",), "print without colors (also: set NO_COLOR)"),
    ):
        group.add_argument(*names, action="store_true", default=argparse.SUPPRESS, help=told)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in dict.fromkeys(action.choices.values()):
                add_flags(inner)


@contextmanager
def heeded(arguments: argparse.Namespace) -> Iterator[None]:
    """What was asked for holds within; stderr and the environment are as before afterwards."""
    real, colour = sys.stderr, os.environ.get("NO_COLOR")
    verbose = getattr(arguments, "verbose", False)
    if getattr(arguments, "no_color", False):
        os.environ["NO_COLOR"] = "1"
    if verbose:
        _tell_requests()
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        if getattr(arguments, "quiet", False):
            sys.stderr = _Muted(nowhere, real)
        try:
            yield
        except (InputError, OutsideError, OSError):
            raise
        except Exception:
            if verbose:
                import traceback

                traceback.print_exc(file=real)
            raise
        finally:
            sys.stderr = real
            if colour is None:
                os.environ.pop("NO_COLOR", None)


def for_people() -> TextIO:
    """Where a question goes: stderr, also where nothing else is to be said."""
    return sys.stderr.real if isinstance(sys.stderr, _Muted) else sys.stderr


class _Muted:
    """Writes nothing; knows where a question goes."""

    def __init__(self, nowhere: TextIO, real: TextIO) -> None:
        self._nowhere = nowhere
        self.real = real

    def __getattr__(self, name: str) -> object:
        return getattr(self._nowhere, name)


def _tell_requests() -> None:
    """Every request over HTTP becomes a line on stderr, its credentials blackened."""
    import logging

    from barostat.io.redaction.text import log_lines

    class Redacted(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return "\n".join(log_lines(super().format(record).splitlines()))

    handler = logging.StreamHandler()
    handler.setFormatter(Redacted("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    told = logging.getLogger("httpx")
    told.setLevel(logging.INFO)
    told.handlers = [handler]
