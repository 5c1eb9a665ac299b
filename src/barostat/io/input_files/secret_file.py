"""A file with a single key, which error messages never quote."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from barostat.core.errors import InputError
from barostat.io.input_files.small_file import read_small


def secret_in(path: Path) -> str:
    """The key. Errors: InputError for a file that cannot be read, or that holds anything else."""
    try:
        text = read_small(path).decode("utf-8-sig").strip()
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", str(path)) from None
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise InputError("one key, and nothing else, was expected", str(path))
    return text


def is_open_to_all(path: Path) -> bool:
    """True if every user of this machine can read the file and its owner runs this process. False
    for a mounted Secret.
    """
    try:
        found = path.stat()
    except OSError:
        return False
    return (
        bool(found.st_mode & stat.S_IROTH)
        and found.st_uid == os.geteuid()
        and os.access(path, os.W_OK)
    )
