"""The gateway's admin endpoint, on loopback by default: metrics, probes, and the limits in force.

GET  /metrics /livez /readyz /limits      for everyone who can reach it
PUT  /limits     {"holder", "leaseSeconds", "limits": {name: number}}    with the token; renewed by putting it again
DELETE /limits                            with the token; ?holder=NAME&epoch=N: only that holder's

The token comes as `Authorization: Bearer`, or as `x-barostat-token`: a Kubernetes API server that
passes a request on keeps the first.
"""

from __future__ import annotations

import asyncio
import hmac
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import httptools
import orjson

from barostat.core.errors import InputError
from barostat.core.whole_number import whole_number
from barostat.gateway.gauges import gauges
from barostat.gateway.live_limits.limits_in_force import LimitsInForce
from barostat.gateway.live_limits.overrides import HeldByAnother, asked_epoch
from barostat.gateway.messages.refusal_bodies import answer, plain_answer
from barostat.gateway.messages.tenants import bearer

if TYPE_CHECKING:
    from barostat.gateway.state import Gateway

_MOST_BYTES = 64 << 10
_WITHIN_S = 10.0
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class AdminDoor:
    """Request handler of the admin port. `token`: empty if writing is disabled."""

    def __init__(self, gateway: Gateway, limits: LimitsInForce, token: str) -> None:
        self._gateway = gateway
        self._limits = limits
        self._token = token.encode()

    def answer(self, method: bytes, target: bytes, token: bytes, body: bytes) -> bytes:
        """The whole response to one request. `token`: the one that came with it, empty for none."""
        path, _, query = target.partition(b"?")
        if path == b"/limits":
            return self._on_limits(method, query, token, body)
        if method not in (b"GET", b"HEAD"):
            return answer(405, "read-only", "This page is only read.", close=True)
        wanted = method == b"GET"
        if path == b"/metrics":
            page = self._gateway.metrics.page(*gauges(self._gateway))
            return plain_answer(200, page, _PROMETHEUS, close=True, body_wanted=wanted)
        own = self._gateway.own_page(method, path)
        if own is not None:
            return plain_answer(
                own[0], own[1], "text/plain; charset=utf-8", close=True, body_wanted=wanted
            )
        return answer(
            404,
            "not-found",
            "There are /metrics, /livez, /readyz and /limits.",
            close=True,
            body_wanted=wanted,
        )

    def _on_limits(self, method: bytes, query: bytes, token: bytes, body: bytes) -> bytes:
        now = self._gateway.rounds.now
        if method in (b"GET", b"HEAD"):
            return _json(200, self._document(now), body_wanted=method == b"GET")
        if method not in (b"PUT", b"DELETE"):
            return answer(
                405, "method-unknown", "The limits are read, put and deleted.", close=True
            )
        if not self._token:
            return answer(
                403,
                "read-only",
                "The gateway was started without --admin-token-file: the limits are only read.",
                close=True,
            )
        if not hmac.compare_digest(token, self._token):
            return answer(401, "unknown-key", "The admin token is missing or wrong.", close=True)
        try:
            if method == b"DELETE":
                self._limits.take_back(now, *_whose(query))
            else:
                self._limits.put(orjson.loads(body), now)
        except orjson.JSONDecodeError:
            return answer(400, "bad-request", "The request body is not valid JSON.", close=True)
        except InputError as error:
            return answer(
                409 if isinstance(error, HeldByAnother) else 400,
                "bad-request",
                str(error),
                close=True,
            )
        return _json(200, self._document(now))

    def _document(self, now: float) -> dict[str, Any]:
        """The limits in force, and whether they are enforced or only watched."""
        return {
            **self._limits.document(now),
            "shadow": self._gateway.desk.shadow,
            "writable": bool(self._token),
        }


def _whose(query: bytes) -> tuple[str, int]:
    """(holder, epoch) that a DELETE names. Errors: InputError for an epoch that is none."""
    asked = parse_qs(query.decode("latin-1"))
    holder, epoch = asked.get("holder", [""])[0], asked.get("epoch", ["0"])[0]
    return holder, asked_epoch(whole_number(epoch))


def _json(status: int, document: Any, *, body_wanted: bool = True) -> bytes:
    return plain_answer(
        status, orjson.dumps(document), "application/json", close=True, body_wanted=body_wanted
    )


class AdminConnection(asyncio.Protocol):
    """One request, one answer, and the end; bounded in size and time."""

    def __init__(self, door: AdminDoor) -> None:
        self._door = door
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._target = b""
        self._token = b""
        self._body = b""
        self._bytes = 0
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection; it is closed after a time limit."""
        self._transport = transport  # type: ignore[assignment]
        self._late = asyncio.get_running_loop().call_later(_WITHIN_S, transport.close)

    def connection_lost(self, _: Exception | None) -> None:
        """Cancel the time limit."""
        if self._late is not None:
            self._late.cancel()

    def data_received(self, data: bytes) -> None:
        """Parse request bytes, up to a size limit."""
        self._bytes += len(data)
        if self._bytes > _MOST_BYTES:
            self._say(answer(413, "body-too-large", "The request is too large.", close=True))
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._say(answer(400, "bad-request", "The request is not valid HTTP/1.1.", close=True))

    def on_url(self, url: bytes) -> None:
        """A piece of its target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes | None) -> None:
        """Parser callback: a header field."""
        match name.lower():
            case b"authorization":
                self._token = self._token or bearer(value or b"")
            case b"x-barostat-token":
                self._token = (value or b"").strip()

    def on_body(self, data: bytes) -> None:
        """A piece of its body."""
        self._body += data

    def on_message_complete(self) -> None:
        """Parser callback: answer the complete request."""
        self._say(
            self._door.answer(self._parser.get_method(), self._target, self._token, self._body)
        )

    def _say(self, text: bytes) -> None:
        transport = self._transport
        if transport is not None and not transport.is_closing():
            transport.write(text)
            transport.close()
