"""A gateway without a network: clients and engines are byte strings, and everything that would
happen later happens when it is told to.

world = World("request: {maxOutputTokens: 100}")
client = world.client()
client.sends(chat(max_tokens=5))
engine = world.engine()          the connection that the gateway made
engine.heard                     what came there
engine.says(ok(b"{}"))
client.heard                     what came back
world.at_rest()                  nothing is held anywhere
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httptools

from barostat.admit.replica_news import Pool
from barostat.gateway.access_log import AccessLog
from barostat.gateway.asking import Asking
from barostat.gateway.bounds import Bounds
from barostat.gateway.client import ClientConnection
from barostat.gateway.desk import Desk
from barostat.gateway.messages.target import AllowedPath, Listing
from barostat.gateway.messages.tenants import KeyTable
from barostat.gateway.metrics import Metrics
from barostat.gateway.replica import Replica, upstream_address
from barostat.gateway.state import Gateway
from barostat.gateway.time_limits import PARTS, TICK_S, Rounds
from barostat.gateway.upstream import Carried, UpstreamConnection
from barostat.io.input_files.limits_file import parse

HEAD = "apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nspec:\n"


class Wire:
    """A transport that keeps what is written, and closes when the world goes on."""

    def __init__(self, world: World, protocol: Any, *, takes: bool = True) -> None:
        self.world = world
        self.protocol = protocol
        self.heard = b""
        self.closing = False
        self.aborted = False
        self.half_closed = False
        self.paused = False
        self.unread: list[Callable[[], None]] = []
        self.takes = takes
        self.untaken = 0
        self.lost = False
        self.high = 1 << 16

    def write(self, data: bytes) -> None:
        """Bytes for the other side."""
        if self.closing:
            return
        self.heard += bytes(data)
        if not self.takes:
            before, self.untaken = self.untaken, self.untaken + len(data)
            if before <= self.high < self.untaken:
                self.protocol.pause_writing()

    def writelines(self, parts: Any) -> None:
        """The same, in parts."""
        self.write(b"".join(parts))

    def write_eof(self) -> None:
        """Our side is closed."""
        self.half_closed = True

    def can_write_eof(self) -> bool:
        """As TCP."""
        return True

    def close(self) -> None:
        """Closed once everything else has happened."""
        self._ends(None)

    def abort(self) -> None:
        """Closed at once."""
        self.aborted = True
        self._ends(None)

    def _ends(self, error: Exception | None) -> None:
        if not self.closing:
            self.closing = True
            self.world.later.append(lambda: self.ends(error))

    def ends(self, error: Exception | None) -> None:
        """The connection is gone."""
        self.closing = True
        if not self.lost:
            self.lost = True
            self.protocol.connection_lost(error)

    def is_closing(self) -> bool:
        """True once closed."""
        return self.closing

    def pause_reading(self) -> None:
        """Nothing more is taken from the other side."""
        self.paused = True

    def resume_reading(self) -> None:
        """Take what the other side has sent or done meanwhile."""
        self.paused = False
        self.world.later.append(self._read_on)

    def _read_on(self) -> None:
        while self.unread and not self.paused:
            self.unread.pop(0)()

    def arrives(self, what: Callable[[], None]) -> None:
        """Something comes from the other side; it is noticed only while this side reads."""
        self.unread.append(what)
        self._read_on()

    def set_write_buffer_limits(self, high: int | None = None) -> None:
        """How much may lie here."""
        self.high = high or 1 << 16


class Side:
    """A client or an engine, seen from the other end of its wire."""

    def __init__(self, world: World, protocol: Any, *, takes: bool = True) -> None:
        self.world = world
        self.protocol = protocol
        self.wire = Wire(world, protocol, takes=takes)
        protocol.connection_made(self.wire)

    @property
    def heard(self) -> bytes:
        """What the gateway has written to it."""
        return self.wire.heard

    def sends(self, data: bytes) -> None:
        """Bytes to the gateway."""
        self.wire.arrives(lambda: self._read(data))
        self.world.goes_on()

    def _read(self, data: bytes) -> None:
        if not self.wire.closing:
            self.protocol.data_received(data)

    says = sends

    def leaves(self) -> None:
        """It is gone, without a word."""
        self.wire.arrives(lambda: self.wire.ends(ConnectionResetError()))
        self.world.goes_on()

    def ends(self) -> None:
        """It closes in good order."""
        self.wire.arrives(self._end)
        self.world.goes_on()

    def _end(self) -> None:
        self.protocol.eof_received()
        self.wire.ends(None)

    def takes_all(self) -> None:
        """It reads what has been lying for it."""
        self.wire.untaken, self.wire.takes = 0, True
        self.protocol.resume_writing()


class FakeReplica(Replica):
    """A replica whose connections are wires. `up`: it takes connections."""

    world: World
    up = True
    __slots__ = ()

    def carry(self, exchange: Carried, *, fresh: bool = False) -> None:
        """As the real one, with a connection that is there soon."""
        while self.idle and not fresh:
            kept = self.idle.pop()
            if not kept.transport.is_closing():
                exchange.connected(kept)
                return
        self.world_of().dials.append((self, exchange))

    def world_of(self) -> World:
        """The world that it is in."""
        return WORLDS[self.name]


WORLDS: dict[str, World] = {}


class World:
    """One gateway with its clients and engines, and its own time."""

    def __init__(
        self,
        spec: str = "request: {maxOutputTokens: 1000}",
        *,
        replicas: int = 1,
        pool_tokens: int | None = 100_000,
        keys: dict[str, str] | None = None,
        bounds: Bounds | None = None,
        shadow: bool = False,
        log: AccessLog | None = None,
        engine_key: str = "",
        longest_tokens: int | None = 32_768,
        allowed_paths: tuple[AllowedPath, ...] = (),
    ) -> None:
        self.now = 1000.0
        self.later: list[Callable[[], None]] = []
        self.dials: list[tuple[FakeReplica, Carried]] = []
        self.engines: list[Side] = []
        self.down: set[str] = set()
        self.slow_dials = False
        limits = parse(HEAD + "  " + spec.replace("\n", "\n  "))
        self.bounds = bounds or Bounds()
        self.rounds = Rounds(lambda: self.now)
        self.metrics = Metrics()
        addresses = [upstream_address(f"http://engine-{number}:8000") for number in range(replicas)]
        self.replicas = [
            FakeReplica(address, self.bounds, lambda: self.now) for address in addresses
        ]
        for replica in self.replicas:
            WORLDS[replica.name] = self
        self.desk = Desk(
            limits, self.replicas, self.metrics, lambda: self.now, self.later.append, shadow=shadow
        )
        self.gateway = Gateway(
            self.desk,
            self.rounds,
            self.metrics,
            bounds=self.bounds,
            keys=KeyTable(keys) if keys is not None else None,
            engine_key=engine_key,
            log=log,
            listing=Listing(allowed_paths),
        )
        for replica in self.replicas:
            self.desk.stands(replica, "up")
            if pool_tokens is not None:
                self.desk.has_pool(replica, Pool(pool_tokens, 16, 64, longest_tokens))

    def counts(self, tokens: int) -> None:
        """Every input that is counted has so many tokens from now on."""

        def counter(one: Asking) -> None:
            assert one.shape is not None
            one.counted(self.desk.ask(one, one.shape, tokens))

        self.desk.counter = counter

    def client(self, *, takes: bool = True) -> Side:
        """A new client."""
        return Side(self, ClientConnection(self.gateway), takes=takes)

    def goes_on(self) -> None:
        """What was to happen later happens, connections included."""
        while self.later or (self.dials and not self.slow_dials):
            while self.later:
                self.later.pop(0)()
            while self.dials and not self.slow_dials:
                replica, exchange = self.dials.pop(0)
                if replica.name in self.down:
                    exchange.not_connected()
                    continue
                side = Side(self, UpstreamConnection(replica))
                self.engines.append(side)
                if exchange.waits_for_connection:
                    exchange.connected(side.protocol)
                else:
                    replica.give_back(side.protocol)

    def engine(self, number: int = -1) -> Side:
        """A connection to an engine, the last one made."""
        return self.engines[number]

    def passes(self, seconds: float) -> None:
        """Time goes by, tick by tick."""
        for _ in range(int(seconds / TICK_S) + PARTS):
            self.now += TICK_S
            self.rounds.tick()
            self.goes_on()

    def at_rest(self) -> None:
        """Nothing is held anywhere: not in the ledger, not in a queue, not in memory."""
        ledger = self.desk.ledger
        assert ledger.reservations == {}
        assert ledger.queued == 0
        assert self.desk.waiting == {}
        assert all(
            not replica.live and replica.held_tokens == 0 for replica in ledger.replicas.values()
        )
        assert all(replica.active == 0 for replica in self.replicas)
        assert self.gateway.buffered_bytes == 0


def post(path: str, document: Any, *headers: str, length: bool = True) -> bytes:
    """The bytes of a POST."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: gateway", "Content-Type: application/json", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chat(text: str = "hello", *headers: str, **more: Any) -> bytes:
    """A chat completion request."""
    return post(
        "/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": text}], **more},
        *headers,
    )


def ok(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """A response with a length."""
    lines = [
        b"HTTP/1.1 " + status,
        b"content-type: application/json",
        b"content-length: %d" % len(body),
        *headers,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(
    *chunks: bytes, kind: bytes = b"text/event-stream; charset=utf-8", end: bool = True
) -> bytes:
    """A response in chunks."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"".join(chunk(one) for one in chunks) + (b"0\r\n\r\n" if end else b"")


def chunk(data: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(document: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(document).encode() + b"\n\n"


class Heard:
    """Whole requests in what an engine heard."""

    def __init__(self, data: bytes) -> None:
        self.requests: list[tuple[bytes, bytes, dict[bytes, bytes], bytes]] = []
        self._parser = httptools.HttpRequestParser(self)
        self._new()
        self._parser.feed_data(data)

    def _new(self) -> None:
        self._url, self._body = b"", b""
        self._headers: dict[bytes, bytes] = {}

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        assert name.lower() not in self._headers
        self._headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self.requests.append((self._parser.get_method(), self._url, self._headers, self._body))
        self._new()


def answered(request: bytes, response: bytes) -> tuple[World, Side, Side]:
    """A world in which one client has asked and the engine has said that, the client, and the
    engine's connection.
    """
    world = World()
    client = world.client()
    client.sends(request)
    engine = world.engine()
    engine.says(response)
    return world, client, engine
