"""What all connections share: bounds, clock, desk, metrics, keys, and whether the gateway is on its
way out.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from barostat.core.limits import ServingLimits
from barostat.gateway.access_log import AccessLog
from barostat.gateway.asking import Asking
from barostat.gateway.bounds import Bounds
from barostat.gateway.client_side import ClientSide
from barostat.gateway.desk import Desk
from barostat.gateway.messages.request_head import RequestHead, Unwelcome
from barostat.gateway.messages.routes import Route
from barostat.gateway.messages.target import Listing, Passage, unlisted
from barostat.gateway.messages.tenants import KeyTable, bearer
from barostat.gateway.messages.usage import NOT_SAID, Usage
from barostat.gateway.metrics import Metrics
from barostat.gateway.time_limits import Rounds

if TYPE_CHECKING:
    from barostat.gateway.shared_entry import SharedEntry

LIVE, READY, HEALTH = b"/livez", b"/readyz", b"/health"
_PROBES = frozenset({LIVE, READY, HEALTH})


class Gateway:
    """The one gateway of this process."""

    def __init__(
        self,
        desk: Desk,
        rounds: Rounds,
        metrics: Metrics,
        *,
        bounds: Bounds,
        keys: KeyTable | None = None,
        engine_key: str = "",
        log: AccessLog | None = None,
        listing: Listing | None = None,
        allowed_parameters: frozenset[str] = frozenset(),
    ) -> None:
        """`engine_key`: sent to the engines in place of what clients send. `listing`: the paths
        that pass. `allowed_parameters`: of those that are refused otherwise.
        """
        self.desk = desk
        self.rounds = rounds
        self.metrics = metrics
        self.bounds = bounds
        self.keys = keys
        self.listing = Listing() if listing is None else listing
        self.allowed_parameters = allowed_parameters
        self.engine_credentials = (
            f"authorization: Bearer {engine_key}\r\n".encode() if engine_key else b""
        )
        self.log = log
        self.shared: SharedEntry | None = None
        self.clients: set[ClientSide] = set()
        self.buffered_bytes = 0
        self.draining = False
        self.max_stream_s: float | None = None
        self._watches = desk.shadow
        self.adopt(desk.limits)
        rounds.on_tick += (desk.tick, metrics.fold)
        if log is not None:
            rounds.on_tick.append(log.flush)

    def adopt(self, limits: ServingLimits, enforce: bool = False) -> None:
        """These limits are in force from now on, for what comes and what waits; `enforce`: also
        where they were only watched.
        """
        self.desk.shadow = self._watches and not enforce
        self.desk.adopt(limits)
        self.max_stream_s = None if self.desk.shadow else limits.spec.request.max_stream_seconds

    def leave(self, exchange: Asking) -> None:
        """Remove the request from the shared budget."""
        if exchange.shared_number and self.shared is not None:
            number, exchange.shared_number = exchange.shared_number, 0
            self.shared.leave(number)

    def welcome(self, head: RequestHead, client: ClientSide) -> Passage | Unwelcome:
        """Decide by a head alone where its request goes, or why it is refused: before its body is
        read. A browser asks with OPTIONS before it sends a key, and probes have none.
        """
        passage = self.listing.find(head.method, head.target)
        if passage is None:
            return Unwelcome(404, "path-not-listed", unlisted(head.method, head.target))
        if self.keys is None or head.method == b"OPTIONS" or _is_probe(head.method, passage.target):
            return passage
        tenant = client.tenant_of(head.x_api_key or bearer(head.authorization))
        if tenant is None:
            missing = "The API key is missing or not known here."
            return Unwelcome(401, "unknown-key", missing, passage.route)
        head.tenant = tenant
        return passage

    def own_page(self, method: bytes, target: bytes) -> tuple[int, bytes] | None:
        """Return the status and body of a probe, None for any other request.

        /health stands for the engines: what is asked for it (another gateway, a load balancer)
        wants to know whether requests are served.
        """
        if not _is_probe(method, target):
            return None
        why = "" if target.startswith(LIVE) else self.not_ready()
        return (503, f"{why}\n".encode()) if why else (200, b"ok\n")

    def not_ready(self) -> str:
        """Why no requests are wanted, empty if they are."""
        if self.draining:
            return "draining"
        return "" if self.desk.any_replica(()) is not None else "no engine can be reached"

    def refused_unread(self, unread: Asking, route: Route, status: int, reason: str) -> None:
        """Count a malformed request that was rejected."""
        unread.route, unread.status, unread.reason = route, status, reason
        self.metrics.refused(reason, route)
        self.metrics.answered(route, status)
        if self.log is not None:
            self.log.note(unread, NOT_SAID)

    def account(self, exchange: Asking, usage: Usage) -> None:
        """An exchange has ended: what it was is counted."""
        metrics = self.metrics
        metrics.answered(exchange.route, exchange.status)
        metrics.request_seconds.observe(time.perf_counter() - exchange.began_at)
        shape = exchange.shape
        if shape is not None:
            if usage.input_tokens is not None:
                metrics.prompt_tokens.observe(usage.input_tokens)
                if usage.input_tokens > 0:
                    metrics.estimate_error_ratio.observe(
                        abs(shape.estimate - usage.input_tokens) / usage.input_tokens
                    )
                    self.desk.counted(shape, usage.input_tokens, exchange.served_by)
            if usage.output_tokens is not None:
                metrics.output_tokens.observe(usage.output_tokens)
            if exchange.tenant:
                metrics.used(
                    exchange.tenant,
                    usage.input_tokens or 0,
                    usage.output_tokens or exchange.produced,
                )
        if self.log is not None:
            self.log.note(exchange, usage)


def _is_probe(method: bytes, target: bytes) -> bool:
    return target.partition(b"?")[0] in _PROBES and method in (b"GET", b"HEAD")
