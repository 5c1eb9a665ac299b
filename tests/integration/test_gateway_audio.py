"""Audio through the gateway as a process, read behind it by what vLLM's server reads forms with."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from dev.gateway_process import GatewayProcess
from tests.integration.counting_engine import CountingEngine
from tests.support.audio import CONTENT_TYPE, form, part, wav

MAX_INPUT, MAX_OUTPUT = 4000, 50
LIMITS = f"request: {{maxInputTokens: {MAX_INPUT}, maxOutputTokens: {MAX_OUTPUT}}}"
LONG = wav(90)
BIG = part("max_completion_tokens", b"100000")
MANY = b"x" * 5000


@pytest.fixture(scope="module")
def engine() -> Iterator[CountingEngine]:
    running = CountingEngine()
    yield running
    running.close()


@pytest.fixture(scope="module")
def gateway(
    engine: CountingEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    folder = tmp_path_factory.mktemp("audio")
    with GatewayProcess(folder, LIMITS, f"http://127.0.0.1:{engine.port}") as running:
        yield running


def sent(
    port: int, body: bytes, mark: str, content_type: bytes = CONTENT_TYPE, more: bytes = b""
) -> bytes:
    """The first bytes of the answer. `more`: further fields of the head."""
    head = b"POST /v1/audio/transcriptions HTTP/1.1\r\nHost: a\r\nX-Attack: %b\r\n" % mark.encode()
    head += b"Content-Type: %b\r\n%bContent-Length: %d\r\n\r\n" % (content_type, more, len(body))
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(head + body)
        return client.recv(65536)


def attacks() -> Iterator[tuple[str, bytes, bytes, bytes]]:
    short = form(wav(1), model="m")
    other = b"multipart/form-data; boundary=other"
    for what, body in (
        ("a large limit", form(wav(1), max_completion_tokens=100_000)),
        ("a limit of nothing", form(wav(1), max_completion_tokens=0)),
        ("an empty limit", form(wav(1), max_completion_tokens="")),
        ("two limits", BIG + form(wav(1), max_completion_tokens=5)),
        ("a limit behind the file", form(wav(1), model="m", max_completion_tokens=100_000)),
        ("a limit that is a file", part("max_completion_tokens", b"9", '; filename="a"') + short),
        ("a limit under another name", part("max_completion_tokens", b"99999", "; a=b") + short),
        ("a limit in the epilogue", short + BIG),
        ("a limit in the preamble", b"x\r\n" + BIG + short),
        ("a limit in a wide boundary", short.replace(b"\r\n\r\nm", b"\r\n \r\n\r\nm")),
        ("long audio", form(LONG, model="m")),
        ("a rate that lies", form(wav(10, 192_000).replace(b"\0\xee\x02\0", b"\x40\x1f\0\0", 1))),
        ("a slow rate", form(wav(90, 100), model="m")),
        ("a short data chunk", form(LONG.replace(b"data", b"data\x01", 1), model="m")),
        ("two formats", form(wav(1) + b"fmt " + wav(9, 1)[16:40], model="m")),
        ("compressed", form(b"ID3\x04" + b"\xff\xfb" * 500, model="m")),
        ("a long prompt", form(wav(1), prompt=MANY.decode())),
        ("129 beams", form(wav(1), use_beam_search=True, n=129)),
        ("two files", part("file", LONG, '; filename="b.wav"') + short),
        ("no file", part("model", b"m")[:-2] + b"\r\n------barostat-7f3a--\r\n"),
    ):
        yield what, body, CONTENT_TYPE, b""
    greedy = BIG + short
    yield "another boundary", greedy, other, b""
    yield "two types", greedy, CONTENT_TYPE, b"Content-Type: %b\r\n" % other
    yield "no form", b'{"model": "m", "max_completion_tokens": 100000}', b"application/json", b""
    yield "a charset", greedy, CONTENT_TYPE + b"; charset=utf-16", b""


def test_no_form_gets_through(gateway: GatewayProcess, engine: CountingEngine) -> None:
    names = {}
    for at, (what, body, content_type, more) in enumerate(attacks()):
        names[f"audio-{at}"] = what
        assert sent(gateway.port, body, f"audio-{at}", content_type, more).startswith(b"HTTP/1.1 ")
    through = [
        (names[one.attack], one)
        for one in engine.seen
        if one.output_tokens > MAX_OUTPUT or one.input_tokens > MAX_INPUT or one.answers > 128
    ]
    assert not through
    assert {names[one.attack] for one in engine.seen} >= {
        "a large limit",
        "a limit behind the file",
    }
    assert "Traceback" not in gateway.log


def test_audio_within_the_limits_is_answered_with_the_cap(
    gateway: GatewayProcess, engine: CountingEngine
) -> None:
    before = len(engine.seen)
    answer = sent(gateway.port, form(wav(20), model="m", language="en"), "control")
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"x-barostat-output-cap: 50" in answer
    (arrived,) = engine.seen[before:]
    assert (arrived.input_tokens, arrived.output_tokens) == (1000, MAX_OUTPUT)
