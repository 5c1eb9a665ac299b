"""One engine behind the gateway: its address, its connections and its health."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast
from urllib.parse import urlsplit

from barostat.core.errors import InputError
from barostat.gateway.bounds import Bounds
from barostat.gateway.messages.served import Served
from barostat.gateway.upstream import Carried, UpstreamConnection

Standing = Literal["unknown", "up", "unreachable", "unhealthy", "stalled", "named-twice", "leaving"]
"""`stalled`: it says that it is healthy and has requests running, and makes no tokens.
`named-twice`: it is an engine that was named before by another address, and its pool is that one's.
`leaving`: it gets nothing new.
"""

_PATH = re.compile(r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?")
"""RFC 3986, section 3.3: it stands in request lines, logs and labels as it is."""


@dataclass(frozen=True, slots=True)
class UpstreamAddress:
    """Address of an engine. `name`: host, port and path, as metrics and logs call it; `path` is put
    before every target.
    """

    name: str
    host: str
    port: int
    secure: bool
    path: bytes

    @property
    def authority(self) -> bytes:
        """Value of the Host header."""
        usual = 443 if self.secure else 80
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (host if self.port == usual else f"{host}:{self.port}").encode()


def upstream_address(url: str) -> UpstreamAddress:
    """The address that a person wrote: http://host:8000, https://host, host:8000.

    Errors: InputError where it is none.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
        (parts.hostname or "").encode("idna")  # as it will be looked up
    except ValueError:
        raise InputError("is no URL of an engine; write it as http://host:8000", url) from None
    if parts.username or parts.password:
        raise InputError(
            "an engine's key does not belong in its URL: say --engine-key-file FILE",
            parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(),
        )
    path = parts.path.rstrip("/")
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.query
        or parts.fragment
        or _PATH.fullmatch(path) is None
    ):
        raise InputError("is no URL of an engine; write it as http://host:8000", url)
    secure = parts.scheme == "https"
    port = port or (443 if secure else 80)
    host = parts.hostname
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return UpstreamAddress(place + path, host, port, secure, path.encode())


class Replica:
    """A pool of connections, the last used first: few are kept busy, the rest grow old and are
    closed.
    """

    __slots__ = (
        "active", "address", "bounds", "dialing", "host", "idle", "name", "now", "path", "secure", "served", "standing", "why",
    )  # fmt: skip

    def __init__(
        self,
        address: UpstreamAddress,
        bounds: Bounds,
        now: Callable[[], float],
        secure: ssl.SSLContext | None = None,
    ) -> None:
        self.address = address
        self.name = address.name
        self.host = address.authority
        self.path = address.path
        self.bounds = bounds
        self.now = now
        self.secure = secure if address.secure else None
        self.idle: list[UpstreamConnection] = []
        self.dialing: set[asyncio.Task[None]] = set()
        self.active = 0
        self.standing: Standing = "unknown"
        self.why = ""  # it stands so, in words; for people only
        self.served = Served()

    def carry(self, exchange: Carried, *, fresh: bool = False) -> None:
        """The exchange gets a connection: one that is kept, or (`fresh`, or none is) a new one."""
        while self.idle and not fresh:
            kept = self.idle.pop()
            if not kept.transport.is_closing():
                exchange.connected(kept)
                return
        task = asyncio.get_running_loop().create_task(self._dial(exchange))
        self.dialing.add(task)
        task.add_done_callback(self.dialing.discard)

    async def _dial(self, exchange: Carried) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.bounds.connect_s):
                connection = UpstreamConnection(self)
                protocol = cast("asyncio.Protocol", connection)
                await loop.create_connection(
                    lambda: protocol, self.address.host, self.address.port, ssl=self.secure
                )
        except (OSError, TimeoutError) as error:
            self.why = _why_not(error, self.bounds.connect_s)
            exchange.not_connected()
            return
        if exchange.waits_for_connection:
            exchange.connected(connection)
        else:
            self.give_back(connection)

    def give_back(self, connection: UpstreamConnection) -> None:
        """The connection waits for the next exchange."""
        if len(self.idle) >= self.bounds.idle_per_replica:
            connection.transport.close()
            return
        connection.idle_since = self.now()
        self.idle.append(connection)

    def lost(self, connection: UpstreamConnection) -> None:
        """Forget a closed idle connection."""
        if connection.exchange is None and connection in self.idle:
            self.idle.remove(connection)

    def close_old(self, now: float) -> None:
        """Close connections that have been idle for some time, before the engine does."""
        limit = now - self.bounds.upstream_idle_s
        while self.idle and self.idle[0].idle_since < limit:
            self.idle.pop(0).transport.close()

    def close(self) -> None:
        """No connection is kept and none is made."""
        for task in self.dialing:
            task.cancel()
        for kept in self.idle:
            kept.transport.close()
        self.idle = []


def _why_not(error: OSError | TimeoutError, within_s: float) -> str:
    """Why there is no connection, and what to do where it is no outage."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted: {error.verify_message}; --upstream-ca FILE names "
            "its authority"
        )
    if isinstance(error, ssl.SSLError):
        return "it speaks no TLS, or one that this machine does not; is it http:// there?"
    if isinstance(error, TimeoutError):
        return f"no connection within {within_s:g} s"
    if isinstance(error, socket.gaierror):
        return f"its name is not known: {error.strerror}"
    return os.strerror(error.errno) if error.errno else str(error)
