"""Identifies a version of a file, so that it is reloaded when it changes."""

from __future__ import annotations

from pathlib import Path


def stamp(path: Path) -> tuple[int, int, int] | None:
    """The file's time, size and number, None if it is not there (a mounted one is, for a moment,
    not).
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
