"""Trouble between a client and an API server, drawn from a seed: a proxy on the loopback, and a
kubeconfig that leads through it.

with chaos.between(cluster.kubeconfig("operator"), folder, seeded(7)) as trouble:
    main(["mitigate", ..., "--kubeconfig", str(trouble.kubeconfig)])
print(trouble.summary())

client --HTTP--> proxy --TLS--> API server       one connection for each request; the client's token goes through as it is

reset-before, stall-before         the request does not arrive, or arrives ten seconds late
reset-after, error-after, cut,     it was carried out, and the answer is lost: a reset, a 500, half of it, ten seconds late
  stall-after
conflict, gone, busy, error        409, 410, 429 with Retry-After, 500: not carried out
silence                            a watch that says nothing any more, over a connection that stays
endless-list, wrong-kinds, ...     what an API server that means harm would answer (hostile.py): to lists, watches, logs and streams
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import random
import re
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml
from dev.cluster.hostile import HOSTILE, OF_LISTS, SLOW_BYTES, SLOW_EVERY_S, Hostile, lies, spoiled

_Befalls = Literal[
    "reset-before", "stall-before", "reset-after", "error-after", "cut", "stall-after", "conflict", "gone", "busy", "error", "silence"
]  # fmt: skip
Kind = _Befalls | Hostile
Choose = Callable[[str, str], Kind | None]
"""Given method and path with its query, in the order of arrival: what befalls the request."""

SHARES: Mapping[Kind, float] = {
    "reset-before": 0.012, "reset-after": 0.012, "error": 0.012, "error-after": 0.008, "cut": 0.008, "busy": 0.02,
    "conflict": 0.05, "gone": 0.02, "stall-before": 0.003, "stall-after": 0.003, "silence": 0.3,
}  # fmt: skip
"""Of a hundred reads seven go wrong, of a hundred writes thirteen; `conflict` befalls writes,
`gone` lists, `silence` watches.
"""
HOSTILE_SHARES: Mapping[Kind, float] = dict.fromkeys(HOSTILE, 0.1)
"""Of a hundred lists half are what they should not be; of the watches one in ten lies, and of the
streams one in ten is slow.
"""
STALL_S = 10.0
_ANSWERS: dict[Kind, tuple[str, str, str]] = {
    "conflict": ("409 Conflict", "Conflict", ""),
    "gone": ("410 Gone", "Expired", ""),
    "busy": ("429 Too Many Requests", "TooManyRequests", "retry-after: 1"),
    "error": ("500 Internal Server Error", "InternalError", ""),
    "error-after": ("500 Internal Server Error", "InternalError", ""),
}
_PIECE = 65_536


def seeded(seed: int, shares: Mapping[Kind, float] = SHARES) -> Choose:
    """The same trouble for the same requests in the same order."""
    dice = random.Random(seed)

    def choose(method: str, path: str) -> Kind | None:
        watches = "watch=true" in path
        drawn = dice.random()
        for kind, share in shares.items():
            fits: dict[Kind, bool] = {
                "conflict": method != "GET" and "accessreviews" not in path,
                "gone": method == "GET" and _is_list(path),
                "silence": watches,
                "lying-events": watches,
                "slow-stream": method == "GET" and re.search(r"/log(?:\?|$)", path) is not None,
                **dict.fromkeys(OF_LISTS, method == "GET" and _is_list(path) and not watches),
            }
            if not fits.get(kind, True):
                continue
            drawn -= share
            if drawn < 0:
                return kind
        return None

    return choose


def _is_list(path: str) -> bool:
    """True for /api/v1/namespaces/x/pods, False for one of them and what is below it."""
    parts = path.partition("?")[0].strip("/").split("/")
    parts = parts[2 if parts[0] == "api" else 3 :]
    return len(parts[2:] if parts[0] == "namespaces" and len(parts) > 2 else parts) == 1


@dataclass(slots=True)
class Trouble:
    """The proxy. `passed`: method, path and what befell it, of every request."""

    upstream: str
    choose: Choose
    secure: ssl.SSLContext | None = None
    stall_s: float = STALL_S
    kubeconfig: Path = Path()
    passed: list[tuple[str, str, Kind | None]] = field(default_factory=list)

    def summary(self) -> str:
        """How many requests there were, and what befell them."""
        found = Counter(kind for _, _, kind in self.passed if kind is not None)
        return f"{len(self.passed)} requests, " + (
            ", ".join(f"{count} {kind}" for kind, count in sorted(found.items())) or "no trouble"
        )

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Its address."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"(?im)^content-length: *(\d+)", head)
            body = await reader.readexactly(int(length[1])) if length else b""
            method, path, _ = head.split(" ", 2)
            kind = self.choose(method, path)
            self.passed.append((method, path, kind))
            left = asyncio.create_task(reader.read(1))
            serving = asyncio.create_task(self._serve(kind, head, body, writer))
            # a client that gave up takes its request along, as a closed connection does
            await asyncio.wait({left, serving}, return_when=asyncio.FIRST_COMPLETED)
            left.cancel()
            serving.cancel()
            await asyncio.gather(left, serving, return_exceptions=True)
        writer.close()

    async def _serve(
        self, kind: Kind | None, head: str, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        if kind == "stall-before":
            await asyncio.sleep(self.stall_s)
        if kind == "reset-before":
            _reset(writer)
        elif kind in ("conflict", "gone", "busy", "error"):
            writer.write(_answer(kind))
            await writer.drain()
        else:
            await self._forward(kind, head, body, writer)

    async def _forward(
        self, kind: Kind | None, head: str, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        where = urlsplit(self.upstream)
        host, port = where.hostname or "", where.port or 443
        up_reader, up_writer = await asyncio.open_connection(
            host, port, ssl=self.secure, server_hostname=host if self.secure else None
        )
        try:
            line, *headers = head.rstrip("\r\n").split("\r\n")
            dropped = (
                "connection",
                "host",
                *(("accept-encoding",) if kind in HOSTILE else ()),
            )  # what is changed has to be read
            kept = [header for header in headers if header.split(":")[0].lower() not in dropped]
            up_writer.write(
                "\r\n".join(
                    [line, *kept, f"host: {where.netloc}", "connection: close", "", ""]
                ).encode("latin-1")
                + body
            )
            await up_writer.drain()
            if kind in OF_LISTS:
                writer.write(spoiled(kind, await up_reader.read(-1)))
                await writer.drain()
                return
            if kind in ("reset-after", "error-after", "cut", "stall-after"):
                await self._spoiled(kind, await up_reader.read(-1), writer)
                return
            if kind == "lying-events":
                answered = await up_reader.readuntil(b"\r\n\r\n")
                chunked = b"chunked" in answered.lower() and answered.startswith(b"HTTP/1.1 200 ")
                writer.write(answered + (lies(head.split(" ", 2)[1]) if chunked else b""))
            while piece := await up_reader.read(SLOW_BYTES if kind == "slow-stream" else _PIECE):
                writer.write(piece)
                await writer.drain()
                if kind == "slow-stream":
                    await asyncio.sleep(SLOW_EVERY_S)
                if kind == "silence":
                    await asyncio.Event().wait()
        finally:
            up_writer.close()

    async def _spoiled(self, kind: Kind, answer: bytes, writer: asyncio.StreamWriter) -> None:
        if kind == "error-after":
            writer.write(_answer(kind))
        elif kind == "stall-after":
            await asyncio.sleep(self.stall_s)
            writer.write(answer)
        elif kind == "cut":
            writer.write(answer[: -max(1, (len(answer) - answer.find(b"\r\n\r\n") - 4) // 2)])
        await writer.drain()
        if kind in ("reset-after", "cut"):
            await asyncio.sleep(0.01 if kind == "cut" else 0.0)
            _reset(writer)


@contextlib.contextmanager
def between(kubeconfig: Path, folder: Path, choose: Choose) -> Iterator[Trouble]:
    """The proxy runs in a thread of its own; its kubeconfig, of the same user, lies in the
    folder.
    """
    content = yaml.safe_load(kubeconfig.read_text())
    cluster = content["clusters"][0]["cluster"]
    trouble = Trouble(
        cluster["server"], choose, _tls(cluster) if cluster["server"].startswith("https:") else None
    )
    started, loop = threading.Event(), asyncio.new_event_loop()
    stop: asyncio.Event = asyncio.Event()

    async def run() -> None:
        async with trouble.listening() as url:
            content["clusters"][0]["cluster"] = {"server": url}
            trouble.kubeconfig = folder / f"{kubeconfig.name}-in-trouble"
            trouble.kubeconfig.touch(mode=0o600)
            trouble.kubeconfig.write_text(yaml.safe_dump(content))
            started.set()
            await stop.wait()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    try:
        if not started.wait(10):
            raise RuntimeError("chaos: the proxy did not start")
        yield trouble
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def _tls(cluster: Mapping[str, Any]) -> ssl.SSLContext:
    data, file = cluster.get("certificate-authority-data"), cluster.get("certificate-authority")
    context = ssl.create_default_context(
        cadata=base64.b64decode(data).decode() if data else None, cafile=file
    )
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    return context


def _answer(kind: Kind) -> bytes:
    line, reason, more = _ANSWERS[kind]
    code = int(line[:3])
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": f"chaos: {reason}",
        "reason": reason,
        "code": code,
    }
    body = json.dumps(status)
    head = ["content-type: application/json", f"content-length: {len(body)}", "connection: close"]
    return "\r\n".join([f"HTTP/1.1 {line}", *head, *([more] if more else []), "", body]).encode()


def _reset(writer: asyncio.StreamWriter) -> None:
    """The connection is reset, not closed."""
    found: socket.socket | None = writer.get_extra_info("socket")
    if found is not None:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
