"""Servers on the loopback that behave as badly as real ones, a script of bytes at a time."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

METRICS = (
    "# TYPE vllm:num_requests_running gauge\n"
    'vllm:num_requests_running{engine="0",model_name="m"} 3.0\n'
    "# TYPE vllm:num_requests_waiting gauge\n"
    'vllm:num_requests_waiting{engine="0",model_name="m"} 0.0\n'
)
Handler = Callable[[socket.socket, str], None]
"""Is given the connection and the request line and headers, and sends what it likes."""


def answer(
    body: str | bytes,
    status: str = "200 OK",
    kind: str = "text/plain; version=0.0.4",
    more: str = "",
) -> bytes:
    """A whole HTTP answer that closes the connection."""
    raw = body.encode() if isinstance(body, str) else body
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: "
        f"{len(raw)}\r\nconnection: close\r\n{more}\r\n"
    ).encode() + raw


def vllm(**paths: bytes) -> Handler:
    """An engine's server; `paths` (metrics, health, version, models, completions) replace its
    answers.
    """
    answers = {
        "metrics": answer(METRICS),
        "health": answer(""),
        "version": answer('{"version": "0.32.0"}', kind="application/json"),
        "models": answer('{"data": [{"id": "m", "max_model_len": 4096}]}', kind="application/json"),
        "completions": answer('{"choices": [{"text": "x"}]}', kind="application/json"),
        **paths,
    }

    def handle(connection: socket.socket, request: str) -> None:
        last = request.split(" ")[1].split("?")[0].rstrip("/").rpartition("/")[2]
        connection.sendall(answers.get(last, answer("no", "404 Not Found")))

    return handle


def always(raw: bytes) -> Handler:
    """The same bytes whatever is asked."""
    return lambda connection, _: connection.sendall(raw)


def reset(connection: socket.socket, _: str = "") -> None:
    """The connection is reset, not closed."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@dataclass(slots=True)
class _Servers:
    """All that run in this process, for a clock that must not run ahead of them (virtual_time.py).

    `busy`: the threads that are with a request: each will answer, close, or pause.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    listeners: list[socket.socket] = field(default_factory=list)
    busy: set[threading.Thread] = field(default_factory=set)
    paused: dict[threading.Thread, tuple[float, threading.Event]] = field(default_factory=dict)

    def at_rest(self) -> bool:
        """True if nothing will come before somebody asks or a pause is over."""
        with self.lock:
            return not self.busy and not select.select(self.listeners, (), (), 0)[0]

    def next_at(self) -> float:
        """When the first pause is over, as time.monotonic has it."""
        with self.lock:
            return min((until for until, _ in self.paused.values()), default=float("inf"))

    def go_on(self, now: float, gone: Iterable[threading.Thread] = ()) -> None:
        """Those whose pause is over, and the threads of a server that is `gone`, go on."""
        with self.lock:
            for thread, (until, over) in list(self.paused.items()):
                if until <= now or thread in gone:
                    del self.paused[thread]
                    self.busy.add(thread)
                    over.set()


SERVERS = _Servers()


def pause(for_s: float) -> None:
    """A handler does nothing for so long by time.monotonic, a virtual one too; but no longer than
    its server runs.
    """
    over, me = threading.Event(), threading.current_thread()
    with SERVERS.lock:
        SERVERS.paused[me] = (time.monotonic() + for_s, over)
        SERVERS.busy.discard(me)
    while not over.wait(0.02):
        SERVERS.go_on(time.monotonic())


def silence(_: socket.socket, __: str = "") -> None:
    """Nothing is said for longer than anybody waits for it here."""
    pause(60.0)


@contextlib.contextmanager
def serving(
    handle: Handler, secure: ssl.SSLContext | None = None
) -> Iterator[tuple[int, list[str]]]:
    """A server runs; gives its port and the requests it has seen so far."""
    requests: list[str] = []
    listener = socket.create_server(("127.0.0.1", 0))
    stopping = threading.Event()

    def one(connection: socket.socket) -> None:
        try:
            talk(connection)
        finally:
            with SERVERS.lock:
                SERVERS.busy.discard(threading.current_thread())

    def talk(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(5)
            talking = secure.wrap_socket(connection, server_side=True) if secure else connection
            with talking:
                received = b""
                while b"\r\n\r\n" not in received:
                    part = talking.recv(65536)
                    if not part:
                        return
                    received += part
                    if received.startswith(
                        b"\x16\x03"
                    ):  # a TLS greeting: what any HTTP server makes of it
                        talking.sendall(answer("Invalid HTTP request received.", "400 Bad Request"))
                        return
                head, _, body = received.partition(b"\r\n\r\n")
                text = head.decode("latin-1")
                wanted = next(
                    (
                        int(line.split(":")[1])
                        for line in text.splitlines()
                        if line.lower().startswith("content-length:")
                    ),
                    0,
                )
                while len(body) < wanted:
                    body += talking.recv(65536)
                requests.append(f"{text.splitlines()[0]} {body.decode()}".strip())
                handle(talking, text)

    def accept() -> None:
        while not stopping.is_set():
            select.select([listener], (), ())
            with contextlib.suppress(OSError), SERVERS.lock:
                connection, _ = listener.accept()
                threads.append(threading.Thread(target=one, args=(connection,), daemon=True))
                SERVERS.busy.add(threads[-1])
                threads[-1].start()

    threads: list[threading.Thread] = []
    thread = threading.Thread(target=accept, daemon=True)
    with SERVERS.lock:
        SERVERS.listeners.append(listener)
    thread.start()
    try:
        yield listener.getsockname()[1], requests
    finally:
        stopping.set()
        with SERVERS.lock:
            SERVERS.listeners.remove(listener)
        SERVERS.go_on(float("-inf"), gone=threads)
        with contextlib.suppress(OSError):
            socket.create_connection(listener.getsockname(), timeout=1).close()
        thread.join(2)
        listener.close()


def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
