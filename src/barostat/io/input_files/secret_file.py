"""A file with one key, and nothing else: never quoted in what is said of it."""

from __future__ import annotations

from pathlib import Path

from barostat.core.errors import InputError


def secret_in(path: Path) -> str:
    """The key. Errors: InputError for a file that cannot be read, or that holds anything else."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", str(path)) from None
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise InputError("one key, and nothing else, was expected", str(path))
    return text
