"""Sends one HTTP request, bounded in time and size, and returns the response or a sentence with the
reason for the failure.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

import httpx

from barostat.io.engine_http.address import Address

MAX_BODY_BYTES = 32 << 20
CONNECT_S = 3.0
TLS_CONNECT_S = 10.0
REDIRECTS = 3

FailureKind = Literal[
    "no-name",
    "refused",
    "unreachable",
    "tls",
    "no-http",
    "reset",
    "time-out",
    "redirect",
    "between",
]
"""`between`: an intermediary (a cluster's API server) failed or denies access, so the engine's
state is unknown.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. `cut`: why the body is incomplete; empty if it is complete."""

    status: int
    content_type: str
    body: bytes
    cut: str = ""

    @property
    def text(self) -> str:
        """The body as text; bytes that are no UTF-8 become U+FFFD."""
        return self.body.decode("utf-8-sig", "replace")

    def json(self) -> Any:
        """The decoded body; None if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class Failure:
    """No response. `why` continues after the address: "http://x:8000 " + why. `unsent`: the request
    never left this machine.
    """

    kind: FailureKind
    why: str
    unsent: bool = False


def connect_s(url: str) -> float:
    """How long a connection may take: the TLS handshake of a busy server takes seconds by itself."""
    return TLS_CONNECT_S if url.lower().startswith("https:") else CONNECT_S


def client(where: Address, key: str = "") -> httpx.AsyncClient:
    """A client for one engine: asked directly, never through a proxy; certificates are checked
    against the system's. `key`: sent as a bearer token with every request.
    """
    secure: ssl.SSLContext | bool = (
        ssl.create_default_context() if where.base.startswith("https:") else False
    )
    limits = httpx.Limits(max_connections=8, max_keepalive_connections=4)
    timeout = httpx.Timeout(None, connect=connect_s(where.base))
    auth = httpx.BasicAuth(*where.user) if where.user else None
    return httpx.AsyncClient(
        verify=secure,
        limits=limits,
        timeout=timeout,
        trust_env=False,
        auth=auth,
        headers={
            "user-agent": "barostat",
            **({"authorization": f"Bearer {key}"} if key else {}),
        },
    )


async def ask(
    session: httpx.AsyncClient,
    url: str,
    *,
    within_s: float,
    post: Any = None,
    max_bytes: int = MAX_BODY_BYTES,
) -> Answer | Failure:
    """The answer within the time, as much of it as came; redirects are followed on the same host
    only.
    """
    received: list[bytes] = []
    head: list[httpx.Response] = []
    try:
        async with asyncio.timeout(within_s):
            for _ in range(REDIRECTS + 1):
                head.clear()
                async with session.stream(
                    "GET" if post is None else "POST", url, json=post
                ) as response:
                    if not response.has_redirect_location:
                        head.append(response)
                        cut = await _receive(response, received, max_bytes)
                        return Answer(
                            response.status_code,
                            response.headers.get("content-type", ""),
                            b"".join(received),
                            cut,
                        )
                    target = urljoin(url, response.headers["location"])
                if post is not None or not _may_follow(session, url, target):
                    return Failure(
                        "redirect",
                        f"sends its callers on to {_without_query(target)}; give the "
                        "address of the engine itself",
                    )
                url = target
            return Failure(
                "redirect", "redirects in a circle; give the address of the engine itself"
            )
    except TimeoutError:
        why = f"the answer was not complete within {within_s:g} s"
        failure = Failure("time-out", f"did not answer within {within_s:g} s")
    except httpx.HTTPError as error:
        failure = failure_of(error)
        why = (
            "the connection broke off in the middle of the answer"
            if failure.kind == "reset"
            else f"the answer {failure.why}"
        )
    except (httpx.InvalidURL, ValueError) as error:
        return Failure("no-http", f"is no address that can be asked ({error})")
    if head and received:
        return Answer(
            head[0].status_code, head[0].headers.get("content-type", ""), b"".join(received), why
        )
    return failure


def _may_follow(session: httpx.AsyncClient, url: str, target: str) -> bool:
    """True for the same host; where credentials would go along, only for the same scheme and port
    too.
    """
    return (
        _origin(url) == _origin(target)
        if session.auth is not None
        else _origin(url)[1] == _origin(target)[1]
    )


def _origin(url: str) -> tuple[str, str | None, int | None]:
    """Errors: ValueError for a port that is none."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


async def _receive(response: httpx.Response, received: list[bytes], max_bytes: int) -> str:
    size = 0
    async for part in response.aiter_bytes():
        received.append(part[: max_bytes - size])
        size += len(part)
        if size >= max_bytes:
            return f"the answer is larger than {max_bytes / (1 << 20):.3g} MiB"
    return ""


_UNFINISHED = (ssl.SSLWantReadError, ssl.SSLWantWriteError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


UNTRUSTED = "set SSL_CERT_FILE to its authority, or ask the engine behind it over http"


def _no_connection(error: httpx.ConnectTimeout | httpx.PoolTimeout) -> str:
    try:
        url = str(error.request.url)
    except RuntimeError:  # httpx has no request where its pool was full
        url = ""
    why = (
        "a firewall, a network that is not reachable from here, or a TLS handshake that takes longer"
        if url.startswith("https:")
        else "a firewall, or a network that is not reachable from here"
    )
    return f"did not take the connection within {connect_s(url):g} s ({why}?)"


def failure_of(error: httpx.HTTPError, untrusted: str = UNTRUSTED) -> Failure:
    """Describe a failed exchange as a clause that follows the address. `untrusted`: what to do
    about its certificate.
    """
    causes = list(_chain(error))
    # That the handshake waits for more bytes is no error of its own: it is in the chain of every
    # one that takes too long.
    refused = [
        cause
        for cause in causes
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, _UNFINISHED)
    ]
    if refused:
        return Failure("tls", _tls(refused[0], untrusted))
    if any(isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError) for cause in causes):
        return Failure("reset", "closed the connection in the TLS handshake")
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return Failure(
            "no-name",
            "has a host name that does not resolve; check the name, or the DNS of this machine",
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return Failure(
            "refused",
            "refuses the connection: nothing listens on that port (still starting, ended, "
            "or another port?)",
        )
    match error:
        case httpx.ConnectTimeout() | httpx.PoolTimeout():
            return Failure(
                "time-out",
                _no_connection(error),
            )
        case httpx.ConnectError():
            detail = next(
                (
                    cause.strerror
                    for cause in causes
                    if isinstance(cause, OSError) and cause.strerror
                ),
                str(error) or "no route",
            )
            return Failure("unreachable", f"cannot be reached ({detail})")
        case httpx.UnsupportedProtocol():
            return Failure(
                "no-http",
                "is no address that can be asked; write it as http://host:8000",
                unsent=True,
            )
        case httpx.LocalProtocolError():  # its own words quote the header, and so the token
            return Failure(
                "no-http",
                "cannot be asked so: a header holds what HTTP does not allow, such as a line break",
                unsent=True,
            )
        case httpx.DecodingError():
            return Failure("no-http", "is compressed in a way that cannot be undone")
        case httpx.RemoteProtocolError() if (
            "disconnected" in str(error) or "incomplete" in str(error) or "closed" in str(error)
        ):
            return Failure("reset", "closed the connection without an answer (is it https?)")
        case httpx.RemoteProtocolError():
            return Failure(
                "no-http",
                "answers, but not in HTTP (is it https, gRPC, or another program's port?)",
            )
        case _:
            return Failure("reset", "broke the connection off before it answered")


def _tls(error: ssl.SSLError, untrusted: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"has a certificate that this machine does not trust ({error.verify_message}); "
            f"{untrusted}"
        )
    if "WRONG_VERSION_NUMBER" in str(error) or "RECORD_LAYER" in str(error):
        return "does not speak TLS; try http:// instead of https://"
    return f"fails in the TLS handshake ({error.reason or error})"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error with everything that led to it, groups included."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        pending += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            pending += current.exceptions


def _without_query(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
