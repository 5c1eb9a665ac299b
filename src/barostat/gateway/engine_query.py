"""The gateway asks an engine something itself: one request over the pool's own connections, its
whole body as the answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barostat.gateway.messages.request_head import RequestHead
from barostat.gateway.messages.response_framing import CHUNKS, Framing

if TYPE_CHECKING:
    from barostat.gateway.replica import Replica
    from barostat.gateway.upstream import UpstreamConnection

MAX_ANSWER_BYTES = 16 << 20


class EngineQuery:
    """A request of the gateway itself to an engine. `came`: (status, body), or None if no complete
    response arrived.
    """

    def __init__(
        self,
        replica: Replica,
        method: bytes,
        target: bytes,
        *,
        body: bytes = b"",
        credentials: bytes = b"",
    ) -> None:
        self.replica = replica
        self.added = b""
        self.head = RequestHead()
        self.head.method, self.head.target = method, target
        if body:
            self.head.lines += (b"content-type", b": ", b"application/json", b"\r\n")
        self.body = body
        self.credentials = credentials
        self.waits_for_connection = True
        self.upstream: UpstreamConnection | None = None
        self.framing: Framing | None = None
        self.pieces: list[bytes] = []
        self.size = 0
        self.refused = False
        self.broke = ""  # how the connection ended without an answer, in words
        self.came: asyncio.Future[tuple[int, bytes] | None] = (
            asyncio.get_running_loop().create_future()
        )

    async def asked(self, within_s: float) -> tuple[int, bytes] | None:
        """The answer, None if none came in time."""
        self.replica.carry(self)
        try:
            async with asyncio.timeout(within_s):
                return await self.came
        except TimeoutError:
            return None
        finally:
            self.waits_for_connection = False
            if self.upstream is not None:
                self.upstream.leave()
                self.upstream = None

    def connected(self, upstream: UpstreamConnection) -> None:
        """Send the query over the new connection."""
        self.waits_for_connection = False
        self.upstream = upstream
        replica = self.replica
        head = self.head.written(replica.host, self.credentials, len(self.body), replica.path)
        upstream.send(self, head, self.body)

    def not_connected(self) -> None:
        """Fail: the engine refused the connection."""
        self.waits_for_connection = False
        self.refused = True
        self._tell(None)

    def head_came(self, framing: Framing) -> None:
        """Store the framing of the response."""
        self.framing = framing

    def passed_on(self, data: bytes) -> None:
        """Store a part of the response; leave if it is too large."""
        self.pieces.append(data)
        self.size += len(data)
        if self.size > MAX_ANSWER_BYTES and self.upstream is not None:
            self.upstream.leave()
            self.upstream = None
            self._tell(None)

    def complete(self) -> None:
        """Parse and deliver the complete response."""
        self.upstream = None
        framing = self.framing
        assert framing is not None
        _, _, body = b"".join(self.pieces).partition(b"\r\n\r\n")
        self._tell(
            (framing.status, joined_chunks(body) if framing.mode in (CHUNKS, CHUNKS + 2) else body)
        )

    def engine_closed(self, *, unanswered: bool) -> None:
        """The connection is gone; a kept one may only have been too old."""
        self.upstream = None
        if unanswered and not self.came.done():
            self.waits_for_connection = True
            self.replica.carry(self, fresh=True)
        else:
            self.broke = "it closed the connection without an answer"
            self._tell(None)

    def engine_failed(self, kind: str) -> None:
        """Called if the response was invalid."""
        self.broke = f"what it answers is no HTTP ({kind})"
        self.upstream = None
        self._tell(None)

    def _tell(self, answer: tuple[int, bytes] | None) -> None:
        if not self.came.done():
            self.came.set_result(answer)


def joined_chunks(body: bytes) -> bytes:
    """A chunked body without its chunks. Shapes: whole, and framed as `response_framing` has
    checked it.
    """
    parts: list[bytes] = []
    at = 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end].partition(b";")[0], 16)
        if not size:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + size])
        at = end + 4 + size
