"""A client's connection as exchanges and the gateway see it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod


class ClientSide(ABC):
    """`closing`: nothing more is answered. `paused_at`: since when the client takes nothing, 0
    while it does.
    """

    __slots__ = ("closing", "paused_at", "transport")

    def __init__(self) -> None:
        self.transport: asyncio.Transport = None  # type: ignore[assignment]
        self.closing = False
        self.paused_at = 0.0

    @abstractmethod
    def answered(self, *, keep: bool) -> None:
        """The answer under way is complete: handle the next request or (not `keep`) close the
        connection.
        """

    @abstractmethod
    def cut(self) -> None:
        """The answer broke off: the connection ends, so that the client can tell."""

    @abstractmethod
    def tenant_of(self, key: bytes) -> str | None:
        """Return the tenant of a key; None for an unknown key."""

    @property
    @abstractmethod
    def is_answering(self) -> bool:
        """A request has come whole, and its answer is not complete."""

    @property
    @abstractmethod
    def is_busy(self) -> bool:
        """A request has not come whole, or its answer is not complete, or not sent."""

    @abstractmethod
    def close_if_idle(self) -> None:
        """The gateway takes no more connections: this one closes unless something is under way."""

    @abstractmethod
    def drain(self) -> None:
        """The gateway ends: what is under way ends properly where it can."""

    @abstractmethod
    def cut_off(self) -> None:
        """Abort the current exchange, at shutdown."""
