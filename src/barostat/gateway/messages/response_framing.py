"""Where one response of an engine ends: its head is understood, its body only measured, so that the
bytes can be passed on as they came.

Shapes: HTTP/1.x responses; a length, chunks, or the end of the connection delimit a body; 204, 304
and answers to HEAD have none.
Errors: a response that could be read in two ways (two lengths, a length beside chunks, bare line
feeds, a bad chunk) is `broken`.
Source: RFC 9112, sections 6 and 7.
"""

from __future__ import annotations

import re

MAX_HEAD_BYTES = 64 << 10
_MAX_LINE_BYTES = 4 << 10
_MAX_TRAILER_BYTES = 16 << 10

_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?\r\n")
_LINE = re.compile(rb"\r\n([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[^\r\n]*")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_FIELDS = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\r\n\0]*\r\n)*\r\n")
_LOCATION = re.compile(rb"(\r\nlocation:[ \t]*)https?://([^/\r\n]*)(/[^\r\n]*)", re.IGNORECASE)
_PATH_HERE = re.compile(rb"/(?![/\\])")
"""What a browser reads as a path on the same host: `//evil` and `/\\evil` name another one."""
_OUR_HOP = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"upgrade"})
_UNDERSTOOD = _OUR_HOP | {b"content-length", b"content-type", b"transfer-encoding"}
_BEGINNINGS = frozenset(b"".join({name[:1] + name[:1].upper() for name in _UNDERSTOOD}))
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
"""Fields that stay whatever Connection names: without them the client misreads the answer."""

_MOST_DIGITS = 18
NO_BODY, LENGTH, CHUNKS, CLOSE, TRAILERS = range(5)


class Framing:
    """One response. `head_of` until there is a head, then `body` of everything that follows until
    `done`.
    """

    __slots__ = (
        "_line",
        "_trailer_bytes",
        "broken",
        "content_type",
        "done",
        "hop_by_hop",
        "keep_alive",
        "left",
        "mode",
        "status",
    )

    def __init__(self) -> None:
        self.status = 0
        self.mode = NO_BODY
        self.left = 0
        self.done = False
        self.broken = ""
        self.keep_alive = True
        self.content_type = b""
        self.hop_by_hop: frozenset[bytes] = frozenset()
        self._line = b""
        self._trailer_bytes = 0

    def head_of(self, data: bytes, *, to_head_request: bool) -> int:
        """Parse the head and return its length with the empty line; 0 if it is incomplete.
        `broken`: why it is rejected.
        """
        end = data.find(b"\r\n\r\n")
        if end < 0 or end > MAX_HEAD_BYTES:
            if len(data) > MAX_HEAD_BYTES:
                self.broken = "a head larger than 64 kB"
            elif data and not b"HTTP/1.".startswith(data[:7]):
                self.broken = "no HTTP/1 status line"
            return 0
        end += 4
        first = _STATUS.match(data)
        if first is None:
            self.broken = "no HTTP/1 status line"
            return 0
        self.status = int(first[2])
        head = data[:end]
        if _FIELDS.fullmatch(head, first.end()) is None:
            self.broken = "a head with a line that is no field"
            return 0
        lines = head.split(b"\r\n")
        self.keep_alive = first[1] == b"1"
        length = -1
        chunked = False
        for line in lines[1:-2]:
            if line[0] not in _BEGINNINGS:
                continue
            name, _, value = line.partition(b":")
            lower = name.lower()
            if lower not in _UNDERSTOOD:
                continue
            value = value.strip()
            if lower == b"content-length":
                if (
                    not value.isdigit()
                    or len(value) > _MOST_DIGITS
                    or length not in (-1, int(value))
                ):
                    self.broken = "a content length that is no single number"
                    return 0
                length = int(value)
            elif lower == b"content-type":
                self.content_type = value
            elif lower == b"transfer-encoding":
                if chunked or value.lower() != b"chunked":
                    self.broken = "a transfer encoding other than chunked"
                    return 0
                chunked = True
            else:
                self._connection(lower, value)
        if chunked and length >= 0:
            self.broken = "a content length beside chunks"
            return 0
        self._choose(length, chunked, to_head_request)
        return end

    def _connection(self, name: bytes, value: bytes) -> None:
        self.hop_by_hop |= {name}
        if name == b"connection":
            named = {word.strip().lower() for word in value.split(b",")}
            self.hop_by_hop |= named - {b"close", b"keep-alive", b""} - _FRAMING
            self.keep_alive = b"keep-alive" in named or (self.keep_alive and b"close" not in named)

    def _choose(self, length: int, chunked: bool, to_head_request: bool) -> None:
        if to_head_request or self.status < 200 or self.status in (204, 304):
            self.mode, self.done = NO_BODY, True
        elif chunked:
            self.mode = CHUNKS
        elif length >= 0:
            self.mode, self.left, self.done = LENGTH, length, length == 0
        else:
            self.mode, self.keep_alive = CLOSE, False

    def body(self, data: bytes) -> int:
        """How many of these bytes belong to the response; all of them, unless it is `done` (or
        `broken`) before their end.
        """
        if self.mode == CHUNKS or self.mode == TRAILERS:
            return self._chunks(data)
        size = len(data)
        if self.mode == CLOSE:
            return size
        if size < self.left:
            self.left -= size
            return size
        taken, self.left, self.done = self.left, 0, True
        return taken

    @property
    def between_chunks(self) -> bool:
        """Return True between two chunks, where another chunk can be inserted."""
        return self.mode == CHUNKS and self.left == 0 and not self._line

    def _chunks(self, data: bytes) -> int:
        if self._line:
            kept = len(self._line)
            data, self._line = self._line + data, b""
            return self._chunks(data) - kept
        at, size = 0, len(data)
        while True:
            if self.left:
                if size - at < self.left:
                    self.left -= size - at
                    if self.left == 1 and data[-1] != 13:
                        self.broken = "a chunk that does not end where it should"
                    return size
                at += self.left
                self.left = 0
                if data[at - 1] != 10 or (at > 1 and data[at - 2] != 13):
                    self.broken = "a chunk that does not end where it should"
                    return at
            if at == size:
                return size
            if self.mode == TRAILERS:
                return self._trailers(data, at)
            found = _CHUNK.match(data, at)
            if found is None:
                return self._unfinished(data, at)
            at = found.end()
            length = int(found[1], 16)
            if length:
                self.left = length + 2
            else:
                self.mode = TRAILERS

    def _trailers(self, data: bytes, at: int) -> int:
        while True:
            end = data.find(b"\n", at)
            if end < 0:
                return self._unfinished(data, at)
            self._trailer_bytes += end - at
            if data[end - 1] != 13 or end == at or self._trailer_bytes > _MAX_TRAILER_BYTES:
                self.broken = "trailers that are none"
                return end + 1
            if end == at + 1:
                self.done = True
                return end + 1
            at = end + 1

    def _unfinished(self, data: bytes, at: int) -> int:
        """The rest of the data is the beginning of a line."""
        self._line = data[at:]
        if b"\n" in self._line or len(self._line) > _MAX_LINE_BYTES:
            self.broken = "a chunk size that is none"
        return len(data)


def rewritten(
    head: bytes, framing: Framing, added: bytes = b"", own: bytes = b"", prefix: bytes = b""
) -> bytes:
    """The head without what concerns only the connection to the engine, with these lines (each with
    its CRLF) added at its end.

    Where the engine sends the client on to the engine (`own`, as its Host says), the client is sent
    on to that path here, without the `prefix` that was put before it: else it would go round the
    gateway.
    """
    if own and 300 <= framing.status < 400:
        head = _LOCATION.sub(lambda found: _path_here(found, own, prefix), head)
    if framing.hop_by_hop:
        gone = framing.hop_by_hop | _OUR_HOP
        first = head.index(b"\r\n")
        kept = [line[0] for line in _LINE.finditer(head, first) if line[1].lower() not in gone]
        head = b"".join((head[:first], *kept, b"\r\n\r\n"))
    return head[:-2] + added + b"\r\n" if added else head


def _path_here(found: re.Match[bytes], own: bytes, prefix: bytes) -> bytes:
    field, host, path = found.groups()
    if host.lower() != own.lower():
        return found[0]
    here = path[len(prefix) :] if path.startswith(prefix + b"/") else path
    return field + here if _PATH_HERE.match(here) else found[0]
