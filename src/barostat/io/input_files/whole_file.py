"""A file of data that is read as a whole: text, unpacked where it is compressed."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import IO

from barostat.core.bounds import WHOLE_FILE_BYTES
from barostat.core.errors import InputError

_GZIP = b"\x1f\x8b"


def read_whole(path: Path) -> str:
    """The file's text without its byte-order mark; bytes that are no UTF-8 become U+FFFD. By its
    first bytes, gzip is unpacked.

    Errors: InputError where it cannot be read or unpacked.
    """
    try:
        with path.open("rb") as file:
            data = _bounded(file, path)
        if data.startswith(_GZIP):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = _bounded(packed, path)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(getattr(error, "strerror", None) or str(error), str(path)) from None
    return data.decode("utf-8-sig", errors="replace")


def _bounded(file: IO[bytes] | gzip.GzipFile, path: Path) -> bytes:
    data = file.read(WHOLE_FILE_BYTES.most + 1)
    if len(data) > WHOLE_FILE_BYTES.most:
        raise InputError(
            f"larger than {WHOLE_FILE_BYTES.most >> 20} MiB; give a part of it", str(path)
        )
    return data
