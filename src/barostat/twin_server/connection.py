"""A connection of uvicorn's that waits no longer than it should: for the end of headers, for a
client that does not read.

uvicorn by itself ends a connection that is idle behind an answer, and no other; httptools keeps
headers however long they are.
Source: uvicorn 0.54, HttpToolsProtocol (data_received, pause_writing); httptools 0.9 (an error in a
callback is a parser error).
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from barostat.core.bounds import PIPELINED, REQUEST_HEAD_BYTES

HEAD_S = 30.0
"""How long a client may take for the headers of a request, or be silent before the first."""
UNREAD_S = 120.0
"""How long a client may leave an answer unread."""
_READ_BYTES = 1 << 16
"""What is read, and parsed, in one go. Source: CPython 3.11,
asyncio.selector_events._SelectorTransport.max_size.
"""


class Connection(HttpToolsProtocol):
    """A client connection with limits on time and size."""

    _ending: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first request is waited for."""
        super().connection_made(transport)
        transport.max_size = _READ_BYTES  # type: ignore[attr-defined]
        self._ending = self.loop.call_later(HEAD_S, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        super().connection_lost(exc)
        for timer in (self._ending, self._unread):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Parse the received data; close the connection if its headers are too long."""
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > REQUEST_HEAD_BYTES.most:
                self.send_400_response("Invalid HTTP request received.")

    def on_message_begin(self) -> None:
        """The headers of a request begin."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        if self._ending is None:
            self._ending = self.loop.call_later(HEAD_S, self.transport.abort)

    def on_headers_complete(self) -> None:
        """They are complete: the request is answered, or waits for those before it.

        Errors: ValueError where too many wait, which the parser makes an error of its own.
        """
        if len(self.pipeline) >= PIPELINED.most:
            raise ValueError("too many requests wait on this connection")
        self._in_head = False
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Transport callback: the client reads again."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
