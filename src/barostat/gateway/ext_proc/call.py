"""One request as Envoy shows it, from its headers to the end of the call: decided as the embedded
gateway decides, returned exactly once.

request headers -> (key refused) answered at once
                -> (nothing to decide) to an engine
                -> request body -> asked -> to an engine, its body capped where that is the policy |
                answered at once | waits
response headers, body where Envoy gives it -> what was produced, usage
the call ends, however it ends -> the reservation is returned
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Protocol

from envoy.extensions.filters.http.ext_proc.v3.processing_mode_pb2 import ProcessingMode
from envoy.service.ext_proc.v3.external_processor_pb2 import (
    HttpBody,
    HttpHeaders,
    ProcessingRequest,
    ProcessingResponse,
)

from barostat.admit.decision import Admitted, CountFirst, Decision, Queued, Refused
from barostat.admit.gate import Ended
from barostat.gateway.asking import Asking
from barostat.gateway.ext_proc import messages
from barostat.gateway.ext_proc.pace import Pace
from barostat.gateway.messages.body_buffer import BodyBuffer
from barostat.gateway.messages.output_cap import capped
from barostat.gateway.messages.refusal_bodies import answer, in_words, plain_answer
from barostat.gateway.messages.request_head import PRIORITY_CLASS, RequestHead
from barostat.gateway.messages.routes import GENERATING, READ
from barostat.gateway.messages.shape import Malformed, shape_of
from barostat.gateway.messages.target import is_target, unlisted
from barostat.gateway.messages.tenants import bearer
from barostat.gateway.messages.usage import TAIL_BYTES, Usage, at_its_limit, levels_behind, usage_in
from barostat.gateway.state import Gateway

_FULL_DUPLEX = ProcessingMode.FULL_DUPLEX_STREAMED
_IN_PIECES = (ProcessingMode.STREAMED, _FULL_DUPLEX)


class Processor(Protocol):
    """State shared by all calls. `endpoints`: the engines' addresses by name. `shows_heads`: Envoy
    sends response headers (known once one arrived).
    """

    gateway: Gateway
    endpoints: dict[str, str]
    shows_heads: bool

    def pace_of(self, name: str) -> Pace:
        """How fast that engine makes tokens."""


class Call(Asking):
    """One HTTP request within Envoy."""

    def __init__(self, processor: Processor) -> None:
        super().__init__(RequestHead(), b"")
        self.processor = processor
        self.gateway = processor.gateway
        self.forwarded_at = 0.0
        self._settled = False
        self._produced = 0
        self._passed_bytes = 0
        self._pieces = BodyBuffer()
        self._held_bytes = 0
        self._tail = b""
        self._answered = False
        self._shown = False
        self._whole = False
        self._full_duplex = self._full_duplex_answer = self._in_pieces = False
        self._decided: asyncio.Future[Admitted | Refused] | None = None

    @property
    def settled(self) -> bool:
        """The call has ended: what it held was returned."""
        return self._settled

    @property
    def produced(self) -> int:
        """Tokens of the answer, as far as they are shown; else by the engine's pace."""
        return self._produced

    @property
    def unanswered(self) -> bool:
        """Not even the head has come where heads are shown; of a stream, whose head may come before
        a token, no piece where they are.
        """
        if not self.forwarded_at:
            return False
        return (
            self._in_pieces and self.stream and not self._shown
            if self.status
            else self.processor.shows_heads
        )

    @property
    def passed_bytes(self) -> int:
        """Response bytes shown to the external processor."""
        return self._passed_bytes

    async def take(self, message: ProcessingRequest) -> Sequence[ProcessingResponse]:
        """Return Envoy's replies to this message; none if more messages must arrive first."""
        kind = message.WhichOneof("request")
        if kind == "request_headers":
            return self._headers(message)
        if kind == "request_body":
            return await self._request_body(message.request_body)
        if kind == "response_headers":
            return self._response_headers(message.response_headers)
        if kind == "response_body":
            return (self._response_body(message.response_body),)
        if kind == "request_trailers":
            return (messages.REQUEST_TRAILERS_PASS,)
        return (messages.TRAILERS_PASS,)

    # -- the request

    def _headers(self, message: ProcessingRequest) -> Sequence[ProcessingResponse]:
        self._full_duplex = message.protocol_config.request_body_mode == _FULL_DUPLEX
        self._full_duplex_answer = message.protocol_config.response_body_mode == _FULL_DUPLEX
        self._in_pieces = message.protocol_config.response_body_mode in _IN_PIECES
        headers = messages.headers_of(message.request_headers)
        head = self.head
        head.method, head.target = headers.get(":method", b""), headers.get(":path", b"/")
        head.authorization, head.x_api_key = (
            headers.get("authorization", b""),
            headers.get("x-api-key", b""),
        )
        head.priority_class = headers.get(PRIORITY_CLASS.decode(), b"").decode("latin-1")
        gateway = self.gateway
        passage = gateway.listing.find(head.method, head.target)
        if not is_target(head.target):
            return self._refuse(400, "bad-request", "The request target is not a path.")
        # Envoy forwards its own spelling, and may show a form's Content-Type several times.
        if passage is None or passage.target != head.target or passage.route == "audio":
            return self._refuse(404, "path-not-listed", unlisted(head.method, head.target))
        self.route = passage.route
        if (own := gateway.own_page(head.method, head.target)) is not None:
            self.status, self._answered = own[0], True
            return (messages.at_once(own[0], plain_answer(*own, "text/plain; charset=utf-8")),)
        if gateway.keys is not None and head.method != b"OPTIONS":
            tenant = gateway.keys.tenant_of(head.x_api_key or bearer(head.authorization))
            if tenant is None:
                return self._refuse(401, "unknown-key", "The API key is missing or not known here.")
            self.tenant = tenant
        self.credentials = gateway.engine_credentials or (
            b"" if gateway.keys is not None else head.credentials()
        )
        allowed = messages.allowed_endpoints(message)
        if allowed is not None:
            self.not_on = tuple(
                name
                for name, endpoint in self.processor.endpoints.items()
                if endpoint not in allowed
            )
        if (
            self.route in READ
            and head.method == b"POST"
            and not message.request_headers.end_of_stream
        ):
            return () if self._full_duplex else (messages.HEADERS_PASS,)
        return self._unread()

    def _hold(self, held_bytes: int) -> None:
        self.gateway.buffered_bytes += held_bytes - self._held_bytes
        self._held_bytes = held_bytes

    def _drop_body(self) -> None:
        self._pieces.take()
        self.body = b""
        self._hold(0)

    def _malformed(self, found: Malformed) -> Sequence[ProcessingResponse]:
        gateway = self.gateway
        if not gateway.desk.shadow:
            return self._refuse(400, found.reason, found.message, parameter=found.parameter)
        gateway.metrics.would_refuse(found.reason)
        return self._unread(with_body=True)

    def _unread(self, *, with_body: bool = False) -> Sequence[ProcessingResponse]:
        """Forward the request to any engine, outside the ledger. `with_body`: its body has arrived
        as well.
        """
        replica = self.gateway.desk.any_replica(self.not_on)
        if replica is None:
            return self._refuse(503, "no-replica", "No engine can be reached.", retry_after_s=1.0)
        if with_body:
            return self._to_engine(replica.name, None, [])
        self._goes_to(replica.name)
        headers, removed = self._credentials()
        passed = messages.to_engine(
            self.processor.endpoints[replica.name], headers=headers, removed=removed, at_body=False
        )
        self._answered = True
        return (passed,)

    async def _request_body(self, message: HttpBody) -> Sequence[ProcessingResponse]:
        if self._answered:  # a path that is not read: its body only passes
            return (
                (*tuple(messages.streamed_body(message.body))[:-1], _streamed(message))
                if self._full_duplex
                else (messages.REQUEST_BODY_PASS,)
            )
        pieces, bounds = self._pieces, self.gateway.bounds
        pieces.add(message.body)
        if pieces.size > bounds.body_bytes:
            return self._refuse(
                413, "body-too-large", "The request body is larger than this gateway takes."
            )
        self._hold(pieces.held_bytes)
        if self.gateway.buffered_bytes > bounds.buffered_bytes:
            return self._refuse(
                503, "too-many-bodies", "The gateway holds too many requests.", retry_after_s=1.0
            )
        if not message.end_of_stream:
            return ()
        self.body = pieces.take()
        self._hold(len(self.body))
        shape = shape_of(self.route, self.body, self.gateway.allowed_parameters)
        if isinstance(shape, Malformed):
            return self._malformed(shape)
        self.shape = shape
        self.stream = shape.stream
        gateway = self.gateway
        gateway.metrics.asked(shape)
        decision: Decision = gateway.desk.ask(self, shape)
        if isinstance(decision, Queued | CountFirst):
            self._decided = asyncio.get_running_loop().create_future()
            self._wait(decision)
            decision = await self._decided
        if isinstance(decision, Admitted):
            self.reservation = decision.reservation
            return self._followed(await self._entered(decision))
        return self._followed(decision)

    async def _entered(self, decision: Admitted) -> Admitted | Refused:
        """The same decision where the gateways together have room for it too."""
        shared = self.gateway.shared
        if shared is None or not decision.reservation:
            return decision
        outcome = await shared.enter(decision)
        if isinstance(outcome, Refused):
            self._return("unsent", Usage(None, None))
            return outcome
        self.shared_number = outcome
        return decision

    def _wait(self, decision: Queued | CountFirst) -> None:
        if isinstance(decision, Queued):
            self.reservation = decision.reservation
        else:
            self.gateway.desk.count(self)

    def follow_if_here(self, decision: Admitted | Refused) -> None:
        """Apply the decision; if the call has ended, release what was reserved."""
        self.reservation = decision.reservation if isinstance(decision, Admitted) else 0
        if self.settled:
            self._return("unsent", Usage(None, None))
        else:
            self._tell(decision)

    def counted(self, decision: Decision) -> None:
        """Its input has been counted, and with that it was decided on again."""
        if isinstance(decision, Queued):
            self._wait(decision)
        elif not isinstance(decision, CountFirst):  # never after a count
            self.reservation = decision.reservation if isinstance(decision, Admitted) else 0
            self._tell(decision)

    def uncountable(self, refused: Refused) -> None:
        """Its input may be too long and cannot be counted: it is refused."""
        self._tell(refused)

    def _tell(self, decision: Admitted | Refused) -> None:
        if self._decided is not None and not self._decided.done():
            self._decided.set_result(decision)

    def _followed(self, decision: Admitted | Refused) -> Sequence[ProcessingResponse]:
        if isinstance(decision, Refused):
            self.reservation = 0  # what waited and is refused has nothing to return
            words, named = in_words(decision, self.shape)
            return self._refuse(
                decision.status,
                decision.reason,
                words,
                parameter=named,
                retry_after_s=decision.retry_after_s,
            )
        self.reservation = decision.reservation
        shape = self.shape
        assert shape is not None
        body: bytes | None = None
        extra: list[tuple[str, bytes]] = []
        if decision.capped and decision.output_cap is not None and shape.route in GENERATING:
            body = capped(shape.route, self.body, decision.output_cap)
            self.gateway.metrics.count("output_caps_total")
            extra.append(("x-barostat-output-cap", b"%d" % decision.output_cap))
        self.forwarded_at = self.gateway.desk.clock()
        return self._to_engine(decision.replica, body, extra)

    def _to_engine(
        self, name: str, body: bytes | None, extra: list[tuple[str, bytes]]
    ) -> Sequence[ProcessingResponse]:
        """Forward its body, or this replacement, to that engine."""
        self._goes_to(name)
        self._answered = True
        whole, self.body = (
            self.body,
            b"",
        )  # it is Envoy's from here on, and not held for as long as the answer takes
        self._hold(0)
        endpoint = self.processor.endpoints[name]
        headers, removed = self._credentials()
        headers = (*headers, *extra)
        if not self._full_duplex:
            if body is None and not headers:
                return (messages.to_engine_unchanged(endpoint, removed, True),)
            return (messages.to_engine(endpoint, headers=headers, removed=removed, body=body),)
        if body is not None:
            headers = (*headers, ("content-length", b"%d" % len(body)))
        first = messages.to_engine(endpoint, headers=headers, removed=removed, at_body=False)
        return (first, *messages.streamed_body(whole if body is None else body))

    def _goes_to(self, name: str) -> None:
        self.served_by = name
        self.gateway.desk.replicas[name].active += 1

    def _credentials(self) -> tuple[tuple[tuple[str, bytes], ...], tuple[str, ...]]:
        """Return headers to set and to remove: the engines' key replaces the client's; a tenant's
        key is never forwarded.
        """
        own = self.gateway.engine_credentials
        if own:
            return (("authorization", own.partition(b": ")[2].strip()),), ("x-api-key",)
        return (), ("authorization", "x-api-key") if self.gateway.keys is not None else ()

    def _refuse(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        parameter: str | None = None,
        retry_after_s: float | None = None,
    ) -> Sequence[ProcessingResponse]:
        self.gateway.metrics.refused(reason, self.route, self.tenant, self.priority_class)
        self.status, self.reason = status, reason
        self._answered = True
        self._drop_body()
        whole = answer(
            status,
            reason,
            message,
            route=self.route,
            parameter=parameter,
            retry_after_s=retry_after_s,
        )
        return (messages.at_once(status, whole),)

    # -- the answer

    def _response_headers(self, message: HttpHeaders) -> Sequence[ProcessingResponse]:
        headers = messages.headers_of(message)
        self.status = int(headers.get(":status", b"0"))
        self.processor.shows_heads = True
        self.first_byte_s = time.perf_counter() - self.began_at
        self.gateway.metrics.first_byte_seconds.observe(self.first_byte_s)
        self.stream = headers.get("content-type", b"").startswith(b"text/event-stream")
        self._whole = message.end_of_stream
        return (messages.RESPONSE_PASS,)

    def _response_body(self, message: HttpBody) -> ProcessingResponse:
        data = message.body
        self._shown = True
        self._whole = message.end_of_stream
        self._passed_bytes += len(data)
        if self.stream:
            self._produced += data.count(b"data:")
        self._tail = (self._tail + data)[-TAIL_BYTES:]
        return messages.streamed_answer(message) if self._full_duplex_answer else messages.BODY_PASS

    def look(self) -> None:
        """Once a second, report the tokens generated so far, estimated by the engine's pace if the
        response is not shown.
        """
        if not self.reservation or not self.forwarded_at or self.settled:
            return
        if not self._shown:
            self._produced = self._by_pace()
        if self.produced:
            self.gateway.desk.produced(self)

    def _by_pace(self) -> int:
        for_s = (
            time.perf_counter() - self.began_at - self.first_byte_s
        )  # with what came before the answer, where its head is not shown
        shape = self.shape
        each = self.processor.pace_of(self.served_by).produced(for_s)
        if shape is not None and shape.output_limit is not None:
            each = min(each, shape.output_limit)
        return each * (shape.sequences if shape is not None else 1)

    # -- its end

    def end(self, *, cut: bool = False) -> None:
        """End the call (`cut`: cancelled by Envoy), exactly once: release the reservation and count
        the request.
        """
        if self.settled:
            return
        self._settled = True
        self._drop_body()
        if self.served_by:
            self.gateway.desk.replicas[self.served_by].active -= 1
        if self._decided is not None and not self._decided.done():
            self._decided.cancel()
        # What fails behind Envoy, or takes too long there, Envoy answers itself and shows that:
        # without a head the client has left.
        gone = not self.status and self.processor.shows_heads
        good = self.status in (200, 0) and not gone  # 0: the answer's head is not shown
        usage = Usage(None, None)
        if self._tail and good:
            seen = usage_in(self._tail, levels_behind(self.route, self.stream))
            usage = self.gateway.desk.believed(self, seen)
        if not self._shown and good and self.forwarded_at:
            self._produced = self._by_pace()
        ended: Ended = (
            "unsent" if not self.forwarded_at else "length" if at_its_limit(self._tail) else "stop"
        )
        # An answer of which nothing is known tells nothing of lengths.
        if ended == "stop" and (
            cut or not good or (not self._whole if self._shown else not self.produced)
        ):
            ended = "cut"
        self._return(ended, usage)
        if gone:
            self.status, self.reason = 499, "client-gone"
            self.gateway.metrics.client_gone()
        self.gateway.account(self, usage)

    def _return(self, ended: Ended, usage: Usage) -> None:
        self.gateway.leave(self)
        if self.reservation:
            self.gateway.desk.returned(self, ended, usage)


def _streamed(message: HttpBody) -> ProcessingResponse:
    """The last of the pieces, which ends the body only if the client's piece did."""
    pieces = tuple(messages.streamed_body(message.body))
    last = pieces[-1]
    last.request_body.response.body_mutation.streamed_response.end_of_stream = message.end_of_stream
    return last
