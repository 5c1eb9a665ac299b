"""One line per request, without a word of a prompt or a key: written a few times a second, and
never in the way of a request.

`reason`: why the gateway itself has answered no, or why an answer of an engine is not whole; empty
if it is.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from barostat.core.errors import InputError
from barostat.gateway.asking import Asking
from barostat.gateway.messages.usage import Usage
from barostat.gateway.say import say

_LINES_HELD = 20_000
# every text in it is one of a short list, or a name from a file of ours: nothing needs an escape
_LINE = (
    b'{"at":%.3f,"method":"%b","route":"%b","status":%d,"reason":"%b","tenant":"%b","replica":"%b","durationSeconds":%.6f,"firstByteSeconds":%.6f,'
    b'"sentBytes":%d,"stream":%b,"inputTokens":%b,"outputTokens":%b}\n'
)

_Ended = tuple[float, bytes, str, int, str, str, str, float, float, int, bool, Usage]


class AccessLog:
    """Access log that buffers lines and writes them on each tick. `dropped`: lines lost because the
    buffer was full.
    """

    def __init__(self, path: str) -> None:
        """`path`: a file to append to, "-" for standard error. Errors: InputError where it cannot
        be written.
        """
        self._path = path
        self._file = self._opened()
        self._lines: list[_Ended] = []
        self.dropped = 0

    def _opened(self) -> int:
        try:
            return (
                2
                if self._path == "-"
                else os.open(
                    Path(self._path), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o640
                )
            )
        except OSError as error:
            raise InputError(error.strerror or str(error), self._path) from None

    def reopen(self) -> None:
        """Reopen the file after log rotation. If it cannot be opened, keep writing to the old one."""
        self.flush()
        try:
            before, self._file = self._file, self._opened()
        except InputError as error:
            say(f"{error}; the access log before is written on")
            return
        if before > 2:
            os.close(before)

    def note(self, exchange: Asking, usage: Usage) -> None:
        """Queue the log line of a finished exchange; it is dropped if too many are queued."""
        if len(self._lines) >= _LINES_HELD:
            self.dropped += 1
            return
        self._lines.append(
            (
                time.time(), exchange.head.method, exchange.route, exchange.status, exchange.reason, exchange.tenant, exchange.served_by,
                time.perf_counter() - exchange.began_at, exchange.first_byte_s,
                exchange.passed_bytes, exchange.stream, usage,
            )
        )  # fmt: skip

    def flush(self, _: float = 0.0) -> None:
        """Write the buffered lines; if the file cannot be written, lines are lost, but no requests."""
        if self._lines:
            text, self._lines = b"".join(map(_line, self._lines)), []
            try:
                while text:
                    text = text[os.write(self._file, text) :]
            except OSError:
                self.dropped += text.count(b"\n")


def _line(ended: _Ended) -> bytes:
    (
        at,
        method,
        route,
        status,
        reason,
        tenant,
        replica,
        took_s,
        first_byte_s,
        passed_bytes,
        stream,
        (seen, made),
    ) = ended
    return _LINE % (
        at, method, route.encode(), status, reason.encode(), tenant.encode(), replica.encode(), took_s, first_byte_s,
        passed_bytes, b"true" if stream else b"false",
        b"null" if seen is None else b"%d" % seen, b"null" if made is None else b"%d" % made,
    )  # fmt: skip
