"""Several small connection pools as one transport.

At each request httpcore goes through all connections of a pool, and for each idle one through all
again: with 16 connections that is a quarter of the processor time of a scrape.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable

import httpx

LANES = 4


class Lanes(httpx.AsyncBaseTransport):
    """Sends each request by the lane that has the fewest in progress."""

    def __init__(self, verify: ssl.SSLContext | bool, limits: httpx.Limits) -> None:
        each = httpx.Limits(
            max_connections=-(-(limits.max_connections or 1) // LANES),
            max_keepalive_connections=-(-(limits.max_keepalive_connections or 1) // LANES),
        )
        self._lanes = [
            httpx.AsyncHTTPTransport(verify=verify, limits=each, trust_env=False)
            for _ in range(LANES)
        ]
        self._in_progress = [0] * LANES

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request; its lane is free again when the response is closed."""
        lane = self._in_progress.index(min(self._in_progress))
        self._in_progress[lane] += 1

        def done() -> None:
            self._in_progress[lane] -= 1

        try:
            response = await self._lanes[lane].handle_async_request(request)
        except BaseException:
            done()
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Told(response.stream, done)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        for lane in self._lanes:
            await lane.aclose()


class _Told(httpx.AsyncByteStream):
    """A stream that calls `done` when it is closed."""

    def __init__(self, inner: httpx.AsyncByteStream, done: Callable[[], None]) -> None:
        self._inner, self._done = inner, done

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._inner.__aiter__()

    async def aclose(self) -> None:
        done, self._done = self._done, _nothing
        try:
            await self._inner.aclose()
        finally:
            done()


def _nothing() -> None:
    """A stream may be closed twice."""
