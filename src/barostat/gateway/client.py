"""One client's connection: requests are read within bounds, answered in order, and a client that
has gone is known at once.

A request's head is rebuilt from its parsed fields (`request_head`); its body is kept until it is
whole, because a decision needs it and because only what is still there can be sent again. While an
answer is under way the connection is read on: that is how the gateway notices that a client has
gone, whatever it sent before.
"""

from __future__ import annotations

import asyncio
import time
from hmac import compare_digest

import httptools

from barostat.gateway.client_side import ClientSide
from barostat.gateway.exchange import Exchange
from barostat.gateway.messages.body_buffer import BodyBuffer
from barostat.gateway.messages.refusal_bodies import answer
from barostat.gateway.messages.request_head import (
    FIELD_BYTES,
    NOT_PASSED_ON,
    REQUEST_BYTES,
    RequestHead,
    Unwelcome,
)
from barostat.gateway.messages.routes import Route
from barostat.gateway.state import Gateway

_WRITE_AHEAD_BYTES = 256 << 10
_LINGER_S = 2.0
_DISCARDED_BYTES = 64 << 20
_UNWELCOME_BYTES = 64 << 10
"""Bytes of a body that are read, and not kept, so that a connection survives a refusal."""


_TOO_MANY = "The gateway holds too many requests: their bodies take all the memory that they may."


class _Refuse(Exception):
    """The parser is left: this request is answered without an engine, and the connection ends."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        self.answer = (status, reason, message)


class ClientConnection(ClientSide):
    """One connection from a client: a protocol of asyncio's by what it can do (a base class of
    asyncio's could not be compiled).
    """

    __slots__ = (
        "began_at",
        "body",
        "current",
        "deadline",
        "discarded",
        "gateway",
        "head",
        "head_bytes",
        "held_bytes",
        "key",
        "parser",
        "part",
        "pipeline",
        "state",
        "tenant",
    )  # fmt: skip

    def __init__(self, gateway: Gateway) -> None:
        super().__init__()
        self.gateway = gateway
        self.part = 0
        self.parser = httptools.HttpRequestParser(self)
        self.state = "idle"
        self.deadline = 0.0
        self.began_at = 0.0  # the request that is being read, with its first byte
        self.head = RequestHead()
        self.head_bytes = 0
        self.body = BodyBuffer()
        self.held_bytes = 0  # of the request that is being read, as the gateway accounts for it
        self.current: Exchange | None = None
        self.key = b""
        self.tenant: str | None = None  # whose `key` is, the one that the last request brought
        self.pipeline: list[Exchange] = []
        self.discarded = 0

    # -- the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there; excess connections are rejected."""
        self.transport = transport  # type: ignore[assignment]
        gateway = self.gateway
        gateway.clients.add(self)
        gateway.rounds.add(self)
        self.deadline = gateway.rounds.now + gateway.bounds.idle_s
        self.transport.set_write_buffer_limits(high=_WRITE_AHEAD_BYTES)
        if len(gateway.clients) > gateway.bounds.connections:
            self.refuse(503, "too-many-connections", "The gateway has too many connections.")

    def data_received(self, data: bytes) -> None:
        """Bytes go through the parser, which calls the methods below."""
        if self.closing:
            self.discarded += len(data)
            if self.discarded > _DISCARDED_BYTES:
                self.transport.abort()
            return
        if self.state == "idle":
            self._begins()
        self.head_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._not_upgraded(data[upgrade.args[0] :])
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            if not isinstance(cause, _Refuse):
                raise
            self.refuse(*cause.answer)
        except httptools.HttpParserError as error:
            self.refuse(
                400, "bad-request", f"The request is not valid HTTP/1.1: {str(error)[:100]}."
            )
        if self.head_bytes > self.gateway.bounds.head_bytes and self.state != "idle":
            self.refuse(
                431,
                "head-too-large",
                f"The request's {'head is' if self.state == 'head' else 'trailers are'} too large.",
            )
        if self.state != "idle" and not self.closing:
            self._hold(self._received_bytes())
            if self.gateway.buffered_bytes > self.gateway.bounds.buffered_bytes:
                self.refuse(503, "too-many-bodies", _TOO_MANY)

    def _received_bytes(self) -> int:
        """Memory that the request which is being read takes."""
        if self.state == "head":
            return REQUEST_BYTES + len(self.head.lines) // 4 * FIELD_BYTES + self.head_bytes
        return self.head.held_bytes + self.body.held_bytes

    def _hold(self, held_bytes: int) -> None:
        self.gateway.buffered_bytes += held_bytes - self.held_bytes
        self.held_bytes = held_bytes

    def _not_upgraded(self, rest: bytes) -> None:
        """An upgrade is not made, as a server may choose; this request's body follows, if it has
        one, or the next request.
        """
        parser = self.parser = httptools.HttpRequestParser(self)
        head = self.head
        if head.has_body and self.state == "body" and not self.closing:
            parser.feed_data(head.framing)
            self.head = head
        if rest:
            self.data_received(rest)

    def eof_received(self) -> None:
        """The client has closed its side: it is taken for gone, and the transport closes."""

    def connection_lost(self, _: Exception | None) -> None:
        """Nothing is left of it: not at the engine, not in the ledger, not in memory."""
        gateway = self.gateway
        gateway.clients.discard(self)
        gateway.rounds.remove(self)
        self.closing = True
        self._hold(0)
        self.body.take()
        for waiting in self.pipeline:
            waiting.forget()
        self.pipeline = []
        if self.current is not None:
            exchange, self.current = self.current, None
            exchange.client_gone()
        self.parser = None  # type: ignore[assignment]  # it holds this object

    def pause_writing(self) -> None:
        """The client takes less than the engine gives: the engine is not read until it does."""
        self.paused_at = self.gateway.rounds.now
        if self.current is not None and self.current.upstream is not None:
            self.current.upstream.transport.pause_reading()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self.paused_at = 0.0
        if self.current is not None and self.current.upstream is not None:
            self.current.upstream.transport.resume_reading()

    # -- the parser

    def on_message_begin(self) -> None:
        """Parser callback: a request begins."""
        self.head = RequestHead()
        if self.state != "head":
            self.head_bytes = 0
            self._begins()

    def on_url(self, url: bytes) -> None:
        """A piece of its target."""
        self.head.target += url

    def on_header(self, name: bytes, value: bytes | None) -> None:
        """One field; those after the body (trailers) are not passed on."""
        if self.state != "head":
            return
        lower = name.lower()
        head = self.head
        if lower in NOT_PASSED_ON:
            head.understand(lower, value or b"")
        else:
            head.lines += (name, b": ", value or b"", b"\r\n")
            if len(head.lines) > 4 * self.gateway.bounds.headers:
                raise _Refuse(431, "head-too-large", "The request's head has too many fields.")

    def on_headers_complete(self) -> None:
        """The head is whole: it may be refused before its body comes."""
        head, parser, bounds = self.head, self.parser, self.gateway.bounds
        head.method = parser.get_method()
        head.http_1_0 = parser.get_http_version() == "1.0"
        head.persistent = (
            not head.http_1_0 and parser.should_keep_alive()
        )  # what passes back does not tell an old client that it is kept
        line_bytes = len(b"".join(head.lines))
        if (
            head.fields > bounds.headers
            or line_bytes > bounds.head_bytes
            or len(head.target) > bounds.head_bytes
        ):
            raise _Refuse(431, "head-too-large", "The request's head is too large.")
        head.held_bytes += line_bytes + len(head.target) + len(head.lines) // 4 * FIELD_BYTES
        if (wrong := head.wrong()) is not None:
            raise _Refuse(*wrong)
        if head.length > bounds.body_bytes:
            raise _Refuse(
                413, "body-too-large", f"The request body is larger than {bounds.body_bytes} bytes."
            )
        welcome = head.welcome = self.gateway.welcome(head, self)
        if head.expects_100 and head.has_body and self.current is None:
            if isinstance(welcome, Unwelcome):
                raise _Refuse(*welcome[:3])
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.head_bytes = (
            0  # from here on of what is no body: trailers are kept by the parser until they end
        )
        self._in("body", bounds.body_s)

    def on_body(self, data: bytes) -> None:
        """A piece of its body, within the bounds of this body and of all together."""
        bounds, body = self.gateway.bounds, self.body
        self.head_bytes = 0
        welcome = self.head.welcome
        if isinstance(welcome, Unwelcome):
            self.discarded += len(data)
            if self.discarded > _UNWELCOME_BYTES:
                raise _Refuse(*welcome[:3])
            return
        body.add(data)
        if body.size > bounds.body_bytes:
            raise _Refuse(
                413, "body-too-large", f"The request body is larger than {bounds.body_bytes} bytes."
            )
        if self.pipeline and self._pipelined_bytes() > bounds.body_bytes:
            raise _Refuse(
                413, "body-too-large", "The bodies of requests sent ahead are too large together."
            )

    def on_message_complete(self) -> None:
        """The request is whole: it is handled after those before it are answered."""
        if self.closing or (
            self.head.upgrade and self.head.has_body and self.parser.should_upgrade()
        ):  # its body is still to come
            return
        exchange = Exchange(self, self.gateway, self.head, self.body.take())
        self._hold(0)
        self._in("idle", self.gateway.bounds.idle_s)
        self.head_bytes = self.discarded = 0
        if self.gateway.buffered_bytes > self.gateway.bounds.buffered_bytes:
            exchange.forget()
            raise _Refuse(503, "too-many-bodies", _TOO_MANY)
        if self.current is None and not self.pipeline:
            self.current = exchange
            exchange.begin()
        else:
            self.pipeline.append(exchange)
            if len(self.pipeline) > self.gateway.bounds.pipelined:
                raise _Refuse(
                    400,
                    "too-many-pipelined",
                    "Too many requests were sent without waiting for an answer.",
                )

    def _pipelined_bytes(self) -> int:
        return self.body.size + sum(waiting.held_bytes for waiting in self.pipeline)

    def tenant_of(self, key: bytes) -> str | None:
        """The tenant whose key this is, None for no one's: looked up once for all requests that
        bring the same.
        """
        keys = self.gateway.keys
        if keys is not None and not compare_digest(key, self.key):
            self.key, self.tenant = key, keys.tenant_of(key)
        return self.tenant

    @property
    def is_answering(self) -> bool:
        """A request has come whole, and its answer is not complete."""
        return self.current is not None

    @property
    def is_busy(self) -> bool:
        """A request has not come whole, or its answer is not complete, or not sent."""
        if self.current is not None:
            return True
        if self.closing:
            return self.transport.get_write_buffer_size() > 0
        return self.state != "idle"

    # -- what the exchange tells

    def answered(self, *, keep: bool) -> None:
        """The answer under way is complete; handle the next request or close the connection."""
        self.current = None
        if not keep or self.closing or self.gateway.draining:
            self.end()
        elif self.pipeline:
            self._next()
        else:
            bounds = self.gateway.bounds
            allowed_s = (
                bounds.idle_s
                if self.state == "idle"
                else bounds.head_s
                if self.state == "head"
                else bounds.body_s
            )
            self.deadline = self.gateway.rounds.now + allowed_s

    def _next(self) -> None:
        self.current = self.pipeline.pop(0)
        self.current.begin()

    def end(self) -> None:
        """Close the connection after sending what was written."""
        self.closing = True
        self.deadline = self.gateway.rounds.now + self.gateway.bounds.stalled_s
        for waiting in self.pipeline:
            waiting.forget()
        self.pipeline = []
        if not self.transport.is_closing():
            self.transport.close()

    def cut(self) -> None:
        """The answer broke off: the connection ends, so that the client can tell."""
        self.closing = True
        self.transport.abort()

    def refuse(self, status: int, reason: str, message: str) -> None:
        """An answer to what is no whole request; then nothing more is read but to let the answer
        arrive.
        """
        if self.closing:
            return
        self.closing = True
        gateway, head = self.gateway, self.head
        passage = gateway.listing.find(head.method, head.target)
        route: Route = "other" if passage is None else passage.route
        unread = Exchange(self, gateway, self.head, b"")
        unread.forget()
        unread.began_at = self.began_at or unread.began_at
        gateway.refused_unread(unread, route, status, reason)
        if (
            self.current is not None or self.pipeline
        ):  # answers before this one are not complete: no place for another
            self.transport.abort()
            return
        self.transport.write(answer(status, reason, message, route=route, close=True))
        self._hold(0)
        self.body.take()
        self.deadline = gateway.rounds.now + _LINGER_S
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()

    # -- the end of the gateway

    def close_if_idle(self) -> None:
        """The gateway takes no more connections: this one closes unless something is under way."""
        if self.current is None and self.state == "idle":
            self.end()

    def drain(self) -> None:
        """The gateway ends: what is under way ends properly where it can."""
        if self.current is not None:
            self.current.drain()

    def cut_off(self) -> None:
        """Abort the current exchange and close the connection, at shutdown."""
        if self.current is not None:
            self.current.cut_off()
        self.cut()

    # -- time

    def _begins(self) -> None:
        self.began_at = time.perf_counter()
        self._in("head", self.gateway.bounds.head_s)

    def _in(self, state: str, for_s: float) -> None:
        self.state = state
        self.deadline = self.gateway.rounds.now + for_s

    def look(self, now: float) -> None:
        """Once a second: has anything here run out of time?"""
        if self.paused_at and now - self.paused_at > self.gateway.bounds.stalled_s:
            self.gateway.metrics.timed_out("client-stalled")
            self.transport.abort()
        elif self.closing:
            if now > self.deadline + _LINGER_S:
                self.transport.abort()
        elif self.current is not None:
            self.current.look(now)
        elif now > self.deadline:
            if self.state == "idle":
                self.end()
            else:
                self.gateway.metrics.timed_out(self.state)
                self.refuse(
                    408, "request-time-out", f"The request's {self.state} did not arrive in time."
                )
