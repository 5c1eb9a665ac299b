"""Routes to an engine's HTTP server: direct, or through the Kubernetes API server."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import httpx

from barostat.io.engine_http.address import Address
from barostat.io.engine_http.http import MAX_BODY_BYTES, Answer, Failure, ask, client


class EngineRoute(Protocol):
    """Sends requests to one engine."""

    @property
    def base(self) -> str:
        """Base URL, for display."""

    @property
    def name(self) -> str:
        """The replica's name."""

    def at(self, path: str) -> str:
        """URL of an endpoint, for the source of a signal."""

    async def ask(
        self, path: str, *, within_s: float, post: Any = None, max_bytes: int = MAX_BODY_BYTES
    ) -> Answer | Failure:
        """Return the response, truncated at `max_bytes` or after `within_s`; Failure if none came."""

    async def close(self) -> None:
        """Close all connections."""


@dataclass(slots=True)
class DirectRoute:
    """An engine whose address is reachable from this machine."""

    where: Address
    _session: httpx.AsyncClient | None = None

    @property
    def base(self) -> str:
        """The URL without an endpoint."""
        return self.where.base

    @property
    def name(self) -> str:
        """Host and port."""
        return self.where.name

    def at(self, path: str) -> str:
        """The URL of an endpoint."""
        return self.where.at(path)

    async def ask(
        self, path: str, *, within_s: float, post: Any = None, max_bytes: int = MAX_BODY_BYTES
    ) -> Answer | Failure:
        """Return the response, truncated at `max_bytes` or after `within_s`; Failure if none came."""
        if self._session is None:
            self._session = client(self.where)
        found = await ask(
            self._session, self.where.at(path), within_s=within_s, post=post, max_bytes=max_bytes
        )
        if isinstance(found, Failure) and found.kind == "no-name" and "." not in self.where.host:
            found = replace(
                found,
                why=(
                    f"{found.why}; in a cluster it may be pod/{self.where.host} or "
                    f"deploy/{self.where.host}"
                ),
            )
        return found

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.aclose()
