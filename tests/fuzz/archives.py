"""Archives of bundles, made and changed member by member: names, kinds, sizes that lie,
contents.
"""

# ruff: noqa: E501 (inputs as they come)

from __future__ import annotations

import gzip
import io
import random
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

_NAMES = (
    "../x", "/etc/passwd", "bundle/../../x", "bundle/bundle.yaml", "a/bundle.yaml", "metrics/../metrics/r/1.prom", "metrics/r/nan.prom",
    "metrics/r/1e999.prom", "metrics/r/-1.prom", "metrics/" + "d/" * 200 + "1.prom", "metrics/r/9" + "9" * 400 + ".prom", "logs/\x1b[2J.log",
    "logs/\u202er.log", "kubernetes/pods.json", "gpu/r/1.nvidia-smi.csv", "host/r/1.json", "logs/r.previous.log", "x" * 300, "", ".", "logs/.log",
)  # fmt: skip
_KINDS = (
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.DIRTYPE,
    tarfile.CHRTYPE,
    tarfile.FIFOTYPE,
    tarfile.GNUTYPE_SPARSE,
    tarfile.XHDTYPE,
    b"Z",
)
_BLOCK = 512
Member = tuple[tarfile.TarInfo, bytes]


def archive_of(folder: Path, most_bytes: int = 60_000) -> bytes:
    """The folder as a packed archive, each file cut to so many bytes."""
    members = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()[:most_bytes]
            member = tarfile.TarInfo(f"bundle/{path.relative_to(folder)}")
            member.size = len(content)
            members.append((member, content))
    return _packed(members, gz=True)


def changed_archive(
    data: bytes, dice: random.Random, change: Callable[[str, bytes], bytes]
) -> bytes:
    """The archive with one member changed. `change`: of a member's content. What is no archive is
    given back as it is.
    """
    gz = data[:2] == b"\x1f\x8b"
    try:
        members = _members(gzip.decompress(data) if gz else data)
    except (OSError, EOFError, ValueError, zlib.error, tarfile.TarError):
        return data
    if not members:
        return data
    at = dice.randrange(len(members))
    member, content = members[at]
    match dice.randrange(10):
        case 0:
            del members[at]
        case 1:
            members += [members[at]] * dice.choice((1, 5, 300))
        case 2:
            member.name = dice.choice(_NAMES)
        case 3:
            member.type, member.linkname = dice.choice(_KINDS), dice.choice(_NAMES)
        case 4:
            member.size = dice.choice((0, 1, len(content) + 1, len(content) * 3, 1 << 33, 1 << 40))
        case _:
            content = change(member.name, content)
            member.size = len(content)
            members[at] = member, content
    return _packed(members, gz=gz if dice.random() < 0.9 else not gz)


def _members(data: bytes) -> list[Member]:
    found = []
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:", ignore_zeros=False) as archive:
        for member in archive:
            opened = archive.extractfile(member) if member.isreg() else None
            found.append((member, opened.read() if opened is not None else b""))
    return found


def _packed(members: list[Member], *, gz: bool) -> bytes:
    """The bytes, also of members that lie about their size."""
    parts = []
    for member, content in members:
        parts += [
            member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape"),
            content,
            bytes(-len(content) % _BLOCK),
        ]
    whole = b"".join(parts) + bytes(2 * _BLOCK)
    return gzip.compress(whole, 1, mtime=0) if gz else whole
