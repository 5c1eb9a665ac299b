"""The files of a tar archive, one after another, without unpacking anything and within bounds.

The header blocks are parsed by the standard library; walking them is done here, because what a
stranger sends has to be bounded before it is read (a name record of gigabytes, a member that
unpacks to terabytes) and a truncated archive has to give all that is left of it.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from barostat.core.bounds import BUNDLE_FILES
from barostat.core.errors import InputError

BLOCK_BYTES = 512
MAX_TOTAL_BYTES = 4 << 30
MAX_RATIO = 120
"""Bytes that one compressed byte may become, beyond the first 16 MiB. Logs and scrapes stay below 60;
gzip itself reaches 1,032.
"""
_FREE_BYTES = 16 << 20
_MAX_NAME_RECORD_BYTES = 1 << 20
_READ_BYTES = 1 << 20
_KINDS = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


@dataclass(frozen=True, slots=True)
class ArchiveBounds:
    """How much an archive may hold."""

    members: int = BUNDLE_FILES.most
    total_bytes: int = MAX_TOTAL_BYTES


class Truncated(InputError):
    """The archive ends before its time, or is damaged from here on; says how."""


class MemberFile:
    """The content of one member: read it before asking for the next."""

    def __init__(self, stream: _Stream, size_bytes: int) -> None:
        self._stream = stream
        self._left_bytes = size_bytes

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes (all that is left if negative); nothing at the end, be it the member's
        or that of a truncated archive.
        """
        wanted = self._left_bytes if size < 0 else min(size, self._left_bytes)
        found = self._stream.read(wanted) if wanted else b""
        self._left_bytes -= len(found)
        return found

    def skip(self) -> None:
        """Reads the rest away.

        Errors: Truncated where the archive ends inside the member.
        """
        while self._left_bytes:
            if not self.read(_READ_BYTES):
                raise Truncated(self._stream.broken or "it ends inside a file")


class _Stream:
    """The archive's bytes, uncompressed; a damaged end is an end, kept in `broken`."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._path = path
        self.broken = ""
        self._file = file
        self._unpacked_bytes = 0
        head = file.read(2)
        file.seek(0)
        self._source: BinaryIO | gzip.GzipFile = (
            gzip.GzipFile(fileobj=file) if head == b"\x1f\x8b" else file
        )
        self._ready = b""
        self._given = 0

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, never more than one megabyte; nothing at the end."""
        if self._given >= len(self._ready):
            self._ready, self._given = b"", 0
            try:
                if isinstance(self._source, gzip.GzipFile):
                    self._ready = self._source.read1(_READ_BYTES)
                    self._unpacked_bytes += len(self._ready)
                    self._refuse_a_bomb()
                else:
                    self._ready = self._source.read(_READ_BYTES)
            except EOFError:
                self.broken = self.broken or "the compressed data ends too early"
            except (zlib.error, gzip.BadGzipFile) as error:
                self.broken = self.broken or f"the compressed data is damaged ({error})"
        found = self._ready[self._given : self._given + size]
        self._given += len(found)
        return found

    def _refuse_a_bomb(self) -> None:
        if self._unpacked_bytes > max(_FREE_BYTES, MAX_RATIO * self._file.tell()):
            raise InputError(
                f"one byte of it unpacks to more than {MAX_RATIO}: this is no bundle that was "
                "recorded; unpack it yourself if you trust it",
                str(self._path),
            )

    def exactly(self, size: int) -> bytes:
        """`size` bytes, or fewer where the archive ends."""
        parts, left = [], size
        while left and (part := self.read(left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


def members(
    path: Path, bounds: ArchiveBounds = ArchiveBounds()
) -> Iterator[tuple[str, MemberFile]]:
    """Every regular file of a tar or tar.gz in order, with its name; nothing is written anywhere.

    Errors: InputError for a name that leaves the archive, a link, a device, or more than the bounds
    allow; Truncated at a damaged end, after everything before it was given.
    """
    with path.open("rb") as file:
        stream = _Stream(file, path)
        count, total_bytes = 0, 0
        records: dict[str, str] = {}
        while True:
            block = stream.exactly(BLOCK_BYTES)
            if len(block) < BLOCK_BYTES:
                raise Truncated(
                    stream.broken
                    or ("it has no end mark" if count and not block else "it ends inside a header")
                )
            if not block.strip(b"\0"):
                return
            try:
                header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            except tarfile.HeaderError as error:
                raise Truncated(f"what should be a tar header is none ({error})") from None
            size_bytes = _size(records, header.size)
            count += 1
            total_bytes += size_bytes
            if count > bounds.members:
                raise InputError(
                    f"more than {bounds.members:,} members; this is no bundle", str(path)
                )
            if total_bytes > bounds.total_bytes:
                raise InputError(
                    f"it unpacks to more than {bounds.total_bytes / (1 << 30):.3g} GiB; "
                    "leave out what is too large",
                    str(path),
                )
            content = MemberFile(stream, size_bytes)
            padding = -size_bytes % BLOCK_BYTES
            if header.type in (
                tarfile.XHDTYPE,
                tarfile.XGLTYPE,
                tarfile.GNUTYPE_LONGNAME,
                tarfile.GNUTYPE_LONGLINK,
                tarfile.SOLARIS_XHDTYPE,
            ):
                if size_bytes > _MAX_NAME_RECORD_BYTES:
                    raise InputError(
                        "a name record of more than 1 MiB; this is no bundle", str(path)
                    )
                raw = stream.exactly(size_bytes)
                if header.type == tarfile.GNUTYPE_LONGNAME:
                    records["path"] = raw.rstrip(b"\0").decode("utf-8", "replace")
                elif header.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
                    records |= _pax(raw)
            else:
                name = records.get("path", header.name)
                _refuse(path, name, header.type, records)
                records = {}
                if header.type != tarfile.DIRTYPE and not name.endswith("/"):
                    yield name, content
                try:
                    content.skip()
                except Truncated as error:
                    raise Truncated(f"{error.what}, in {name}") from None
            stream.exactly(padding)


def is_archive(path: Path) -> bool:
    """True for a tar or tar.gz, by its first header; or by its name, whatever is in it."""
    if path.name.lower().endswith((".tar", ".tgz", ".tar.gz")):
        return True
    with path.open("rb") as file:
        block = _Stream(file, path).exactly(BLOCK_BYTES)
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _refuse(path: Path, name: str, kind: bytes, records: dict[str, str]) -> None:
    shown = name.encode("utf-8", "replace").decode()
    if name.startswith(("/", "\\")) or ".." in PurePosixPath(name.replace("\\", "/")).parts:
        raise InputError(
            f"the member {shown!r} points outside the archive; nothing of it was used: "
            "pack the bundle anew",
            str(path),
        )
    if any(key.startswith("GNU.sparse") for key in records):
        kind = tarfile.GNUTYPE_SPARSE
    if kind not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE, tarfile.DIRTYPE):
        what = _KINDS.get(kind, "of an unknown kind")
        raise InputError(
            f"the member {shown!r} is {what}; only files and directories are read: pack it "
            "with `tar --dereference`",
            str(path),
        )


def _size(records: dict[str, str], size_bytes: int) -> int:
    told = records.get("size", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 20 else max(0, size_bytes)


def _pax(raw: bytes) -> dict[str, str]:
    """Return the records `<length> <key>=<value>\\n` of an extended header, up to the first
    malformed one.
    """
    found: dict[str, str] = {}
    while raw:
        digits, space, _ = raw.partition(b" ")
        if not space or not digits.isdigit() or len(digits) > 8 or int(digits) <= len(digits) + 1:
            break
        record, raw = raw[len(digits) + 1 : int(digits)], raw[int(digits) :]
        key, _, value = record.rstrip(b"\n").partition(b"=")
        found[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
    return found
