"""What listens: the twin's HTTP and its bodies, the gateway's connections on both sides; and what
is read of one request on its way.
"""

# ruff: noqa: E501 (inputs as they come)

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
from functools import cache
from pathlib import Path

from dev.twin_engine import TwinEngine
from tests.fuzz.front import Front, Wrong
from tests.fuzz.fronts.files import strict_json
from tests.support.gateway_wire import World, chat, chunked, event, ok, post
from tests.unit.twin_server.test_generation_request import reader

from barostat.admit.decision import Refused
from barostat.gateway.asking import Asking
from barostat.gateway.messages.output_cap import capped
from barostat.gateway.messages.routes import GENERATING, ROUTES
from barostat.gateway.messages.shape import Malformed, shape_of
from barostat.gateway.messages.tokenize_question import questions_of
from barostat.twin_server.generation_request import GenerationRequest, Reader

_CUT = b"\n=8<=\n"
"""Between what the client sends and what the engine says."""


@cache
def _twin() -> TwinEngine:
    twin = TwinEngine(
        "--max-model-len",
        "512",
        options=("--served-model-name", "m"),
        env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )
    atexit.register(twin.__exit__, None, None, None)
    return twin.__enter__().wait_ready(within_s=30)


def _requests() -> list[bytes]:
    completion = {
        "model": "m",
        "prompt": [5, 6, 7],
        "max_tokens": 2,
        "stream": True,
        "stream_options": {"include_usage": True},
        "n": 2,
    }
    get = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    return [
        chat("hello", max_tokens=2), post("/v1/completions", completion), get, b"GET /health HTTP/1.0\r\n\r\n" * 3,
        post("/tokenize", {"model": "m", "prompt": "hello", "return_token_strs": True}), post("/detokenize", {"model": "m", "tokens": [5, 6]}),
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        post("/v1/messages", {"model": "m", "max_tokens": 3, "messages": [{"role": "user", "content": "x"}]}),
        post("/v1/embeddings", {"model": "m", "input": ["a", "b"]}), post("/v1/responses", {"model": "m", "input": "x", "max_output_tokens": 3}),
    ]  # fmt: skip


def _twin_http(data: bytes, _: Path) -> None:
    """One connection to a real twin: what it sends back is never its own failure, and it lives
    on.
    """
    heard = _exchanged(_twin().port, data)
    for line in heard.split(b"\r\n"):
        if line.startswith(b"HTTP/1.1 5") and not line.startswith(
            (b"HTTP/1.1 501", b"HTTP/1.1 503", b"HTTP/1.1 505")
        ):
            raise Wrong(f"the twin answers {line.decode('latin-1')[:60]}")
    if b" 200 OK" not in _exchanged(
        _twin().port, b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    ):
        raise Wrong("the twin is not healthy any more")


def _exchanged(port: int, data: bytes) -> bytes:
    heard = b""
    with (
        contextlib.suppress(ConnectionResetError, BrokenPipeError),
        socket.create_connection(("127.0.0.1", port), 5.0) as connection,
    ):
        connection.sendall(data)
        with contextlib.suppress(
            OSError
        ):  # closed by the twin meanwhile, as it may what it does not read to its end
            connection.shutdown(socket.SHUT_WR)
        connection.settimeout(3.0)
        with contextlib.suppress(TimeoutError):
            while (more := connection.recv(65_536)) and len(heard) < 1 << 20:
                heard += more
    return heard


@cache
def _reader(version: str) -> Reader:
    return reader(version)


def _bodies() -> list[bytes]:
    return [whole.partition(b"\r\n\r\n")[2] for whole in _requests() if b"\r\n\r\n{" in whole] + [
        json.dumps(
            {
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "x"}]},
                    {"role": "assistant", "content": None},
                ],
                "min_tokens": 1,
            }
        ).encode(),
        b'{"prompt": ["a", [1, 2], "b"], "echo": true, "temperature": 0.5, "top_p": 1, "priority": -1, "ignore_eos": "yes"}',
    ]


def _twin_body(data: bytes, _: Path) -> None:
    """What a request asks of the twin, in two versions of vLLM; a refusal is JSON that a client
    reads.
    """
    for version in ("0.10.0", "0.32.0"):
        one = _reader(version)
        for read in (one.completion, one.chat):
            found = read(data)
            if isinstance(found, GenerationRequest):
                if any(wanted.max_tokens > 100 for wanted in found.wanted):
                    raise Wrong("more is promised than the context holds")
            else:
                if not 400 <= found.status < 500:
                    raise Wrong(f"the client's mistake is answered with {found.status}")
                strict_json(json.dumps(found.body(), ensure_ascii=False))
                json.dumps(found.body(), ensure_ascii=False, allow_nan=False).encode()


def _gateway_body(data: bytes, _: Path) -> None:
    """What the gateway understands of a body, on one route by its length; where it writes a cap,
    the engine reads the same request with it.
    """
    route = ROUTES[len(data) % len(ROUTES)]
    shape = shape_of(route, data)
    if isinstance(shape, Malformed) or route not in GENERATING:
        return
    questions_of(shape, data)
    before, after = (_without_limits(json.loads(body)) for body in (data, capped(route, data, 7)))
    if before != after and b"NaN" not in data:
        raise Wrong(f"a cap changed something else on {route}")


def _without_limits(document: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if "tokens" not in key}


def _wires() -> list[bytes]:
    answers = [
        ok(b'{"usage": {"prompt_tokens": 3, "completion_tokens": 2}}'),
        chunked(event({"choices": [{"text": "x"}]}), b"data: [DONE]\n\n"),
    ]
    answers += [
        b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nuntil it closes",
    ]
    return [request + _CUT + answer for request in _requests() for answer in answers[:2]] + [
        _requests()[0] + _CUT + one for one in answers[2:]
    ]


def _no_count(exchange: Asking) -> None:
    """As where no engine answers in time: to ask one needs an event loop."""
    exchange.uncountable(Refused(503, "input-not-counted", "no engine answers", 2.0))


def _gateway(data: bytes, _: Path) -> None:
    """A client and the engine behind it, both hostile: whatever they say, nothing is left held when
    they have gone.
    """
    asked, _cut, said = data.partition(_CUT)
    world = World(
        "request: {maxOutputTokens: 100, maxInputTokens: 4000, onMissingOutputLimit: cap}\nedge: {kvTokenBudget: 50000}"
    )
    world.gateway.desk.counter = _no_count
    client = world.client()
    for piece in (asked[: len(asked) // 2], asked[len(asked) // 2 :]):
        client.sends(piece)
    for engine in list(world.engines):
        for piece in (said[: len(said) // 2], said[len(said) // 2 :]):
            engine.says(piece)
    _well_formed(client.heard)
    for engine in world.engines:
        engine.leaves()
    client.leaves()
    world.goes_on()
    world.at_rest()


def _well_formed(heard: bytes) -> None:
    """What went to the client is HTTP, as far as it came."""
    if not heard:
        return
    if not heard.startswith(b"HTTP/1.1 "):
        raise Wrong("a client hears something that is no HTTP")


FRONTS = (
    Front("twin-http", _requests, _twin_http, "http", ()),
    Front("twin-bodies", _bodies, _twin_body, "json", ()),
    Front("gateway-bodies", _bodies, _gateway_body, "json", ()),
    Front("gateway-connections", _wires, _gateway, "http", (), ("\n=8<=\n",)),
)
