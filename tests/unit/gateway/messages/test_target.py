"""The gateway decides on the path that the engine will route by, and sends that one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.gateway_wire import Heard, Side, World, ok, post

from barostat.core.errors import InputError
from barostat.gateway.messages.target import AllowedPath, Listing, allowed_path, is_target

BODY = {"model": "m", "prompt": "hello", "max_tokens": 5}
UNLIMITED = {"model": "m", "prompt": "hello", "max_tokens": 100_000}


def sent(
    target: str, method: str = "POST", *allowed: str, keys: dict[str, str] | None = None
) -> tuple[World, Side]:
    world = World(
        "request: {maxOutputTokens: 100}",
        allowed_paths=tuple(allowed_path(one) for one in allowed),
        keys=keys,
        engine_key="engine-secret",
    )
    client = world.client()
    client.sends(post(target, UNLIMITED).replace(b"POST", method.encode(), 1))
    world.passes(1)
    return world, client


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/v1/completions", b"/v1/completions"),
        ("/v1/completions?a=b", b"/v1/completions?a=b"),
        ("/v1/%63ompletions", b"/v1/completions"),
        ("/v1%2Fcompletions", b"/v1/completions"),
        ("/%76%31/completions?x=%23", b"/v1/completions?x=%23"),
    ],
)
def test_a_listed_path_is_sent_in_its_plain_spelling_and_limited(target: str, path: bytes) -> None:
    world, _ = sent(target)
    method, url, _, body = Heard(world.engine().heard).requests[0]
    assert (method, url) == (b"POST", path)
    assert b"100000" not in body


@pytest.mark.parametrize(
    "target",
    [
        "/v1/completions#",
        "/v1/completions#?a",
        "/v1/completions?a#b",
        "/#/v1/completions",
        "//v1/completions",
        "http://gateway/v1/completions",
        "v1/completions",
        "*",
    ],
)
def test_a_target_that_engines_read_otherwise_is_malformed(target: str) -> None:
    world, client = sent(target)
    assert client.heard.startswith(b"HTTP/1.1 400 ")
    assert not world.engines


@pytest.mark.parametrize(
    "target",
    [
        "/v1/completions/",
        "/v1//completions",
        "/v1/./completions",
        "/v1/x/../completions",
        "/v1/completions;x",
        "/v1/completions%3Fx",
        "/v1/completions%23",
        "/v1/%2563ompletions",
        "/v1/completions%00",
        "/V1/completions",
        "/v1\\completions",
        "/",
        "/v1/chat/completions/render",
        "/v1/completions/render",
        "/inference/v1/generate",
        "/generate",
        "/invocations",
        "/cohere/v2/chat",
        "/sleep",
        "/wake_up",
        "/collective_rpc",
        "/v1/load_lora_adapter",
        "/v1/unload_lora_adapter",
        "/update_weights",
        "/reset_prefix_cache",
        "/metrics",
        "/server_info",
        "/openapi.json",
        "/docs",
        "/tokenize",
        "/start_profile",
        "/abort_requests",
    ],
)
@pytest.mark.parametrize("keys", [None, {"k": "a"}])
def test_a_path_that_is_not_listed_reaches_no_engine(
    target: str, keys: dict[str, str] | None
) -> None:
    for method in ("POST", "GET", "DELETE", "PUT"):
        world, client = sent(target, method, keys=keys)
        assert client.heard.startswith(b"HTTP/1.1 404 ")
        assert b"--allow-path" in client.heard
        assert not world.engines
        world.at_rest()


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
def test_a_listed_path_passes_by_its_own_methods_only(method: str) -> None:
    world, client = sent("/v1/completions", method)
    assert client.heard.startswith(b"HTTP/1.1 404 ")
    assert not world.engines


def test_a_browser_may_ask_about_a_listed_path_without_a_key() -> None:
    world, _ = sent("/v1/chat/completions", "OPTIONS", keys={"k": "a"})
    assert b"engine-secret" not in world.engine().heard
    world, client = sent("/sleep", "OPTIONS", keys={"k": "a"})
    assert client.heard.startswith(b"HTTP/1.1 404 ")
    assert not world.engines


def test_an_allowed_path_passes_unread_with_the_methods_that_are_named() -> None:
    for target in ("/tokenize", "/%74okenize", "/tokenize?x=1"):
        world, _ = sent(target, "POST", "POST /tokenize")
        assert Heard(world.engine().heard).requests[0][1].startswith(b"/tokenize")
        world.engine().says(ok(b"{}"))
        world.at_rest()
    assert sent("/tokenize", "GET", "POST /tokenize")[1].heard.startswith(b"HTTP/1.1 404 ")
    assert sent("/tokenize", "PUT", "/tokenize")[0].engines
    assert sent("/v1/responses/r_1", "GET", "GET /v1/responses/*")[0].engines
    for escape in ("/v1/responses/../load_lora_adapter", "/v1/responses/%2e%2e/x", "/v1/responses"):
        assert not sent(escape, "GET", "GET /v1/responses/*")[0].engines


@pytest.mark.parametrize(
    "text", ["", "tokenize", "/a/../b", "/a//b", "/a%2fb", "FETCH /a", "/a*", "/a b", "/a*b", "/é"]
)
def test_what_cannot_be_allowed_is_an_error(text: str) -> None:
    with pytest.raises(InputError):
        allowed_path(text)
    assert allowed_path("GET  /a/*") == AllowedPath("/a/", "GET", below=True)


def test_probes_are_answered_without_an_engine_and_without_a_key() -> None:
    for path, status in (("/health", b"200"), ("/livez", b"200"), ("/readyz?x", b"200")):
        world, client = sent(path, "GET", keys={"k": "a"})
        assert client.heard.startswith(b"HTTP/1.1 " + status)
        assert not world.engines
    world = World(keys={"k": "a"})
    world.desk.stands(world.replicas[0], "unhealthy")
    client = world.client()
    client.sends(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    assert client.heard.startswith(b"HTTP/1.1 503 ")


@given(st.binary(max_size=40))
def test_no_spelling_passes_that_is_not_sent_as_a_listed_path(tail: bytes) -> None:
    for raw in (b"/" + tail, b"/v1/completions" + tail, b"/v1/models?" + tail):
        if is_target(raw) and (passage := Listing().find(b"POST", raw)) is not None:
            path = passage.target.partition(b"?")[0]
            assert passage.route != "other"
            assert path.startswith(b"/v1/")
            assert not set(b"%#;") & set(path)
