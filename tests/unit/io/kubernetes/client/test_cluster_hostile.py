"""An API server or a kubelet that means harm: what reads it ends with one sentence or goes on with
the rest, in bounded time and memory.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.support.hostile_api_server import (
    ATTACKS,
    CONTROL,
    HostileApiServer,
    megabyte_annotations,
)
from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.core.bounds import EVENT_BYTES, LISTED
from barostat.core.errors import InputError, OutsideError
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster, Listed
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess
from barostat.io.kubernetes.client.resources import PODS
from barostat.io.kubernetes.client.sockets import MAX_OUTPUT_BYTES, Ran, execute, through_port
from barostat.io.kubernetes.client.watching import Changed, Relisted, watch
from barostat.io.kubernetes.recording.live import Options, PodRecorder
from barostat.io.kubernetes.recording.target import Wanted
from barostat.io.mitigation.facts import see
from barostat.io.mitigation.target_reader import ActTiming
from barostat.judge.diagnosis.diagnose import diagnose
from barostat.judge.evidence.recording import Recording
from barostat.platform.workloads.deployment import KIND as DEPLOYMENT

pytestmark = pytest.mark.sweep

T = TypeVar("T")
REAL_S = 20.0
"""What one of these may take of the machine's own time; the clock that the readers see stands
meanwhile.
"""


def require_one_sentence(error: Exception) -> None:
    """Fails where it is none."""
    told = str(error)
    if not 10 < len(told) < 700 or "Traceback" in told:
        raise AssertionError(told)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_diagnose_reads_ends_with_a_sentence_or_goes_on_with_the_rest(attack: str) -> None:
    async def go(scene: Scene) -> Recording | None:
        api = HostileApiServer(scene.api, ATTACKS[attack]())
        recorder = PodRecorder(
            by(Cluster(ACCESS), api),
            Wanted((f"deploy/{HOME}",), namespace=NAMESPACE),
            Options(for_s=6.0),
            SteadyClock(),
            lambda _: None,
        )
        began = asyncio.get_running_loop().time()
        try:
            await recorder.window()
            return (await recorder.recording()).recording
        except (InputError, OutsideError) as error:
            require_one_sentence(error)
            return None
        finally:
            assert api.answered > 0
            assert asyncio.get_running_loop().time() - began < 90
            await recorder.close()

    began = time.perf_counter()
    found = on_a_little_kubernetes(go)
    if found is not None:
        assert all(len(problem) < 700 for problem in found.problems)
        diagnose(found)
    assert time.perf_counter() - began < REAL_S


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_mitigate_reads_ends_with_a_sentence_or_goes_on_with_the_rest(attack: str) -> None:
    async def go(scene: Scene) -> None:
        api = HostileApiServer(scene.api, ATTACKS[attack]())
        cluster = by(Cluster(ACCESS), api)
        try:
            await see(
                cluster,
                NAMESPACE,
                DEPLOYMENT,
                HOME,
                Options(for_s=6.0),
                SteadyClock(),
                lambda _: None,
                ActTiming(),
            )
        except (InputError, OutsideError) as error:
            require_one_sentence(error)
        assert api.writes == []

    began = time.perf_counter()
    on_a_little_kubernetes(go)
    assert time.perf_counter() - began < REAL_S


def test_objects_that_are_heavy_and_right_are_diagnosed_like_others() -> None:
    async def go(scene: Scene) -> Recording:
        api = HostileApiServer(scene.api, megabyte_annotations)
        recorder = PodRecorder(
            by(Cluster(ACCESS), api),
            Wanted((f"deploy/{HOME}",), namespace=NAMESPACE),
            Options(for_s=6.0),
            SteadyClock(),
            lambda _: None,
        )
        await recorder.window()
        return (await recorder.recording()).recording

    found = on_a_little_kubernetes(go)
    assert [len(replica.scrapes) > 0 for replica in found.replicas] == [True]


MEMORY = """
import asyncio, resource, sys
from tests.support.hostile_api_server import ATTACKS, HostileApiServer
from tests.support.remedy_runs import ACCESS, by, on_a_little_kubernetes
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.resources import PODS
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
async def go(scene):
    return await by(Cluster(ACCESS), HostileApiServer(scene.api, ATTACKS[sys.argv[1]]())).list(PODS, "x")
found = on_a_little_kubernetes(go)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, found.why)
"""


@pytest.mark.sweep
@pytest.mark.parametrize(
    "attack", ["endless list", "many values", "a body without an end", "annotations of a megabyte"]
)
def test_memory_is_bounded(attack: str) -> None:
    root = Path(__file__).parents[5]
    path = f"{root / 'src'}:{root}"
    script = (
        MEMORY
        if attack != "annotations of a megabyte"
        else MEMORY.replace("found.why", "len(found.items)")
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, attack],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": path},
        cwd=root,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert int(ran.stdout.split()[0]) < 512, ran.stdout


def test_a_list_without_an_end_says_so() -> None:
    async def go(scene: Scene) -> tuple[Listed | RequestFailed, ...]:
        servers = [
            HostileApiServer(scene.api, ATTACKS[attack]())
            for attack in ("endless list", "the same page again")
        ]
        return tuple(
            [await by(Cluster(ACCESS), api).list(PODS, NAMESPACE, within_s=3600) for api in servers]
        )

    many, again = on_a_little_kubernetes(go)
    assert isinstance(many, RequestFailed)
    assert f"more than {LISTED.most:,} objects" in many.why
    assert isinstance(again, RequestFailed)
    assert "does not end" in again.why


# --- over real sockets: watches, exec, port-forward


Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(peer: Peer) -> AsyncIterator[Cluster]:
    """A cluster whose API server is that."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await peer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0)
    cluster = Cluster(
        ClusterAccess(server=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    )
    try:
        yield cluster
    finally:
        await cluster.close()
        server.close()


async def head_of(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\r\n\r\n")).decode()


def watching(events: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> Peer:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await head_of(reader)
        if "watch=true" in head:
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
            )
            await events(writer)
            return
        body = json.dumps(
            {
                "kind": "PodList",
                "metadata": {"resourceVersion": "1"},
                "items": [{"metadata": {"name": "a"}}],
            }
        ).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s"
            % (len(body), body)
        )
        await writer.drain()

    return peer


LIES = (
    b'{"type":"DELETED","object":{"metadata":{"name":"never-there"}}}',
    b'{"type":"MODIFIED","object":{"metadata":[]}}',
    b'{"type":["ADDED"],"object":{"metadata":{"resourceVersion":{}}}}',
    b'{"type":"ERROR","object":{"code":' + b"4" * 400 + b',"message":[1]}}',
    b'{"type":"ERROR","object":{"code":true}}',
    b'{"type":"ADDED","object":7}',
    b"[]",
    b"null",
    b"7" * 5000,
    b"[" * 100_000,
    b'{"type":"ADDED","object":{"metadata":{"name":"\\ud800"}}}',
    b"\xff\xfe",
    b"",
)


@pytest.mark.parametrize("lie", LIES, ids=range(len(LIES)))
def test_events_that_lie_are_told_or_passed_on_and_end_in_time(lie: bytes) -> None:
    async def events(writer: asyncio.StreamWriter) -> None:
        writer.write(
            lie + b'\n{"type":"ADDED","object":{"metadata":{"name":"b","resourceVersion":"2"}}}\n'
        )
        await writer.drain()
        await asyncio.sleep(0.1)

    async def go() -> list[Any]:
        async with listening(watching(events)) as cluster:
            return [event async for event in watch(cluster, PODS, "x", for_s=0.4)]

    began = time.perf_counter()
    found = asyncio.run(go())
    assert isinstance(found[0], Relisted)
    assert all(isinstance(event, Relisted | Changed | RequestFailed) for event in found)
    assert all(len(event.why) < 700 for event in found if isinstance(event, RequestFailed))
    assert time.perf_counter() - began < REAL_S


def test_an_event_without_an_end_is_not_kept() -> None:
    sent = 0

    async def events(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        while True:
            writer.write(b'{"type":"ADDED","object":"' + b"x" * (1 << 20))
            await writer.drain()
            sent += 1

    async def go() -> list[Any]:
        async with listening(watching(events)) as cluster:
            return [event async for event in watch(cluster, PODS, "x", for_s=1.5)]

    told = [event.why for event in asyncio.run(go()) if isinstance(event, RequestFailed)]
    assert told
    assert "larger than" in told[0]
    assert sent < 40 * (EVENT_BYTES.most >> 20)


def upgraded(messages: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> Peer:
    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        key = re.search(r"(?i)sec-websocket-key: (\S+)", await head_of(reader))
        assert key is not None
        accept = base64.b64encode(
            hashlib.sha1((key[1] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        ).decode()
        writer.write(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: "
            f"Upgrade\r\nsec-websocket-accept: {accept}\r\n"
            "sec-websocket-protocol: v4.channel.k8s.io\r\n\r\n".encode()
        )
        await messages(writer)

    return peer


def message(channel: int, content: bytes) -> bytes:
    data = bytes([channel]) + content
    length = (
        bytes([len(data)])
        if len(data) < 126
        else b"\x7e" + struct.pack(">H", len(data))
        if len(data) < 65536
        else b"\x7f" + struct.pack(">Q", len(data))
    )
    return b"\x82" + length + data


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (b'{"status":"Success"}', 0),
        (b'{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}', 3),
        (b'{"details":{"causes":[{"reason":"ExitCode","message":"\xc2\xb2"}]}}', -1),
        (
            b'{"details":{"causes":[null,7,{"reason":"ExitCode","message":' + b"9" * 400 + b"}]}}",
            -1,
        ),
        (b"[]", -1),
        (b'"Success"', -1),
        (b"[" * 100_000, -1),
        (b"\xff", -1),
    ],
)
def test_the_end_of_a_command_is_read_without_trust(ending: bytes, code: int) -> None:
    async def messages(writer: asyncio.StreamWriter) -> None:
        writer.write(message(1, b"out") + message(9, b"?") + message(3, ending))
        await writer.drain()
        await asyncio.sleep(1)

    async def go() -> Ran | RequestFailed:
        async with listening(upgraded(messages)) as cluster:
            return await execute(cluster, "x", "p", "c", ["true"], 5.0)

    assert asyncio.run(go()) == Ran("out", "", code)


@pytest.mark.parametrize("every_s", [0.0, 0.05])
def test_a_command_whose_output_does_not_end_ends(every_s: float) -> None:
    async def messages(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(message(1, b"x" * 60_000 if not every_s else b"x"))
            await writer.drain()
            await asyncio.sleep(every_s)

    async def go() -> Ran | RequestFailed:
        async with listening(upgraded(messages)) as cluster:
            return await execute(cluster, "x", "p", "c", ["yes"], 1.0)

    began = time.perf_counter()
    found = asyncio.run(go())
    assert isinstance(found, RequestFailed)
    assert "did not answer within 1 s" in found.why
    assert time.perf_counter() - began < REAL_S
    assert MAX_OUTPUT_BYTES < 1 << 24


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-type: \xff\xfe\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 400_000,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
        b"HTTP/1.1 99999 OK\r\n\r\n",
        CONTROL.encode() * 10,
    ],
)
def test_what_a_pod_answers_through_a_port_is_read_without_trust(answer: bytes) -> None:
    async def messages(writer: asyncio.StreamWriter) -> None:
        writer.write(message(0, b"\x00\x00") + message(1, b"\x00\x00"))
        for start in range(0, len(answer), 60_000):
            writer.write(message(0, answer[start : start + 60_000]))
        await writer.drain()
        await asyncio.sleep(1)

    async def go() -> Any:
        async with listening(upgraded(messages)) as cluster:
            return await through_port(cluster, "x", "p", 8000, "/metrics", within_s=3.0)

    began = time.perf_counter()
    assert asyncio.run(go()) is not None
    assert time.perf_counter() - began < REAL_S
