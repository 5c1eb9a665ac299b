"""Addresses of engines, and connections that are kept, reused last first, and closed before the
engine does it.
"""

from __future__ import annotations

import pytest
from tests.support.gateway_wire import World, chat, ok

from barostat.core.errors import InputError
from barostat.gateway.replica import upstream_address


@pytest.mark.parametrize(
    ("url", "name", "authority", "secure", "path"),
    [
        ("http://a:8000", "a:8000", b"a:8000", False, b""),
        ("a:8000", "a:8000", b"a:8000", False, b""),
        ("https://a.b/base/", "a.b:443/base", b"a.b", True, b"/base"),
        ("http://a/one%20two", "a:80/one%20two", b"a", False, b"/one%20two"),
        ("http://[::1]:9", "[::1]:9", b"[::1]:9", False, b""),
    ],
)
def test_addresses(url: str, name: str, authority: bytes, secure: bool, path: bytes) -> None:
    found = upstream_address(url)
    assert (found.name, found.authority, found.secure, found.path) == (
        name,
        authority,
        secure,
        path,
    )


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "ftp://a",
            "http://",
            "http://a:b",
            "http://a:99999",
            "http://u:p@a",
            "http://a/?x",
            "http://a/#x",
            "http://.a",
        ),
        *("http://a/one two", 'http://a/"', "http://a/\\", "http://a/ü"),
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InputError):
        upstream_address(url)


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(
        InputError, match=r"^http://a:1: an engine's key does not belong in its URL"
    ) as told:
        upstream_address("http://user:secret@a:1")
    assert "secret" not in str(told.value)


def test_the_last_used_connection_is_used_first_and_old_ones_are_closed() -> None:
    world = World()
    clients = [world.client() for _ in range(3)]
    for client in clients:
        client.sends(chat(max_tokens=5))
    for engine in list(world.engines):
        engine.says(ok(b"{}"))
    assert len(world.replicas[0].idle) == 3
    for _ in range(10):
        clients[0].sends(chat(max_tokens=5))
        world.engines[2].says(ok(b"{}"))
        world.passes(1)
    assert [engine.wire.closing for engine in world.engines] == [True, True, False]
    world.passes(10)
    assert world.replicas[0].idle == []


def test_a_kept_connection_that_speaks_unasked_is_closed() -> None:
    world = World()
    client = world.client()
    client.sends(chat(max_tokens=5))
    world.engine().says(ok(b"{}"))
    world.engine().says(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert world.replicas[0].idle == []
    client.sends(chat(max_tokens=5))
    assert len(world.engines) == 2
