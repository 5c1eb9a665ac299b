"""What is said of the engines: why each stands as it does, its changes, and limits that are not for
it; each thing once.
"""

from __future__ import annotations

import asyncio
import io
import socket
import ssl
import sys

import pytest
from tests.support.gateway_wire import World, chat, ok

from barostat.gateway.bounds import Bounds
from barostat.gateway.messages.served import Served
from barostat.gateway.replica import Replica, upstream_address
from barostat.gateway.watching.engine_log import EngineLog
from barostat.gateway.watching.health import Health

SERVED = Served(frozenset({"m"}), frozenset({"m", "org/m"}), 4096)


def test_each_engine_in_a_line_and_its_changes(capsys: pytest.CaptureFixture[str]) -> None:
    world = World(replicas=2, pool_tokens=None)
    first, second = world.replicas
    second.why = "/metrics shows no pool of a vLLM"
    EngineLog(world.desk).all()
    first.why = "Connection refused"
    world.desk.unreachable(first)
    world.desk.unreachable(first)  # no change
    first.why = ""
    world.desk.stands(first, "up")
    world.desk.stands(second, "leaving")
    unknown = "the size of its KV pool is not known"
    assert [
        line.removeprefix("barostat gateway: engine-")
        for line in capsys.readouterr().err.splitlines()
    ] == [
        f"0:8000: up, {unknown}: what it holds cannot be accounted for",
        (
            f"1:8000: up, {unknown} (/metrics shows no pool of a vLLM): what it holds cannot "
            "be accounted for"
        ),
        "0:8000: unreachable (Connection refused): nothing is sent there until that has changed",
        f"0:8000: up, {unknown}: what it holds cannot be accounted for",
    ]


def test_who_does_not_listen_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    world = World(replicas=2)
    EngineLog(world.desk).all()
    world.down.add("engine-0:8000")
    client = world.client()
    client.sends(chat(max_tokens=5))
    world.engine().says(ok(b"{}"))
    assert client.heard == ok(b"{}")


def test_limits_for_other_engines_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    spec = "model: org/other\nrequest: {maxInputTokens: 5000}\ncapacity: {kvCacheTokens: 50000}"
    world = World(spec, replicas=2)
    for replica in world.replicas:
        world.desk.serves(replica, SERVED)
    told = EngineLog(world.desk)
    told.misfits()
    told.misfits()
    said = capsys.readouterr().err.splitlines()
    assert said[:3] == [
        "barostat gateway: the limits are for org/other; engine-0:8000 serves m",
        (
            "barostat gateway: request.maxInputTokens is 5000; engine-0:8000 takes 4096 tokens "
            "with their answer, and that holds"
        ),
        (
            "barostat gateway: the limits were made for a KV pool of 50000 tokens; "
            "engine-0:8000 has 100000, and that counts"
        ),
    ]
    assert len(said) == 6
    world.desk.serves(world.replicas[1], Served(frozenset({"n"}), frozenset({"n"}), 8192))
    told.misfits()
    different = capsys.readouterr().err.splitlines()
    assert (
        "the engines serve different models (engine-0:8000: m; engine-1:8000: n)" in different[-1]
    )


def test_limits_that_fit_are_not_spoken_of(capsys: pytest.CaptureFixture[str]) -> None:
    world = World(
        "model: M\nrequest: {maxInputTokens: 4000}\ncapacity: {kvCacheTokens: 98000}", replicas=2
    )
    world.desk.serves(world.replicas[0], SERVED)
    world.desk.serves(
        world.replicas[1], Served(frozenset({"m", "lora"}), frozenset({"m", "lora"}), 4096)
    )
    EngineLog(world.desk).misfits()
    assert capsys.readouterr().err == ""


def looked_at(url: str, secure: ssl.SSLContext | None = None) -> Replica:
    """What is at that address, after one look."""

    async def look() -> Replica:
        world = World(pool_tokens=None)
        replica = Replica(upstream_address(url), Bounds(), lambda: 0.0, secure)
        world.desk.joins(replica)
        health = Health(world.desk)
        await health.look(replica)
        replica.close()
        return replica

    return asyncio.run(look())


def test_why_an_engine_is_not_reached_is_known() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # nobody listens there
        url = f"127.0.0.1:{bound.getsockname()[1]}"
        assert (looked_at(f"http://{url}").why, looked_at(f"http://{url}").standing) == (
            "Connection refused",
            "unreachable",
        )
    assert looked_at("http://nowhere.invalid:1").why.startswith("its name is not known: ")


async def _one(answer: bytes, secure: ssl.SSLContext | None = None) -> Replica:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    world = World(pool_tokens=None)
    replica = Replica(
        upstream_address(f"{'https' if secure else 'http'}://127.0.0.1:{port}/base"),
        Bounds(),
        lambda: 0.0,
        secure,
    )
    world.desk.joins(replica)
    await Health(world.desk).look(replica)
    replica.close()
    server.close()
    return replica


@pytest.mark.parametrize(
    ("answer", "tls", "standing", "why"),
    [
        (
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            False,
            "unhealthy",
            "/base/health answered 404; is /base a part",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            False,
            "up",
            "/base/metrics shows no pool of a vLLM",
        ),
        (b"", False, "unreachable", "it closed the connection without an answer"),
        (b"220 mail ESMTP\r\n", False, "unreachable", "what it answers is no HTTP (bad-answer)"),
        (
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n",
            True,
            "unreachable",
            "it speaks no TLS",
        ),
    ],
)
def test_why_what_answers_is_not_used(answer: bytes, tls: bool, standing: str, why: str) -> None:
    replica = asyncio.run(_one(answer, ssl.create_default_context() if tls else None))
    assert replica.standing == standing
    assert replica.why.startswith(why)
