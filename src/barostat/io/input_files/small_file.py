"""A small file that somebody else's configuration names: a token, a certificate. A device or a pipe
in its place holds nothing up.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from barostat.core.bounds import CREDENTIAL_BYTES


def read_small(path: Path, most_bytes: int = CREDENTIAL_BYTES.most) -> bytes:
    """Read a whole regular file.

    Errors: OSError, with a reason in `strerror`; also for special files and files above the limit.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {most_bytes >> 10} KiB", str(path))
    return data
