"""Exec in a container and one HTTP exchange through a port-forward: the two things that go over a
WebSocket to the API server.

Source: Kubernetes 1.27 to 1.34, subprotocol v4.channel.k8s.io (first byte of a message is its
channel). Exec: 1 output, 2 errors, 3 the end as a Status. Port-forward: 0 data, 1 error, and each
begins with a message that repeats the port.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import h11
import httpx
import httpx_ws

from barostat.io.engine_http.http import MAX_BODY_BYTES, Answer, Failure
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed, of_answer, of_error, of_failure
from barostat.io.kubernetes.client.resources import PODS
from barostat.platform.objects import objects, text

PROTOCOL = "v4.channel.k8s.io"
MAX_OUTPUT_BYTES = 4 << 20
_WORDS_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended. `exit_code` is that of the command."""

    out: str
    err: str
    exit_code: int


async def execute(
    cluster: Cluster,
    namespace: str,
    pod: str,
    container: str,
    command: Sequence[str],
    within_s: float,
) -> Ran | RequestFailed:
    """Run a command in the container; returns its output and exit code. It gets no input."""
    what = f"create pods/exec in {namespace}"
    params: list[tuple[str, str]] = [("command", word) for word in command]
    params += [("stdout", "true"), ("stderr", "true")] + (
        [("container", container)] if container else []
    )
    parts: dict[int, list[bytes]] = {1: [], 2: [], 3: []}
    size = 0
    try:
        async with (
            asyncio.timeout(within_s),
            _socket(cluster, PODS.path(namespace, pod, "exec"), params) as socket,
        ):
            while not parts[3]:
                channel, content = await _message(socket)
                size += len(content)
                if content and channel in parts and size <= MAX_OUTPUT_BYTES:
                    parts[channel].append(content)
    except httpx_ws.WebSocketDisconnect:
        pass
    except (TimeoutError, httpx.HTTPError, httpx_ws.HTTPXWSException) as error:
        return await _why(error, cluster, what, within_s)
    out, err, end = (b"".join(parts[channel]) for channel in (1, 2, 3))
    return Ran(out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), _exit_code(end))


async def through_port(
    cluster: Cluster,
    namespace: str,
    pod: str,
    port: int,
    path: str,
    *,
    within_s: float,
    post: Any = None,
    max_bytes: int = MAX_BODY_BYTES,
) -> Answer | Failure | RequestFailed:
    """Send a GET request to a port of the pod through a port-forward connection."""
    what = f"create pods/portforward in {namespace}"
    wire = h11.Connection(h11.CLIENT)
    body = b"" if post is None else json.dumps(post).encode()
    headers = [
        ("host", f"localhost:{port}"),
        ("user-agent", "barostat"),
        ("accept", "*/*"),
        ("connection", "close"),
    ]
    headers += (
        [("content-type", "application/json"), ("content-length", str(len(body)))]
        if post is not None
        else []
    )
    sent = (
        wire.send(
            h11.Request(method="GET" if post is None else "POST", target=path, headers=headers)
        )
        or b""
    )
    sent += (wire.send(h11.Data(data=body)) or b"") if body else b""
    sent += wire.send(h11.EndOfMessage()) or b""
    reading = _Response(wire, max_bytes)
    try:
        async with asyncio.timeout(within_s):
            async with _socket(
                cluster, PODS.path(namespace, pod, "portforward"), [("ports", str(port))]
            ) as socket:
                await socket.send_bytes(b"\x00" + sent)
                begun: set[int] = set()
                while not reading.done:
                    channel, content = await _message(socket)
                    if channel not in begun:
                        begun.add(channel)
                    elif channel == 1 and content:
                        return Failure(
                            "refused",
                            "is not listening, the kubelet says: "
                            f"{' '.join(content.decode('utf-8', 'replace').split())[-160:]}",
                        )
                    elif channel == 0:
                        reading.feed(content)
    except httpx_ws.WebSocketDisconnect:
        reading.feed(b"")
    except h11.RemoteProtocolError:
        return Failure(
            "no-http", "answers, but not in HTTP (is it https, gRPC, or another program's port?)"
        )
    except (TimeoutError, httpx.HTTPError, httpx_ws.HTTPXWSException) as error:
        if reading.status and isinstance(error, TimeoutError):
            return reading.answer(f"the answer was not complete within {within_s:g} s")
        return await _why(error, cluster, what, within_s)
    if not reading.status:
        return Failure("reset", "closed the connection without an answer (is it https?)")
    return reading.answer(
        ""
        if reading.whole
        else reading.cut or "the connection broke off in the middle of the answer"
    )


class _Response:
    """A response as it comes in."""

    def __init__(self, wire: h11.Connection, max_bytes: int) -> None:
        self._wire, self._left = wire, max_bytes
        self._body: list[bytes] = []
        self._type = ""
        self.status = 0
        self.cut = ""
        self.whole = self.done = False

    def feed(self, content: bytes) -> None:
        """Process received bytes; empty means that the connection has ended."""
        if self.done:
            return
        try:
            self._wire.receive_data(content)
            self._events()
        except h11.RemoteProtocolError:
            if not self.status:
                if content:
                    raise
                self.done = True
            self.done = True
        self.done = self.done or not content

    def _events(self) -> None:
        while not self.done:
            event = self._wire.next_event()
            match event:
                case h11.Response():
                    self.status = event.status_code
                    self._type = next(
                        (
                            value.decode("latin-1")
                            for name, value in event.headers
                            if name == b"content-type"
                        ),
                        "",
                    )
                case h11.Data():
                    self._body.append(bytes(event.data[: self._left]))
                    self._left -= len(event.data)
                    if self._left <= 0:
                        self.cut, self.done = "the answer is larger than may be read", True
                case h11.EndOfMessage():
                    self.whole = self.done = True
                case h11.NEED_DATA | h11.PAUSED | h11.ConnectionClosed():
                    return

    def answer(self, cut: str) -> Answer:
        """Return the response received so far. `cut`: why it is incomplete."""
        return Answer(self.status, self._type, b"".join(self._body), cut)


@asynccontextmanager
async def _socket(
    cluster: Cluster, path: str, params: Sequence[tuple[str, str]]
) -> AsyncIterator[httpx_ws.AsyncWebSocketSession]:
    session = await cluster.session()
    query = urlencode(params)
    try:
        async with httpx_ws.aconnect_ws(
            f"{path}?{query}", session, subprotocols=[PROTOCOL], max_message_size_bytes=1 << 20, keepalive_ping_interval_seconds=None,
            session_class=httpx_ws.AsyncWebSocketSession,
        ) as socket:  # fmt: skip
            yield socket
    except (
        ExceptionGroup
    ) as group:  # what went wrong here, and what the closing of the line came to
        leaves = list(_leaves(group))
        raise next(
            (leaf for leaf in leaves if isinstance(leaf, h11.RemoteProtocolError)), leaves[0]
        ) from None


def _leaves(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for found in group.exceptions:
        if isinstance(found, ExceptionGroup):
            yield from _leaves(found)
        else:
            yield found


async def _message(socket: httpx_ws.AsyncWebSocketSession) -> tuple[int, bytes]:
    """Channel and content of the next message."""
    message = await socket.receive_bytes()
    return (message[0], message[1:]) if message else (-1, b"")


def _exit_code(end: bytes) -> int:
    try:
        status = json.loads(end) if end else {}
    except (ValueError, RecursionError):
        return -1
    if text(status, "status") == "Success":
        return 0
    told = [
        text(cause, "message")
        for cause in objects(status, "details", "causes")
        if text(cause, "reason") == "ExitCode"
    ]
    return next((int(number) for number in told if re.fullmatch(r"[0-9]{1,9}", number)), -1)


async def _why(error: Exception, cluster: Cluster, what: str, within_s: float) -> RequestFailed:
    access = cluster.access
    if isinstance(error, httpx_ws.WebSocketUpgradeError):
        response = error.response
        try:
            async with asyncio.timeout(1.0):
                body = (await response.aread())[:_WORDS_BYTES]
        except TimeoutError:
            body = b""
        except (httpx.HTTPError, httpx.StreamError, RuntimeError):
            body = b""
        return of_answer(response.status_code, response.headers, body, what)
    if isinstance(error, TimeoutError):
        return of_failure(
            Failure("time-out", f"did not answer within {within_s:g} s"), access, what, sent=True
        )
    if isinstance(error, httpx.HTTPError):
        return of_failure(of_error(error, access), access, what, sent=True)
    return of_failure(Failure("reset", "broke the connection off"), access, what, sent=True)
