"""A request as the desk, the count and the account see it, however it came: as an exchange on a
connection, or as a call of Envoy's.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from barostat.admit.decision import Admitted, Decision, Refused
from barostat.gateway.messages.request_head import RequestHead
from barostat.gateway.messages.routes import Route
from barostat.gateway.messages.shape import Shape


class Asking(ABC):
    """A request for admission. `reservation`: in the ledger, 0 if none. `shared_number`: in the
    shared budget.
    """

    # What most of them never change is here once.
    route: Route = "other"
    shape: Shape | None = None
    tenant = ""
    priority_class = ""
    credentials = b""
    reservation = 0
    shared_number = 0
    served_by = ""
    not_on: tuple[str, ...] = ()
    asked_at = 0.0
    first_byte_s = 0.0
    status = 0
    reason = ""
    stream = False

    def __init__(self, head: RequestHead, body: bytes) -> None:
        self.head = head
        self.body = body
        self.began_at = time.perf_counter()

    @property
    @abstractmethod
    def settled(self) -> bool:
        """True if the exchange is over and its reservation returned."""

    @property
    @abstractmethod
    def produced(self) -> int:
        """Tokens of its answer so far, of all its sequences."""

    @property
    def unanswered(self) -> bool:
        """No token of a stream has come, nor anything of another answer; False also where that
        would not be seen.
        """
        return not self.produced and (self.stream or not self.passed_bytes)

    @property
    @abstractmethod
    def passed_bytes(self) -> int:
        """Response bytes forwarded to the client."""

    @abstractmethod
    def follow_if_here(self, decision: Admitted | Refused) -> None:
        """Apply the decision; if the client has left, release what was reserved."""

    @abstractmethod
    def counted(self, decision: Decision) -> None:
        """Its input has been counted, and with that it was decided on again."""

    @abstractmethod
    def uncountable(self, refused: Refused) -> None:
        """Its input may be too long and cannot be counted: it is refused."""
