"""Parses the head of a request field by field and rewrites it for the engine, so that both parse
the same request.

Connection headers are removed (RFC 9110, section 7.6.1), and the length is that of the received
body. Ambiguous heads are rejected: two lengths, a length with a transfer encoding, an encoding
other than chunked.
"""

from __future__ import annotations

from typing import NamedTuple

from barostat.gateway.messages.routes import Route
from barostat.gateway.messages.target import Passage, is_target

_HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization", b"te", b"trailer",
        b"transfer-encoding", b"upgrade", b"http2-settings", b"expect", b"content-length", b"host",
    }
)  # fmt: skip
PRIORITY_CLASS = b"x-barostat-priority-class"
"""Names the priority class of a request; it concerns the gateway alone."""
NOT_PASSED_ON = _HOP_BY_HOP | {b"authorization", b"x-api-key", PRIORITY_CLASS}
"""Fields that are understood (`understand`) and not copied."""
REQUEST_BYTES = 4096
"""Memory that a request takes beside its fields and its body."""
FIELD_BYTES = 128
"""Memory that a field takes beside its bytes."""


class Unwelcome(NamedTuple):
    """Why a request is refused by its head alone."""

    status: int
    reason: str
    message: str
    route: Route = "other"


_METHODS = frozenset({b"GET", b"POST", b"PUT", b"DELETE", b"PATCH", b"HEAD", b"OPTIONS"})


class RequestHead:
    """One head. `lines`: the fields that are passed on, in pieces. `held_bytes`: memory that it
    takes. `welcome`: where the request goes, or why it is refused, once the head is whole;
    `tenant`: the owner of its key.
    """

    __slots__ = (
        "api_keys", "authorization", "authorizations", "chunked", "encodings", "expects_100", "held_bytes", "hosts", "http_1_0", "length",
        "lengths", "lines", "method", "named", "persistent", "priority_class", "target", "tenant", "understood", "upgrade", "welcome",
        "x_api_key",
    )  # fmt: skip

    def __init__(self) -> None:
        self.method = b""
        self.target = b""
        self.lines: list[bytes] = []
        self.understood = 0
        self.length = 0
        self.lengths = 0
        self.encodings = 0
        self.hosts = 0
        self.chunked = False
        self.expects_100 = False
        self.http_1_0 = False
        self.persistent = True
        self.upgrade = False
        self.named: set[bytes] | None = None
        self.authorizations = self.api_keys = 0
        self.held_bytes = REQUEST_BYTES
        self.welcome: Passage | Unwelcome | None = None
        self.tenant = ""
        self.priority_class = ""
        self.authorization = b""
        self.x_api_key = b""

    def understand(self, name: bytes, value: bytes) -> None:
        """One more field of those that are not copied. `name` in lower case."""
        self.understood += 1
        if name == b"host":
            self.hosts += 1
        elif name == b"content-length":
            self.lengths += 1
            self.length = int(value) if value.isdigit() and len(value) < 19 else -1
        elif name == b"authorization":
            self.authorizations += 1
            self.authorization = value
        elif name == b"x-api-key":
            self.api_keys += 1
            self.x_api_key = value
        elif name == b"transfer-encoding":
            self.encodings += 1
            self.chunked = value.strip().lower() == b"chunked"
        elif name == b"connection":
            named = {word.strip().lower() for word in value.split(b",")} - {
                b"close",
                b"keep-alive",
                b"upgrade",
                b"",
            }
            if named:
                self.named = (self.named or set()) | named
        elif name == b"expect":
            self.expects_100 = value.strip().lower() == b"100-continue"
        elif name == b"upgrade":
            self.upgrade = True
        elif name == PRIORITY_CLASS:
            self.priority_class = value.decode("latin-1")

    @property
    def fields(self) -> int:
        """Number of header fields."""
        return self.understood + len(self.lines) // 4

    def wrong(self) -> tuple[int, str, str] | None:
        """Why this head is refused: status, reason and sentence; None if it may pass."""
        if self.lengths and self.encodings:
            return 400, "bad-request", "Both Content-Length and Transfer-Encoding are given."
        if self.lengths > 1 or self.length < 0:
            return 400, "bad-request", "Content-Length is not one number."
        if self.encodings and (self.encodings > 1 or not self.chunked or self.http_1_0):
            return 501, "bad-request", "Only the transfer encoding chunked is understood."
        if self.method not in _METHODS:
            return 501, "method-unknown", "This method is not passed on."
        if not is_target(self.target):
            return 400, "bad-request", "The request target is not a path."
        if self.authorizations > 1 or self.api_keys > 1:
            return 400, "bad-request", "The API key is given more than once."
        if self.hosts != 1 and not (self.http_1_0 and self.hosts == 0):
            return 400, "bad-request", "Exactly one Host is needed."
        return None

    @property
    def has_body(self) -> bool:
        """A body comes after it."""
        return self.length > 0 or self.chunked

    @property
    def framing(self) -> bytes:
        """A head that says no more than how the body is delimited."""
        body = (
            b"transfer-encoding: chunked" if self.chunked else b"content-length: %d" % self.length
        )
        return b"POST / HTTP/1.1\r\nhost: gateway\r\n%b\r\n\r\n" % body

    def credentials(self) -> bytes:
        """The client's own credentials as lines, for an engine that asks for them itself."""
        lines = b""
        if self.authorization:
            lines = b"authorization: %b\r\n" % self.authorization
        if self.x_api_key:
            lines += b"x-api-key: %b\r\n" % self.x_api_key
        return lines

    def written(
        self, host: bytes, credentials: bytes, body_bytes: int, prefix: bytes = b""
    ) -> bytes:
        """The head as the engine gets it. `host`: the engine's, `credentials`: whole lines,
        `prefix`: put before the target.
        """
        lines = self.lines
        if self.named:
            lines = [
                piece
                for at in range(0, len(lines), 4)
                if lines[at].lower() not in self.named
                for piece in lines[at : at + 4]
            ]
        first = b"%b %b%b HTTP/1.%d\r\nhost: %b\r\n" % (
            self.method,
            prefix,
            self.target,
            0 if self.http_1_0 else 1,
            host,
        )
        length = (
            b"content-length: %d\r\n" % body_bytes
            if body_bytes or self.lengths or self.chunked
            else b""
        )
        return b"".join((first, *lines, credentials, length, b"\r\n"))
