"""The way to one engine's HTTP server: directly, or through the API server of the cluster that it
runs in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import httpx

from barostat.io.engine_http.address import Address
from barostat.io.engine_http.http import MAX_BODY_BYTES, Answer, Failure, ask, client


class EngineRoute(Protocol):
    """What asks one engine. `base` names it for a person, `name` is its replica's name."""

    @property
    def base(self) -> str:
        """The address, as a person would write it."""

    @property
    def name(self) -> str:
        """The replica's name."""

    def at(self, path: str) -> str:
        """What was read, as the source of a signal."""

    async def ask(
        self, path: str, *, within_s: float, post: Any = None, max_bytes: int = MAX_BODY_BYTES
    ) -> Answer | Failure:
        """The answer within the time, as much of it as came."""

    async def close(self) -> None:
        """Nothing is open any more."""


@dataclass(slots=True)
class DirectRoute:
    """An engine at an address that can be reached from here."""

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
        """The answer within the time, as much of it as came."""
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
        """The connections are closed."""
        if self._session is not None:
            await self._session.aclose()
