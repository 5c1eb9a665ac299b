"""No request reaches an engine that it could read otherwise than the gateway has."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.gateway_wire import Heard, World, chat, ok, post

from barostat.gateway.bounds import Bounds

BODY = b'{"model":"m","max_tokens":5,"messages":[]}'
INNER = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


def head(*lines: bytes) -> bytes:
    return b"\r\n".join((b"POST /v1/chat/completions HTTP/1.1", b"Host: x", *lines)) + b"\r\n\r\n"


SMUGGLED = {
    "both lengths": head(b"Content-Length: 6", b"Transfer-Encoding: chunked")
    + b"0\r\n\r\n"
    + INNER,
    "both, other order": head(b"Transfer-Encoding: chunked", b"Content-Length: 6")
    + b"0\r\n\r\n"
    + INNER,
    "two lengths": head(b"Content-Length: 0", b"Content-Length: 71") + INNER,
    "a list of lengths": head(b"Content-Length: 0, 71") + INNER,
    "a signed length": head(b"Content-Length: +5") + INNER,
    "a hexadecimal length": head(b"Content-Length: 0x5") + INNER,
    "an encoding that is none": head(b"Transfer-Encoding: xchunked") + b"0\r\n\r\n" + INNER,
    "an encoding twice": head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity")
    + b"0\r\n\r\n"
    + INNER,
    "an encoding list": head(b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n" + INNER,
    "a space before the colon": head(b"Transfer-Encoding : chunked") + b"0\r\n\r\n" + INNER,
    "a tab before the colon": head(b"Transfer-Encoding\t: chunked", b"Content-Length: 5")
    + b"0\r\n\r\n"
    + INNER,
    "a folded line": head(b"X: y", b" Transfer-Encoding: chunked", b"Content-Length: 5")
    + b"0\r\n\r\n"
    + INNER,
    "a null in a value": head(b"X: a\0b", b"Content-Length: 0") + INNER,
    "a bare return in a value": head(b"X: a\rTransfer-Encoding: chunked", b"Content-Length: 5")
    + b"0\r\n\r\n"
    + INNER,
    "a space in the target": b"POST /a HTTP/1.1 /b HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    + INNER,
    "two hosts": b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "another's target": b"GET http://elsewhere/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "a doubled slash": b"GET //elsewhere/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "a bad chunk size": head(b"Transfer-Encoding: chunked") + b"5;\nzzzzz\r\n0\r\n\r\n" + INNER,
    "a negative chunk": head(b"Transfer-Encoding: chunked") + b"-5\r\nzzzzz\r\n0\r\n\r\n" + INNER,
    "chunks in HTTP/1.0": b"POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + INNER,
    "a tunnel": b"CONNECT elsewhere:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    "another protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


@pytest.mark.parametrize("what", SMUGGLED)
def test_what_two_could_read_differently_reaches_nobody(what: str) -> None:
    for step in (len(SMUGGLED[what]), 1):
        world = World()
        client = world.client()
        for at in range(0, len(SMUGGLED[what]), step):
            client.sends(SMUGGLED[what][at : at + step])
        world.passes(3)
        assert not world.engines
        assert client.heard.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 "))
        assert client.heard.count(b"HTTP/1.1 ") == 1  # nothing after it was answered
        world.at_rest()


def test_hop_by_hop_fields_are_left_out_and_the_rest_survives() -> None:
    world = World()
    client = world.client()
    lines = (
        "Connection: keep-alive, X-Private", "X-Private: 1", "Keep-Alive: 5", "TE: trailers", "Trailer: x", "Proxy-Connection: close",
        "Upgrade: h2c", "HTTP2-Settings: x", "traceparent: 00-aa-bb-01", "X-Odd_Name: v", "x-empty:", "Cookie: a=b",
    )  # fmt: skip
    client.sends(post("/v1/chat/completions?x=1", BODY, *lines))
    ((method, url, headers, body),) = Heard(world.engine().heard).requests
    assert (method, url, body) == (b"POST", b"/v1/chat/completions?x=1", BODY)
    assert headers == {
        b"host": b"engine-0:8000",
        b"content-type": b"application/json",
        b"traceparent": b"00-aa-bb-01",
        b"x-odd_name": b"v",
        b"x-empty": b"",
        b"cookie": b"a=b",
        b"content-length": b"%d" % len(BODY),
    }


def test_an_upgrade_is_not_made_and_what_follows_is_a_request() -> None:
    world = World()
    client = world.client()
    client.sends(
        b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        + chat(max_tokens=5)
    )
    assert b"pgrade" not in world.engine().heard
    world.engine().says(ok(b"1"))
    world.engine().says(ok(b"2"))
    assert client.heard == ok(b"1") + ok(b"2")
    assert len(Heard(world.engine().heard).requests) == 2
    world.at_rest()


def test_credentials_pass_where_the_gateway_has_no_keys_of_its_own() -> None:
    world = World()
    world.client().sends(chat("hello", "Authorization: Bearer abc", "X-Api-Key: def", max_tokens=5))
    headers = Heard(world.engine().heard).requests[0][2]
    assert headers[b"authorization"] == b"Bearer abc"
    assert headers[b"x-api-key"] == b"def"


def test_keys_of_tenants_stay_here_and_the_engines_key_is_sent() -> None:
    world = World("tenants: [{name: red}]", keys={"sk-1": "red"}, engine_key="inner")
    client = world.client()
    client.sends(chat("hello", "Authorization: Bearer sk-1", max_tokens=5))
    headers = Heard(world.engine().heard).requests[0][2]
    assert headers[b"authorization"] == b"Bearer inner"
    assert b"sk-1" not in world.engine().heard
    world.engine().says(ok(b"{}"))
    client.sends(
        post("/v1/messages", {"model": "m", "max_tokens": 5, "messages": []}, "x-api-key: sk-1")
    )
    world.engine().says(ok(b"{}"))
    assert client.heard.count(b"200 OK") == 2


@pytest.mark.parametrize(
    "header",
    ["", "Authorization: Bearer sk-2", "Authorization: Basic sk-1", "x-api-key: " + "k" * 2000],
)
def test_an_unknown_key_is_refused(header: str) -> None:
    world = World("tenants: [{name: red}]", keys={"sk-1": "red"})
    client = world.client()
    client.sends(chat("hello", *([header] if header else []), max_tokens=5))
    assert client.heard.startswith(b"HTTP/1.1 401 ")
    assert not world.engines
    world.at_rest()


def test_a_head_that_is_too_large() -> None:
    for lines in (
        ["X: " + "y" * 40_000],
        [f"X-{number}: y" for number in range(200)],
        ["X: y" * 8] * 3000,
    ):
        world = World()
        client = world.client()
        client.sends(chat("hello", *lines, max_tokens=5))
        assert client.heard.startswith(b"HTTP/1.1 431 ")
        assert not world.engines
        world.at_rest()


def test_a_head_that_never_ends_is_bounded() -> None:
    world = World()
    client = world.client()
    client.sends(b"GET / HTTP/1.1\r\n")
    sent = 0
    while not client.protocol.closing:
        client.sends(b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n")
        sent += 48
    assert sent < 2 * world.bounds.head_bytes
    assert client.heard.startswith(b"HTTP/1.1 431 ")


def test_a_body_that_is_too_large_is_refused_before_it_comes_or_while_it_does() -> None:
    bounds = Bounds(body_bytes=1000)
    world = World(bounds=bounds)
    client = world.client()
    client.sends(post("/v1/completions", b"x" * 1001).partition(b"x")[0])
    assert client.heard.startswith(b"HTTP/1.1 413 ")
    assert client.wire.half_closed
    client.sends(b"x" * 1001)  # is let go, so that the answer arrives
    world.passes(10)
    assert client.wire.aborted
    endless = world.client()
    endless.sends(post("/v1/completions", b"", "Transfer-Encoding: chunked", length=False))
    for _ in range(20):
        endless.sends(b"64\r\n" + b"x" * 100 + b"\r\n")
    assert endless.heard.startswith(b"HTTP/1.1 413 ")
    assert not world.engines
    world.at_rest()


def test_all_bodies_together_are_bounded() -> None:
    world = World(bounds=Bounds(buffered_bytes=9000))
    clients = [world.client() for _ in range(2)]
    half = chat("y" * 900, max_tokens=5)[:1000]
    clients[0].sends(half)
    clients[1].sends(half)
    assert clients[1].heard.startswith(b"HTTP/1.1 503 ")
    assert clients[0].heard == b""
    clients[0].leaves()
    world.at_rest()


def test_slow_heads_slow_bodies_and_idle_connections_are_ended() -> None:
    world = World()
    nothing, slow, body = world.client(), world.client(), world.client()
    body.sends(chat(max_tokens=5)[:-3])
    for letter in b"GET / HTTP/1.1":
        slow.sends(bytes([letter]))
        world.passes(1)
    assert slow.heard.startswith(b"HTTP/1.1 408 ")
    world.passes(world.bounds.idle_s)
    assert nothing.wire.closing
    assert nothing.heard == b""
    world.passes(world.bounds.body_s)
    assert body.heard.startswith(b"HTTP/1.1 408 ")
    world.passes(5)
    assert not world.gateway.clients
    assert not len(world.rounds)
    world.at_rest()


def test_more_connections_than_are_taken() -> None:
    world = World(bounds=Bounds(connections=2))
    clients = [world.client() for _ in range(3)]
    assert clients[2].heard.startswith(b"HTTP/1.1 503 ")
    clients[0].sends(chat(max_tokens=5))
    assert len(world.engines) == 1


def test_a_flood_of_pipelined_requests_ends_the_connection() -> None:
    world = World()
    client = world.client()
    client.sends(chat(max_tokens=5) * 100)
    assert client.wire.closing
    world.at_rest()


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_bytes_end_well(data: bytes) -> None:
    world = World()
    client = world.client()
    client.sends(data)
    client.sends(b"\r\n\r\n" + data)
    client.leaves()
    world.at_rest()
    assert not world.gateway.clients


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_mangled_requests_never_become_two(data: st.DataObject) -> None:
    """One byte is changed, dropped or doubled: what an engine hears is nothing, or one whole
    request with the length it was told.
    """
    request = bytearray(post("/v1/chat/completions", BODY, "X-A: b", "Connection: keep-alive"))
    at = data.draw(st.integers(0, len(request) - 1))
    what = data.draw(st.sampled_from(["drop", "double", "change"]))
    if what == "drop":
        del request[at]
    elif what == "double":
        request.insert(at, request[at])
    else:
        request[at] = data.draw(st.integers(0, 255))
    world = World()
    client = world.client()
    client.sends(bytes(request))
    if world.engines:
        heard = Heard(world.engine().heard)
        assert len(heard.requests) == bool(world.engine().heard)
        for _, _, headers, body in heard.requests:
            assert headers[b"content-length"] == b"%d" % len(body)
    client.leaves()
    world.at_rest()
