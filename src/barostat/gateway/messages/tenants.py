"""Which tenant a key belongs to. Keys are read from a file, kept as digests only, compared as such
(in a time that does not depend on how much of a key is right), and never written anywhere.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from barostat.core.errors import InputError
from barostat.io.input_files.small_file import read_small

MAX_KEY_BYTES = 1024
_LARGEST_FILE_BYTES = 16 << 20
_LINE = re.compile(r"([A-Za-z0-9._-]{1,64})[ \t]*[: \t][ \t]*(\S+)")


class KeyTable:
    """Digests of keys under a secret of this process, so that the duration of a lookup reveals
    nothing about a key.
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        """`keys`: key -> tenant."""
        self._secret = secrets.token_bytes(32)
        self._tenants = {self._digest(key.encode()): tenant for key, tenant in keys.items()}

    @property
    def tenants(self) -> frozenset[str]:
        """Tenants that have a key."""
        return frozenset(self._tenants.values())

    def _digest(self, key: bytes) -> bytes:
        return blake2b(key, digest_size=32, key=self._secret).digest()

    def tenant_of(self, key: bytes) -> str | None:
        """The tenant whose key this is, None for no one's."""
        if len(key) > MAX_KEY_BYTES:
            return None
        return self._tenants.get(self._digest(key))


def bearer(value: bytes) -> bytes:
    """The key in an Authorization header, empty if it is of another kind."""
    return value[7:].strip() if value[:7].lower() == b"bearer " else b""


def load_keys(path: Path) -> KeyTable:
    """The keys in this file: `tenant: key` on each line, several keys for a tenant as several
    lines; # begins a comment line.

    Errors: InputError with the line, which is not quoted: it may hold a key.
    """
    try:
        lines = read_small(path, _LARGEST_FILE_BYTES).decode("utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", str(path)) from None
    keys: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None or len(found[2].encode()) > MAX_KEY_BYTES:
            raise InputError(
                "a tenant's name, a colon and its key were expected; neither has a space",
                f"{path}:{number}",
            )
        if found[2][0] in "\"'" and found[2][0] == found[2][-1]:
            raise InputError(
                "the key stands in quotes, which would be a part of it: leave them out",
                f"{path}:{number}",
            )
        if keys.setdefault(found[2], found[1]) != found[1]:
            raise InputError("two tenants have the same key", f"{path}:{number}")
    if not keys:
        raise InputError("holds no key", str(path))
    return KeyTable(keys)
