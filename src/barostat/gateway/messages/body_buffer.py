"""The body of one request while it arrives, in memory that does not depend on how many pieces it
came in.

A piece costs some 60 bytes beside its own: 11 MiB in chunks of two bytes took 318 MB as a list.
"""

from __future__ import annotations


class BodyBuffer:
    """Bytes in the order of arrival. `size`: how many. `held_bytes`: memory that they take."""

    __slots__ = ("_first", "_rest", "held_bytes", "size")

    def __init__(self) -> None:
        self._first = b""
        self._rest: bytearray | None = None
        self.size = 0
        self.held_bytes = 0

    def add(self, data: bytes) -> None:
        """Append one piece. One that stays the only one is not copied."""
        rest = self._rest
        if rest is not None:
            rest += data
        elif self._first:
            self._rest = bytearray(self._first)
            self._rest += data
            self._first = b""
        else:
            self._first = data
        self.size += len(data)
        self.held_bytes = self.size if self._rest is None else self.size + (self.size >> 3)

    def take(self) -> bytes:
        """Return the whole body; the buffer is empty afterwards."""
        rest = self._rest
        body = self._first if rest is None else bytes(rest)
        self._first, self._rest = b"", None
        self.size = self.held_bytes = 0
        return body
