"""`barostat gateway` as a process against a hostile network: real sockets, resets, floods, and a
kill in the middle.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from dev.gateway_process import GatewayProcess

METRICS = b"""vllm:num_requests_running{engine="0"} 0
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1001"} 1
"""
BODY = b'{"id":"a","choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}'
EVENTS = [
    b'data: {"id":"s","choices":[{"index":0,"delta":{"content":"%d"}}]}\n\n' % number
    for number in range(6)
]


class OddEngine:
    """A server that answers the gateway's own questions well, and breaks off every other answer
    where it is told to.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        self.heard: list[bytes] = []
        self.break_at: int | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        data = b""
        with contextlib.suppress(OSError), connection:
            while True:
                while b"\r\n\r\n" not in data:
                    if not (more := connection.recv(65536)):
                        return
                    data += more
                head, _, data = data.partition(b"\r\n\r\n")
                length = next(
                    (
                        int(line.split(b":")[1])
                        for line in head.lower().split(b"\r\n")
                        if line.startswith(b"content-length:")
                    ),
                    0,
                )
                while len(data) < length:
                    if not (more := connection.recv(65536)):
                        return
                    data += more
                body, data = data[:length], data[length:]
                if not self._answer(connection, head, body):
                    return

    def _answer(self, connection: socket.socket, head: bytes, body: bytes) -> bool:
        own = {
            b"GET /metrics": METRICS,
            b"GET /health": b"",
            b"GET /v1/models": b'{"data":[{"max_model_len":4096}]}',
        }
        for beginning, text in own.items():
            if head.startswith(beginning):
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(text), text)
                )
                return True
        self.heard.append(head + b"\r\n\r\n" + body)
        if b'"stream":true' in body:
            chunks = b"".join(
                b"%x\r\n%b\r\n" % (len(one), one) for one in [*EVENTS, b"data: [DONE]\n\n"]
            )
            answer = (
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                + chunks
                + b"0\r\n\r\n"
            )
        else:
            answer = (
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
                % (len(BODY), BODY)
            )
        if self.break_at is None:
            connection.sendall(answer)
            return True
        connection.sendall(answer[: self.break_at % len(answer)])
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )  # a reset
        return False

    def close(self) -> None:
        """No new connections."""
        self._listener.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[OddEngine]:
    running = OddEngine()
    yield running
    running.close()


@pytest.fixture(scope="module")
def gateway(
    engine: OddEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    folder = tmp_path_factory.mktemp("hostile")
    with GatewayProcess(
        folder,
        "request: {maxOutputTokens: 500}",
        f"http://127.0.0.1:{engine.port}",
        options=("--max-body-mib", "1"),
    ) as running:
        yield running


def request(stream: bool = False) -> bytes:
    body = b'{"max_tokens":9,"stream":%b,"prompt":"hi"}' % (b"true" if stream else b"false")
    return b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (
        len(body),
        body,
    )


def at_rest(gateway: GatewayProcess) -> None:
    for gauge in ("reservations", "active_requests", "buffered_body_bytes", "queued_requests"):
        gateway.until(f"barostat_gateway_{gauge}", 0)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_clients_that_reset_at_every_byte(gateway: GatewayProcess, engine: OddEngine) -> None:
    engine.break_at = None
    for stream in (False, True):
        whole = request(stream)
        for at in range(1, len(whole) + 1):
            connection = socket.create_connection(("127.0.0.1", gateway.port))
            connection.sendall(whole[:at])
            reset(connection)
        for at in range(1, 400, 3):
            connection = socket.create_connection(("127.0.0.1", gateway.port), timeout=5)
            connection.sendall(whole)
            connection.recv(at)
            reset(connection)
    at_rest(gateway)


def test_an_engine_that_resets_anywhere(gateway: GatewayProcess, engine: OddEngine) -> None:
    for stream in (False, True):
        for at in range(0, 600, 7):
            engine.break_at = at
            try:
                answer = httpx.post(
                    gateway.url + "/v1/completions",
                    content=request(stream).partition(b"\r\n\r\n")[2],
                    timeout=5,
                )
            except httpx.RemoteProtocolError:
                continue  # cut, and the client can tell
            except httpx.ReadError:
                continue
            assert answer.status_code == 502
    engine.break_at = None
    assert (
        httpx.post(
            gateway.url + "/v1/completions", content=request().partition(b"\r\n\r\n")[2], timeout=5
        ).content
        == BODY
    )
    at_rest(gateway)


def test_a_body_of_a_hundred_megabytes(gateway: GatewayProcess) -> None:
    before = _resident_kib(gateway)
    answer = httpx.post(
        gateway.url + "/v1/completions", content=(b"x" * (1 << 20) for _ in range(100)), timeout=20
    )
    assert answer.status_code == 413
    assert _resident_kib(gateway) - before < 32 << 10
    at_rest(gateway)


def test_noise(gateway: GatewayProcess, engine: OddEngine) -> None:
    """Whole requests with noise in them, from a fixed seed: the engine hears only what is whole,
    and the gateway lives.
    """
    dice, before = random.Random(5), len(engine.heard)
    for _ in range(300):
        data = bytearray(request(dice.random() < 0.5) * dice.randint(1, 3))
        for _ in range(dice.randint(1, 8)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", gateway.port), timeout=5) as connection,
        ):
            connection.sendall(bytes(data))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
    for heard in engine.heard[before:]:
        head, _, body = heard.partition(b"\r\n\r\n")
        assert head.lower().count(b"content-length:") <= 1
        assert b"transfer-encoding" not in head.lower()
        if head.startswith(b"POST /v1/completions "):
            json.loads(body)
    assert httpx.get(gateway.url + "/readyz").status_code == 200
    at_rest(gateway)


def _resident_kib(gateway: GatewayProcess) -> int:
    status = Path(f"/proc/{gateway.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


def test_a_body_in_tiny_chunks_costs_its_size(gateway: GatewayProcess) -> None:
    before = _resident_kib(gateway)
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=20) as connection:
        connection.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(b"2\r\nxx\r\n" * 500_000)
        while gateway.metric("barostat_gateway_buffered_body_bytes") < 1_000_000:
            pass
        assert _resident_kib(gateway) - before < 8 << 10
    at_rest(gateway)


@pytest.mark.parametrize("limit", [100, 300])
def test_few_open_files_are_said_and_kept_to(limit: int, engine: OddEngine, tmp_path: Path) -> None:
    with GatewayProcess(
        tmp_path,
        "request: {maxOutputTokens: 500}",
        f"http://127.0.0.1:{engine.port}",
        under=("prlimit", f"--nofile={limit}:{limit}"),
    ) as few:
        assert "may open few files" in few.log
        most = int(few.log.partition("at most ")[2].split()[0])
        connections = [
            socket.create_connection(("127.0.0.1", few.port), timeout=5) for _ in range(limit)
        ]
        assert connections[most].recv(100).startswith(b"HTTP/1.1 503 ")
        for one in connections:
            one.close()
        few.until("barostat_gateway_connections", 0)


def test_ctrl_c_during_the_start_ends_quietly(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = GatewayProcess(
            tmp_path, "request: {maxOutputTokens: 5}", f"http://127.0.0.1:{silent.getsockname()[1]}"
        )
        started = subprocess.Popen(process.command, stderr=subprocess.PIPE, text=True)
        silent.settimeout(30)
        silent.accept()[0].close()
        silent.accept()  # it waits for the first look at its engine
        started.send_signal(signal.SIGINT)
        _, said = started.communicate(timeout=30)
    assert started.returncode in (0, 130)
    assert "Traceback" not in said
