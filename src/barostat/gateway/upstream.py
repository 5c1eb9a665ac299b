"""One connection to an engine: a request is written at once, its answer passed on as it comes, and
the connection kept for the next.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from barostat.gateway.messages.request_head import RequestHead
from barostat.gateway.messages.response_framing import CLOSE, Framing, rewritten

_SMALL_BODY_BYTES = 16 << 10
_MOST_INTERIM = 32
"""Interim answers (100, 103) that are read before one answer."""


class Carried(Protocol):
    """User of a connection: a client's exchange, or a query of the gateway itself. `added`: lines
    for the head of its answer.
    """

    head: RequestHead
    added: bytes

    @property
    def waits_for_connection(self) -> bool:
        """A connection that is made for it would be used."""

    def connected(self, upstream: UpstreamConnection) -> None:
        """There is a connection to send on."""

    def not_connected(self) -> None:
        """The engine takes no connection."""

    def head_came(self, framing: Framing) -> None:
        """Called with the framing when the head of the response has arrived."""

    def passed_on(self, data: bytes) -> None:
        """A part of the answer, its head the first."""

    def complete(self) -> None:
        """Called when the response is complete."""

    def engine_closed(self, *, unanswered: bool) -> None:
        """The connection is gone. `unanswered`: it was a kept one, and not a byte came back on
        it.
        """

    def engine_failed(self, kind: str) -> None:
        """Called when the engine sent no valid response."""


class ConnectionPool(Protocol):
    """Keeps the connections to one engine. `host`: the Host field; `path`: what stands before every
    target.
    """

    host: bytes
    path: bytes

    def give_back(self, connection: UpstreamConnection) -> None:
        """The connection waits for the next exchange."""

    def lost(self, connection: UpstreamConnection) -> None:
        """Called when a connection was closed."""


class UpstreamConnection:
    """Carries one exchange at a time. `reused`: it has answered one before, so that the engine may
    have closed it by now.

    A protocol of asyncio's by what it can do, as the client's connection is.
    """

    __slots__ = (
        "exchange",
        "framing",
        "has_head",
        "held",
        "idle_since",
        "interim",
        "pool",
        "reused",
        "transport",
    )

    def __init__(self, pool: ConnectionPool) -> None:
        self.pool = pool
        self.transport: asyncio.Transport = None  # type: ignore[assignment]
        self.exchange: Carried | None = None
        self.framing = Framing()
        self.has_head = False
        self.held = b""
        self.reused = False
        self.interim = 0
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The engine has taken the connection."""
        self.transport = transport  # type: ignore[assignment]

    def send(self, exchange: Carried, head: bytes, body: bytes) -> None:
        """The request is on its way, in one write."""
        self.exchange = exchange
        self.framing = Framing()
        self.has_head = False
        self.held = b""
        self.interim = 0
        if len(body) <= _SMALL_BODY_BYTES:
            self.transport.write(head + body)
        else:
            self.transport.writelines((head, body))

    def data_received(self, data: bytes) -> None:
        """A part of the answer: what belongs to it goes to the client, in one write."""
        exchange, framing = self.exchange, self.framing
        if exchange is None:  # it speaks without having been asked
            self.transport.abort()
            return
        if self.has_head:
            used = framing.body(data)
            if framing.broken:
                self._broken()
                return
            exchange.passed_on(data if used == len(data) else data[:used])
        else:
            if self.held:
                data, self.held = self.held + data, b""
            while True:
                end = framing.head_of(data, to_head_request=exchange.head.method == b"HEAD")
                if framing.broken:
                    self._broken()
                    return
                if not end:
                    self.held = data
                    return
                if framing.status >= 200:
                    break
                # 100 and 103 are not for the client; 101 answers an upgrade that was not asked for
                self.interim += 1
                if framing.status == 101 or self.interim > _MOST_INTERIM:
                    self._broken()
                    return
                data = data[end:]
                framing = self.framing = Framing()
            self.has_head = True
            used = end
            if not framing.done and len(data) > end:
                used += framing.body(data[end:])
                if framing.broken:
                    self._broken()
                    return
            exchange.head_came(framing)
            if framing.hop_by_hop or exchange.added or 300 <= framing.status < 400:
                pool = self.pool
                head = rewritten(data[:end], framing, exchange.added, pool.host, pool.path)
                exchange.passed_on(head + data[end:used])
            else:
                exchange.passed_on(data if used == len(data) else data[:used])
        if framing.done and self.exchange is exchange:
            self._done(exchange, clean=used == len(data))

    def _done(self, exchange: Carried, *, clean: bool) -> None:
        self.exchange = None
        self.held = b""
        if clean and self.framing.keep_alive and not self.transport.is_closing():
            self.reused = True
            self.pool.give_back(self)
        else:
            self.transport.close()
        exchange.complete()

    def _broken(self) -> None:
        exchange, self.exchange = self.exchange, None
        self.transport.abort()
        if exchange is not None:
            exchange.engine_failed("bad-answer")

    def connection_lost(self, error: Exception | None) -> None:
        """The engine has closed: the end of an answer that has no other, or of the exchange."""
        self.pool.lost(self)
        exchange, self.exchange = self.exchange, None
        if exchange is None:
            return
        if self.has_head and self.framing.mode == CLOSE and error is None:
            exchange.complete()
        else:
            exchange.engine_closed(unanswered=self.reused and not self.has_head and not self.held)

    def eof_received(self) -> None:
        """The engine has closed its side: the transport closes."""

    def pause_writing(self) -> None:
        """A request is kept whole until it is sent: nothing is to be held back."""

    def resume_writing(self) -> None:
        """Transport callback: the engine reads again."""

    def leave(self) -> None:
        """The exchange needs nothing more of it: the engine notices the closed connection and
        aborts the request.
        """
        self.exchange = None
        self.transport.abort()
