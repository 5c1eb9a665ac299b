"""The operator's HTTP endpoints: metrics, probes, and Alertmanager's webhook.

GET  /metrics /livez /readyz      for everyone who can reach the port
POST /alertmanager                firing alerts; requires the bearer token, if one is set
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import h11

MOST_BYTES = 1 << 20
WITHIN_S = 10.0
MOST_ALERTS = 200
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class FiringAlert:
    """One alert that fires, by its name and labels."""

    name: str
    labels: Mapping[str, str]


@dataclass(slots=True)
class Listening:
    """The port. `page`: the metrics. `ready`: why it is not ready; empty if it is. `fired`: called
    with the alerts that fire. `token`: what Alertmanager has to send; empty: none is needed on
    loopback, and elsewhere posting is disabled.
    """

    host: str
    port: int
    page: Callable[[], str]
    ready: Callable[[], str]
    fired: Callable[[list[FiringAlert]], None]
    token: str = field(default="", repr=False)
    _server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen. Errors: OSError where the port is taken."""
        self._server = await asyncio.start_server(self._serve, self.host, self.port)

    @property
    def bound(self) -> int:
        """The port that was bound."""
        return int(self._server.sockets[0].getsockname()[1]) if self._server else 0

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(WITHIN_S):
                await self._one(reader, writer)
        except (TimeoutError, OSError, h11.RemoteProtocolError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER)
        request: h11.Request | None = None
        body = b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(1 << 16))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MOST_BYTES:
                    break
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return
        if request is None:
            return
        if len(body) > MOST_BYTES:
            status, kind, said = 413, "text/plain", "The request is too large.\n"
        else:
            status, kind, said = self.answer(
                request.method.decode(),
                request.target.decode("latin-1"),
                dict(request.headers),
                body,
            )
        content = said.encode()
        head = h11.Response(
            status_code=status,
            headers=[
                ("content-type", kind),
                ("content-length", str(len(content))),
                ("connection", "close"),
            ],
        )
        sent = connection.send(head) or b""
        sent += connection.send(h11.Data(data=content)) or b""
        writer.write(sent + (connection.send(h11.EndOfMessage()) or b""))
        await writer.drain()

    def answer(
        self, method: str, target: str, headers: Mapping[bytes, bytes], body: bytes
    ) -> tuple[int, str, str]:
        """Status, content type and text of the response."""
        path = target.partition("?")[0]
        if path == "/alertmanager":
            return self._alerts(method, headers, body)
        if method not in ("GET", "HEAD"):
            return 405, "text/plain", "This page is read-only.\n"
        match path:
            case "/metrics":
                return 200, PROMETHEUS, self.page()
            case "/livez":
                return 200, "text/plain", "ok\n"
            case "/readyz":
                why = self.ready()
                return (503, "text/plain", f"{why}\n") if why else (200, "text/plain", "ok\n")
        return 404, "text/plain", "There are /metrics, /livez, /readyz and /alertmanager.\n"

    def _alerts(
        self, method: str, headers: Mapping[bytes, bytes], body: bytes
    ) -> tuple[int, str, str]:
        if method != "POST":
            return 405, "text/plain", "Alertmanager posts here.\n"
        sent = headers.get(b"authorization", b"")
        if not self.token and not is_loopback(self.host):
            return 403, "text/plain", "Closed: the operator has no --alertmanager-token-file.\n"
        if self.token and not hmac.compare_digest(sent, f"Bearer {self.token}".encode()):
            return 401, "text/plain", "The bearer token is missing or wrong.\n"
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            return 400, "text/plain", "The body is not JSON.\n"
        found = firing(document)
        if found is None:
            return 400, "text/plain", "The body is not Alertmanager's webhook: it has no alerts.\n"
        self.fired(found)
        return 200, "text/plain", f"{len(found)} alerts taken.\n"


def is_loopback(host: str) -> bool:
    """True if only this machine can reach it."""
    return host in ("localhost", "::1") or host.startswith("127.")


def firing(document: Any) -> list[FiringAlert] | None:
    """The alerts of a webhook that fire; None for another document."""
    alerts = document.get("alerts") if isinstance(document, dict) else None
    if not isinstance(alerts, list):
        return None
    found = []
    for alert in alerts[:MOST_ALERTS]:
        labels = alert.get("labels") if isinstance(alert, dict) else None
        if not isinstance(labels, dict) or alert.get("status") != "firing":
            continue
        kept = {key: one for key, one in labels.items() if isinstance(one, str)}
        found.append(FiringAlert(kept.get("alertname", "an alert")[:100], kept))
    return found
