"""Presents piped input as a file: a log is read several times, a pipe only once."""

from __future__ import annotations

import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from barostat.core.errors import InputError

STDIN = "-"
NAME = "stdin"


def piped_in(where: str = STDIN) -> BinaryIO:
    """Return stdin as a binary stream.

    Errors: InputError if stdin is closed.
    """
    if sys.stdin is None:
        raise InputError("stands for what is piped in, and stdin is closed", where)
    return sys.stdin.buffer


@contextmanager
def as_file(given: str) -> Iterator[Path]:
    """The file; of `-` and of a pipe (process substitution) a copy of all that came, gone
    afterwards. Ctrl-C ends an endless pipe.

    Errors: InputError where `-` is a terminal, or the copy cannot be written.
    """
    if given != STDIN and not _is_pipe(Path(given)):
        yield Path(given)
        return
    if given == STDIN and (sys.stdin is None or sys.stdin.isatty()):
        raise InputError(
            "stands for what is piped in, and nothing is: kubectl logs --previous POD | "
            "barostat diagnose --log -",
            "--log -",
        )
    import tempfile  # dear, and most runs know only how a pipe is written

    with tempfile.TemporaryDirectory(prefix="barostat-") as folder:
        copy = Path(folder) / f"{NAME}.log"
        try:
            with copy.open("wb") as file:
                try:
                    if given == STDIN:
                        shutil.copyfileobj(piped_in(), file)
                    else:
                        with Path(given).open("rb") as pipe:
                            shutil.copyfileobj(pipe, file)
                except KeyboardInterrupt:
                    print("barostat: the log ends here", file=sys.stderr)
        except OSError as error:
            raise InputError(f"cannot be kept ({error.strerror})", f"--log {given}") from None
        yield copy


def _is_pipe(path: Path) -> bool:
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False
