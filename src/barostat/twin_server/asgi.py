"""The seam to the HTTP server: one request and its answer, as ASGI has them. uvicorn is named in
`server.py` and nowhere else.

Every answer is counted as vLLM's instrumentation counts it; a disconnect during the response is
reported to the handler.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping
from typing import Any, TypeVar

from barostat.core.bounds import REQUEST_BYTES, REQUESTS_BYTES
from barostat.engines.vllm.error_bodies import Refusal

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
T = TypeVar("T")
BODY_S = 60.0
"""How long a request may take to arrive."""
_SENT_AT_ONCE = 1 << 18
_JSON = (b"content-type", b"application/json")
_VARY = (b"vary", b"Origin")


class Gone(Exception):
    """The client has closed its connection. Caught in this room: it ends the answer."""


class TooMuch(Exception):
    """A request beyond what is read of one. Caught in this room: it is answered with `status`."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Held:
    """Memory held by request bodies being read, in total. Mutable."""

    def __init__(self) -> None:
        self.held_bytes = 0


class Exchange:
    """One request and its response. Mutable. `held`: memory budget shared with other requests."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, held: Held | None = None
    ) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: dict[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        self.status = 0
        self.sent_bytes = 0
        self.began_s = self.arrived_s = time.monotonic()
        self._receive = receive
        self._send = send
        self._held = held or Held()
        self._own_bytes = 0

    @property
    def request_bytes(self) -> int:
        """Length that the client states; 0 where it does not."""
        text = self.headers.get("content-length", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0

    @property
    def states_json(self) -> bool:
        """True if the client says that it sends JSON."""
        return (
            self.headers.get("content-type", "").partition(";")[0].strip().lower()
            == "application/json"
        )

    async def body(self) -> bytes | bytearray:
        """The whole request body.

        Errors: Gone; TooMuch where it is larger, or takes longer, than is waited for.
        """
        try:
            async with asyncio.timeout(BODY_S):
                return await self._body()
        except TimeoutError:
            raise TooMuch(408, f"the request was not complete within {BODY_S:g} s") from None

    async def _body(self) -> bytes | bytearray:
        body = bytearray()
        while True:
            if max(len(body), self.request_bytes) > REQUEST_BYTES.most:
                raise TooMuch(413, f"a request has at most {REQUEST_BYTES.most >> 20} MiB here")
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone
            piece = message.get("body", b"")
            body += piece
            self._own_bytes += len(piece)
            self._held.held_bytes += len(piece)
            if self._held.held_bytes > REQUESTS_BYTES.most:
                raise TooMuch(503, "too much is being read of other requests: ask again later")
            if not message.get("more_body", False):
                return body

    def let_go(self) -> None:
        """Its body is read, or not wanted any more: it does not count among those that are held."""
        self._held.held_bytes -= self._own_bytes
        self._own_bytes = 0

    async def unless_gone(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the work, or cancel it if the client disconnects.

        Errors: Gone; those of the work.
        """
        task = asyncio.ensure_future(work)
        watch = asyncio.ensure_future(self._disconnect())
        try:
            await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Gone
            return task.result()
        finally:
            watch.cancel()
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def answer(
        self, status: int, content: bytes, headers: tuple[tuple[bytes, bytes], ...] = (_JSON,)
    ) -> None:
        """The whole answer is sent."""
        self.status = status
        self.sent_bytes = len(content)
        length = (b"content-length", str(len(content)).encode())
        headers = (
            *(one for one in headers if one[0] == b"allow"),
            length,
            *(one for one in headers if one[0] != b"allow"),
        )
        await self._send(
            {"type": "http.response.start", "status": status, "headers": [*headers, _VARY]}
        )
        left = memoryview(content if self.method != "HEAD" else b"")
        while (
            len(left) > _SENT_AT_ONCE
        ):  # a large one as the client reads it, and not all of it copied behind one that is slow
            await self._send(
                {
                    "type": "http.response.body",
                    "body": bytes(left[:_SENT_AT_ONCE]),
                    "more_body": True,
                }
            )
            left = left[_SENT_AT_ONCE:]
        await self._send({"type": "http.response.body", "body": bytes(left)})

    async def answer_json(self, status: int, value: object) -> None:
        """The whole answer is sent as JSON."""
        await self.answer(
            status, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        )

    async def no_route(self, allowed: Iterable[str] = ()) -> None:
        """405 where other methods are allowed on that path, else 404."""
        methods = ", ".join(allowed)
        status, detail = (405, "Method Not Allowed") if methods else (404, "Not Found")
        headers = ((b"allow", methods.encode()), _JSON) if methods else (_JSON,)
        await self.answer(
            status, json.dumps({"detail": detail}, separators=(",", ":")).encode(), headers
        )

    async def refuse(self, refusal: Refusal) -> None:
        """Send an error response."""
        await self.answer_json(refusal.status, refusal.body())

    async def begin_events(self) -> None:
        """An event stream has begun."""
        self.status = 200
        kind = (b"content-type", b"text/event-stream; charset=utf-8")
        await self._send({"type": "http.response.start", "status": 200, "headers": [kind, _VARY]})

    async def event(self, text: str, name: str = "") -> None:
        """One event is sent. `name`: its type, where the stream has several."""
        head = f"event: {name}\n" if name else ""
        body = f"{head}data: {text}\n\n".encode()
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def end_events(self) -> None:
        """End the event stream."""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class Late:
    """Sends everything that much later, in order, without holding up who sends: a slow way back to
    the client.
    """

    def __init__(self, send: Send, delay_s: float) -> None:
        self._send = send
        self._delay_s = delay_s
        self._queue: asyncio.Queue[tuple[float, Message]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        """The message is on its way. The last one of an answer is waited for."""
        if self._task is None:
            self._task = asyncio.create_task(self._carry())
        self._queue.put_nowait((time.monotonic() + self._delay_s, message))
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            await self._task

    def close(self) -> None:
        """Nothing more is sent: the client has gone."""
        if self._task is not None:
            self._task.cancel()

    async def _carry(self) -> None:
        while True:
            due_s, message = await self._queue.get()
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            await self._send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                return
