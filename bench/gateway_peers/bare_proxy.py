"""The least that a proxy in Python costs: uvloop, httptools, bytes passed on, nothing read,
decided, bounded or counted.

    python bench/gateway_peers/bare_proxy.py PORT UPSTREAM_PORT

How fast a machine runs Python differs more from machine to machine than how fast it runs nginx:
what the gateway's decision costs is told by what it takes beyond this, in the same run. Requests
with a length, one at a time on a connection; no error is handled.
"""

from __future__ import annotations

import asyncio
import sys

import httptools
import uvloop

IDLE: list[Upstream] = []


class Upstream(asyncio.Protocol):
    """A connection to the engine, kept for the next request."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready to write."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """The answer goes on as it came; the parser only finds its end."""
        self.client.transport.write(data)
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        """The next request may have this connection."""
        self.parser = httptools.HttpResponseParser(self)
        IDLE.append(self)

    def connection_lost(self, _: Exception | None) -> None:
        """It is not used again."""
        if self in IDLE:
            IDLE.remove(self)


class Client(asyncio.Protocol):
    """A client's connection: a request that is whole goes on as it came."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready to read."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.parser = httptools.HttpRequestParser(self)
        self.pieces: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        """Kept until the request is whole."""
        self.pieces.append(data)
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        """The request is sent."""
        request, self.pieces = b"".join(self.pieces), []
        if IDLE:
            upstream = IDLE.pop()
            upstream.client = self
            upstream.transport.write(request)
        else:
            asyncio.get_running_loop().create_task(self._dialled(request))

    async def _dialled(self, request: bytes) -> None:
        loop = asyncio.get_running_loop()
        _, upstream = await loop.create_connection(
            lambda: Upstream(self), "127.0.0.1", int(sys.argv[2])
        )
        upstream.transport.write(request)


async def main() -> None:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(
        Client, "127.0.0.1", int(sys.argv[1]), backlog=2048
    )
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
