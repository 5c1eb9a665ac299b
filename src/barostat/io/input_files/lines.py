"""A log as lines, whatever its size and whatever is in it."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Protocol

from barostat.core.errors import InputError

CHUNK_BYTES = 1 << 20
MAX_LINE_CHARS = 64 * 1024
"""A longer line is cut: no line that we know is longer, and a binary file may be one single
line.
"""
_SNIFF_BYTES = 8192
_GZIP = b"\x1f\x8b"
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class Reads(Protocol):
    """Something open for reading bytes."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; nothing at the end."""


class NotText(InputError):
    """The content is not text; says what it is instead."""


def lines(file: Reads) -> Iterator[str]:
    """The lines of a text file without their ends, at most one chunk in memory.

    Bytes that are no UTF-8 become U+FFFD; UTF-16 with its mark (a PowerShell redirection) is read
    as such; a line beyond the cap is cut.
    Errors: NotText for compressed or binary content.
    """
    head = file.read(_SNIFF_BYTES)
    encoding = next((name for mark, name in _UTF16.items() if head.startswith(mark)), "utf-8")
    if head.startswith(_GZIP):
        raise NotText("compressed with gzip, not text; unpack it first")
    if encoding == "utf-8" and _binary(head):
        raise NotText("binary, not text")
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    rest, cut = "", False
    chunk = head
    while chunk:
        text = rest + decoder.decode(chunk)
        chunk = file.read(CHUNK_BYTES)
        *whole, rest = text.split("\n")
        if cut and whole:  # the tail of a line that was handed out already
            del whole[0]
            cut = False
        if "\r" in text or "\ufeff" in text or max(map(len, whole), default=0) > MAX_LINE_CHARS:
            whole = [line[:MAX_LINE_CHARS].rstrip("\r").lstrip("\ufeff") for line in whole]
        yield from whole  # ten million blank lines are handed on without a step for each
        if len(rest) > MAX_LINE_CHARS:
            if not cut:
                yield rest[:MAX_LINE_CHARS]
            rest, cut = "", True
    rest += decoder.decode(b"", final=True)
    if rest and not cut:
        yield rest.rstrip("\r")


def _binary(head: bytes) -> bool:
    """True for content that no log has: zero bytes in number, or hardly a readable character."""
    if not head:
        return False
    if head.count(0) > len(head) // 64:
        return True
    text = head.decode("utf-8", errors="replace")
    odd = sum(
        1 for char in text if char == "\ufffd" or (char < " " and char not in "\t\n\r\x1b\x08")
    )
    return odd > len(text) // 4
