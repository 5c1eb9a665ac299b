"""A connection waits no longer than it should, whatever the client does; over real sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest
import uvicorn

from barostat.core.bounds import PIPELINED, REQUEST_HEAD_BYTES
from barostat.twin_server import connection
from barostat.twin_server.asgi import Message, Receive, Scope, Send
from barostat.twin_server.connection import Connection

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def application(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answers after a moment; /much without an end."""

    def part(body: bytes, *, more: bool) -> Message:
        return {"type": "http.response.body", "body": body, "more_body": more}

    await asyncio.sleep(0.01)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while scope["path"] == "/much":
        await send(part(b"x" * 65536, more=True))
        await asyncio.sleep(0)
    await send(part(b"ok", more=False))


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(connection, "HEAD_S", 0.4)
    monkeypatch.setattr(connection, "UNREAD_S", 0.4)
    config = uvicorn.Config(
        application,
        http=Connection,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_level="critical",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def client(port: int) -> socket.socket:
    found = socket.create_connection(("127.0.0.1", port))
    found.settimeout(10)
    return found


def read_to_end(found: socket.socket) -> bytes:
    parts = []
    try:
        while part := found.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def read_until(found: socket.socket, what: bytes) -> None:
    """An answer comes in as many pieces as it likes."""
    read = b""
    while what not in read:
        part = found.recv(4096)
        assert part, read
        read += part


def test_a_silent_client_is_left(port: int) -> None:
    with client(port) as found:
        assert read_to_end(found) == b""


@pytest.mark.parametrize("first", [b"", GET])
def test_headers_that_come_byte_by_byte_have_to_end(port: int, first: bytes) -> None:
    with client(port) as found:
        if first:
            found.sendall(first)
            read_until(found, b"ok")
        began = time.monotonic()
        sent = 0
        with suppress(OSError):
            for byte in b"GET / HTTP/1.1\r\nX: " + b"x" * 500:
                found.sendall(bytes([byte]))
                sent += 1
                time.sleep(0.02)
        assert sent < 400, "the connection was not ended"
        assert time.monotonic() - began < 8


def test_a_request_that_takes_its_time_after_its_headers_is_answered(port: int) -> None:
    with client(port) as found:
        found.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
        time.sleep(0.6)
        found.sendall(b"body")
        assert b"200 OK" in found.recv(4096)


def test_headers_are_bounded_and_bodies_are_none(port: int) -> None:
    with client(port) as found:
        found.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * (REQUEST_HEAD_BYTES.most + 1))
        assert read_to_end(found).startswith(b"HTTP/1.1 400 ")
    with client(port) as found:
        body = b"x" * 2 * REQUEST_HEAD_BYTES.most
        found.sendall(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        assert found.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_so_many_requests_wait_on_one_connection_and_no_more(port: int) -> None:
    with client(port) as found:
        found.sendall(GET * PIPELINED.most)
        assert found.recv(4096).startswith(b"HTTP/1.1 200 ")
    with client(port) as found:
        found.sendall(GET * (PIPELINED.most + 10))
        assert b"HTTP/1.1 400 " in read_to_end(found)


def test_an_answer_that_nobody_reads_is_ended(port: int) -> None:
    with client(port) as found:
        found.sendall(b"GET /much HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(1.5)
        began = time.monotonic()
        assert len(read_to_end(found)) < 64 << 20
        assert time.monotonic() - began < 5
