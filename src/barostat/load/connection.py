"""Connections to one server, kept and used again: a request is written at once, its answer handed
on as it comes.

Callbacks and no task per request: two thousand streams are two thousand protocols on one loop.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
import time
from dataclasses import dataclass, field
from typing import Protocol

import httptools

CONNECT_S = 10.0


class Carried(Protocol):
    """One request on a connection, and its response."""

    request: bytes

    def answered(self, status: int, now: float) -> None:
        """Record the status of the response."""

    def body(self, data: bytes, now: float) -> None:
        """A part of the answer."""

    def complete(self, now: float) -> None:
        """Called when the response is complete."""

    def failed(self, why: str, now: float) -> None:
        """Record a missing or broken-off response."""


@dataclass(slots=True, repr=False)
class Connections:
    """All connections to one server. `opened`: how many were made."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    opened: int = 0
    _idle: list[Connection] = field(default_factory=list)
    _all: set[Connection] = field(default_factory=set)
    _opening: set[asyncio.Task[None]] = field(default_factory=set)

    def send(self, exchange: Carried) -> None:
        """The request is on its way: on a kept connection, else on a new one."""
        while self._idle:
            kept = self._idle.pop()
            if not kept.transport.is_closing():
                kept.begin(exchange)
                return
        self.open(exchange)

    def open(self, exchange: Carried) -> None:
        """Send the request on a connection of its own."""
        task = asyncio.get_running_loop().create_task(self._open(exchange))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, exchange: Carried) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_S):
                _, made = await loop.create_connection(
                    lambda: Connection(self), self.host, self.port, ssl=self.tls
                )
        except (OSError, TimeoutError) as error:
            exchange.failed(_no_connection(error), time.perf_counter())
            return
        self.opened += 1
        made.begin(exchange)

    def joined(self, one: Connection) -> None:
        """Called when the connection is established."""
        self._all.add(one)

    def lost(self, one: Connection) -> None:
        """Called when the connection is closed."""
        self._all.discard(one)

    def give_back(self, one: Connection) -> None:
        """Return a connection to the idle ones."""
        self._idle.append(one)

    def close(self) -> None:
        """Nothing is open or being opened; the server sees every stream end."""
        for task in list(self._opening):
            task.cancel()
        for one in list(self._all):
            one.exchange = None
            one.transport.abort()


def _no_connection(error: BaseException) -> str:
    if isinstance(error, TimeoutError) and not getattr(error, "errno", None):
        return f"no connection within {CONNECT_S:g} s"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "this machine has no file descriptors left (ulimit -n)"
    return "no connection"


class Connection(asyncio.Protocol):
    """One. Carries one exchange at a time; a kept one that the server has closed meanwhile is
    replaced without a word.
    """

    __slots__ = ("exchange", "has_head", "owner", "parser", "reused", "transport")

    def __init__(self, owner: Connections) -> None:
        self.owner = owner
        self.transport: asyncio.Transport = None  # type: ignore[assignment]
        self.exchange: Carried | None = None
        self.parser = httptools.HttpResponseParser(self)
        self.has_head = False
        self.reused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.owner.joined(self)

    def begin(self, exchange: Carried) -> None:
        """Send a request."""
        self.exchange, self.has_head = exchange, False
        self.transport.write(exchange.request)

    def data_received(self, data: bytes) -> None:
        """A part of the answer."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail("no HTTP answer")

    def on_headers_complete(self) -> None:
        """Parser callback: pass the status on."""
        status = self.parser.get_status_code()
        if status >= 200 and self.exchange is not None:
            self.has_head = True
            self.exchange.answered(status, time.perf_counter())

    def on_body(self, data: bytes) -> None:
        """A part of the body."""
        if self.exchange is not None:
            self.exchange.body(data, time.perf_counter())

    def on_message_complete(self) -> None:
        """The answer is whole: the connection is free, if it is kept."""
        exchange = self.exchange
        if exchange is None or not self.has_head:
            return
        self.exchange = None
        if self.parser.should_keep_alive() and not self.transport.is_closing():
            self.reused = True
            self.owner.give_back(self)
        else:
            self.transport.close()
        exchange.complete(time.perf_counter())

    def _fail(self, why: str) -> None:
        exchange, self.exchange = self.exchange, None
        self.transport.abort()
        if exchange is not None:
            exchange.failed(why, time.perf_counter())

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        """Transport callback: the server closed the connection."""
        self.owner.lost(self)
        exchange, self.exchange = self.exchange, None
        if exchange is None:
            return
        if self.reused and not self.has_head:
            self.owner.open(exchange)
        else:
            exchange.failed(
                "connection closed in the middle of the answer"
                if self.has_head
                else "connection closed",
                time.perf_counter(),
            )
