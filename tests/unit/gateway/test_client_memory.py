"""What a client can make the gateway keep: it is bounded and accounted for, also before a key is
known to be right.
"""

from __future__ import annotations

import pytest
from tests.support.gateway_wire import World, chat

from barostat.gateway.bounds import Bounds

KEYS = {"right": "red"}
BODY = b"x" * 50_000


def head(*lines: str, length: int = len(BODY)) -> bytes:
    fields = ("POST /v1/chat/completions HTTP/1.1", "Host: x", f"Content-Length: {length}", *lines)
    return "\r\n".join(fields).encode() + b"\r\n\r\n"


@pytest.mark.parametrize("key", ["", "Authorization: Bearer wrong", "X-Api-Key: wrong"])
def test_a_body_with_a_wrong_key_is_not_kept(key: str) -> None:
    world = World(keys=KEYS)
    client = world.client()
    client.sends(head(key) if key else head())
    client.sends(BODY[:-1])
    assert world.gateway.buffered_bytes < 10_000
    client.sends(BODY[-1:] + chat("x", "Authorization: Bearer right", max_tokens=5))
    assert client.heard.startswith(b"HTTP/1.1 401 ")
    assert len(world.engines) == 1  # the connection lives, and the next request has its answer
    client.leaves()
    world.at_rest()


def test_a_large_body_with_a_wrong_key_ends_the_connection() -> None:
    world = World(keys=KEYS)
    client = world.client()
    client.sends(head(length=10 << 20))
    client.sends(BODY)
    assert client.heard == b""
    client.sends(BODY)
    assert client.heard.startswith(b"HTTP/1.1 401 ")
    assert b"connection: close" in client.heard.lower()
    client.leaves()
    world.at_rest()


@pytest.mark.parametrize(
    ("lines", "target", "status"),
    [
        (("Authorization: Bearer wrong",), b"/v1/chat/completions", b"401"),
        (("Authorization: Bearer right",), b"/sleep", b"404"),
        (("Authorization: Bearer right",), b"/v1/chat/completions", b"100"),
    ],
)
def test_a_client_that_waits_for_100_is_told_no_at_once(
    lines: tuple[str, ...], target: bytes, status: bytes
) -> None:
    world = World(keys=KEYS)
    client = world.client()
    client.sends(head("Expect: 100-continue", *lines).replace(b"/v1/chat/completions", target, 1))
    assert client.heard.startswith(b"HTTP/1.1 " + status)
    client.leaves()
    world.at_rest()


def test_the_key_may_be_given_once() -> None:
    for lines in (
        ("Authorization: Bearer wrong", "Authorization: Bearer right"),
        ("X-Api-Key: wrong", "X-Api-Key: right"),
    ):
        world = World(keys=KEYS)
        client = world.client()
        client.sends(chat("x", *lines, max_tokens=5))
        assert client.heard.startswith(b"HTTP/1.1 400 ")
        assert not world.engines
        client.leaves()
        world.at_rest()


def test_fields_are_counted_before_the_head_is_whole() -> None:
    world = World()
    client = world.client()
    client.sends(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 200)
    assert client.heard.startswith(b"HTTP/1.1 431 ")
    client.leaves()
    world.at_rest()


def test_a_head_that_has_not_come_whole_is_accounted_for() -> None:
    world = World(bounds=Bounds(buffered_bytes=100_000))
    clients = [world.client() for _ in range(10)]
    for client in clients:
        client.sends(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 20_000)
    refused = [client for client in clients if client.heard]
    assert len(refused) == 6
    assert all(client.heard.startswith(b"HTTP/1.1 503 ") for client in refused)
    for client in clients:
        client.leaves()
    world.at_rest()


def test_requests_sent_ahead_are_accounted_for_without_a_body() -> None:
    world = World(bounds=Bounds(buffered_bytes=100_000))
    client = world.client()
    long = "X-A: " + "a" * 20_000
    client.sends(chat("x", max_tokens=5))
    for _ in range(5):
        client.sends(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n%b\r\n\r\n" % long.encode())
    assert client.wire.aborted
    world.at_rest()
