"""What a client may send around its requests: an offer to upgrade, trailers, an older HTTP; and
what is one request stays one.
"""

from __future__ import annotations

import json

import pytest
from tests.support.gateway_wire import Heard, World, chat, ok, post

from barostat.gateway.bounds import Bounds
from barostat.gateway.messages.target import AllowedPath

ANSWER = ok(json.dumps({"id": "a", "choices": [{"finish_reason": "stop"}]}).encode())
OFFER = (
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA",
)
"""As the HTTP client of Java sends it with every request that is not encrypted."""


def in_chunks(request: bytes) -> bytes:
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
    return b"\r\n".join(
        (*lines, b"Transfer-Encoding: chunked")
    ) + b"\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


@pytest.mark.parametrize(
    "request_bytes",
    [chat("hello", *OFFER, max_tokens=5), in_chunks(chat("hello", *OFFER, max_tokens=5))],
)
def test_a_body_behind_an_offer_to_upgrade_is_the_body(request_bytes: bytes) -> None:
    body = chat("hello", max_tokens=5).partition(b"\r\n\r\n")[2]
    for at in range(1, len(request_bytes)):
        world = World()
        client = world.client()
        client.sends(request_bytes[:at])
        client.sends(request_bytes[at:] + request_bytes)  # and the next one after it
        engine = world.engine()
        engine.says(ANSWER)
        engine.says(ANSWER)
        assert client.heard == ANSWER * 2
        heard = Heard(engine.heard).requests
        assert [one[3] for one in heard] == [body, body]
        assert not any(b"upgrade" in one[2] or b"http2-settings" in one[2] for one in heard)
        world.at_rest()


def test_an_offer_to_upgrade_without_a_body() -> None:
    world = World()
    client = world.client()
    client.sends(
        b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    assert client.heard.count(b"HTTP/1.1 200 OK\r\n") == 2
    world.at_rest()


def test_trailers_are_bounded() -> None:
    world = World()
    client = world.client()
    request = in_chunks(chat(max_tokens=5))
    client.sends(request[:-2] + b"x-a: ")
    for _ in range(100):
        client.sends(b"a" * 1024)
    assert client.heard.startswith(b"HTTP/1.1 431 ")
    assert not world.engines
    client.leaves()
    world.at_rest()


def test_a_body_in_many_small_chunks_is_no_trailer() -> None:
    world = World()
    client = world.client()
    head, _, body = chat("x" * 20_000, max_tokens=5).partition(b"\r\n\r\n")
    client.sends(in_chunks(head + b"\r\n\r\n").partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
    for at in range(len(body)):
        client.sends(b"1\r\n")
        client.sends(body[at : at + 1] + b"\r\n")
    client.sends(b"0\r\nx-a: b\r\n\r\n")
    assert Heard(world.engine().heard).requests[0][3] == body
    world.engine().says(ANSWER)
    assert client.heard == ANSWER
    world.at_rest()


def test_the_connection_of_an_http_1_0_client_ends_with_its_answer() -> None:
    world = World()
    client = world.client()
    client.sends(
        chat("hello", "Connection: keep-alive", max_tokens=5).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    )
    world.engine().says(ANSWER)
    assert client.heard == ANSWER
    assert client.wire.closing
    world.at_rest()


def test_what_a_browser_asks_before_it_sends_a_key_needs_none() -> None:
    world = World(keys={"k": "red"}, engine_key="secret")
    client = world.client()
    client.sends(
        b"OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: x\r\nOrigin: http://a\r\nAccess-Control-Request-Method: POST\r\n\r\n"
    )
    assert b"secret" not in world.engine().heard
    world.engine().says(ok(b"", b"access-control-allow-origin: *"))
    assert client.heard.startswith(b"HTTP/1.1 200 OK\r\n")
    client.sends(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b"HTTP/1.1 401 " in client.heard
    world.at_rest()


def test_a_path_that_an_engine_spells_otherwise_does_not_lead_round_the_gateway() -> None:
    world = World(allowed_paths=(AllowedPath("/tokenize/"),))
    client = world.client()
    client.sends(post("/tokenize/", {"prompt": "a"}))
    engine = world.engine()
    (host,) = (headers[b"host"] for _, _, headers, _ in Heard(engine.heard).requests)
    engine.says(ok(b"", b"location: http://%b/tokenize" % host, status=b"307 Temporary Redirect"))
    assert b"\r\nlocation: /tokenize\r\n" in client.heard
    assert host not in client.heard
    world.at_rest()


def test_each_request_has_the_tenant_of_its_own_key() -> None:
    world = World(keys={"k": "red", "j": "blue"})
    client = world.client()
    for key, tenant in (
        ("k", "red"),
        ("k", "red"),
        ("j", "blue"),
        ("x", None),
        ("", None),
        ("k", "red"),
    ):
        client.sends(chat("hello", f"Authorization: Bearer {key}", max_tokens=5))
        current = client.protocol.current
        assert (current.tenant if current is not None else None) == tenant
        if tenant is not None:
            world.engine().says(ok(b"{}"))
    assert client.heard.count(b"HTTP/1.1 200 ") == 4
    assert client.heard.count(b"HTTP/1.1 401 ") == 2
    world.at_rest()


@pytest.mark.parametrize("how", ["ends", "leaves"])
@pytest.mark.parametrize("behind", [b"", chat("b", max_tokens=5), chat("b", max_tokens=5)[:60]])
@pytest.mark.parametrize("begun", [False, True])
def test_a_client_that_leaves_is_noticed_whatever_it_has_sent_ahead(
    how: str, behind: bytes, begun: bool
) -> None:
    world = World()
    client = world.client()
    client.sends(chat("a", max_tokens=5) + chat("b" * 10_000, max_tokens=5) + behind)
    assert world.gateway.buffered_bytes > 10_000
    if begun:
        world.engine().says(ANSWER[:30])
    getattr(client, how)()
    assert world.engine().wire.aborted
    assert not world.gateway.clients
    world.at_rest()


def test_bodies_sent_ahead_are_bounded_for_each_connection() -> None:
    world = World(bounds=Bounds(body_bytes=10_000))
    client = world.client()
    client.sends(chat("a", max_tokens=5))
    for _ in range(5):
        client.sends(chat("b" * 4000, max_tokens=5))
    assert client.wire.aborted
    world.at_rest()
