"""One request from the moment it is whole until it is accounted for: decided, forwarded, passed
back, settled exactly once.

begin -> desk -> refused
           |---> waits (counted or queued) -> forwarded | refused
           +---> forwarded -> head -> body -> settled
at any point: the client goes -> the engine's connection is cut, or the wait ends -> settled
              the engine fails -> once more where nothing was answered, else 502, else the client's
              connection is cut -> settled
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from barostat.admit.decision import Admitted, CountFirst, Decision, Queued, Refused
from barostat.admit.gate import Ended
from barostat.gateway.asking import Asking
from barostat.gateway.messages.answer_so_far import AnswerSoFar
from barostat.gateway.messages.output_cap import capped
from barostat.gateway.messages.refusal_bodies import answer, in_words, plain_answer
from barostat.gateway.messages.request_head import RequestHead
from barostat.gateway.messages.response_framing import CHUNKS, Framing
from barostat.gateway.messages.routes import GENERATING, READ
from barostat.gateway.messages.shape import Malformed, shape_of
from barostat.gateway.messages.stream_end import final_events
from barostat.gateway.messages.target import Passage
from barostat.gateway.messages.usage import NOT_SAID, Usage, at_its_limit, levels_behind, usage_in

if TYPE_CHECKING:
    from barostat.gateway.client import ClientConnection
    from barostat.gateway.replica import Replica
    from barostat.gateway.upstream import UpstreamConnection

_TRIES = 3
_CUT_AFTER_S = 2.0
_STALE_WITHIN_S = 1.0
"""A kept connection that the engine had closed tells so at once. Later it is the engine that broke,
and it may have begun to work.
"""


class Exchange(Asking):
    """One request and its answer. `ends_at`: when its stream has had its time; `ending_since`: when
    the stream began to wait for the end of an event, to end there, because of `ends_for`.
    """

    replica: Replica | None = None
    upstream: UpstreamConnection | None = None
    waits_for_connection = False
    added = b""
    tries = 0
    heard_at = 0.0
    ends_at: float | None = None
    ending_since: float | None = None
    ends_for = "stream-time"
    framing: Framing | None = None
    answer: AnswerSoFar | None = None

    def __init__(self, client: ClientConnection, head: RequestHead, body: bytes) -> None:
        super().__init__(head, body)
        self.client = client
        self.gateway = client.gateway
        self.held_bytes = len(body) + head.held_bytes
        self.gateway.buffered_bytes += self.held_bytes

    # -- deciding

    def begin(self) -> None:
        """It is this request's turn on its connection."""
        gateway, head = self.gateway, self.head
        welcome = head.welcome
        if not isinstance(welcome, Passage):
            assert welcome is not None
            self.route = welcome.route
            self._refuse(welcome.status, welcome.reason, welcome.message)
            return
        self.route = route = welcome.route
        head.target = welcome.target
        if route == "other" and (own := gateway.own_page(head.method, head.target)) is not None:
            self._answer_self(
                own[0],
                plain_answer(*own, "text/plain; charset=utf-8", body_wanted=head.method != b"HEAD"),
            )
            return
        self.tenant = head.tenant
        if gateway.keys is None:
            self.credentials = gateway.engine_credentials or head.credentials()
        elif head.method != b"OPTIONS":
            self.credentials = gateway.engine_credentials
        if route in READ and head.method == b"POST":
            shape = shape_of(route, self.body, gateway.allowed_parameters, head.lines)
            if isinstance(shape, Malformed):
                self._malformed(shape)
                return
            self.shape = shape
            self.stream = shape.stream
            gateway.metrics.asked(shape)
            self.follow(gateway.desk.ask(self, shape))
        else:
            self._forward_unread()

    def _malformed(self, found: Malformed) -> None:
        if self.gateway.desk.shadow:
            self.gateway.metrics.would_refuse(found.reason)
            self._forward_unread()
        else:
            self._refuse(400, found.reason, found.message, parameter=found.parameter)

    def _forward_unread(self) -> None:
        replica = self.gateway.desk.any_replica(self.not_on)
        if replica is None:
            self._refuse(503, "no-replica", "No engine can be reached.", retry_after_s=1.0)
        else:
            self._carry(replica)

    def follow(self, decision: Decision) -> None:
        """What the desk has decided is done."""
        if isinstance(decision, Admitted):
            self.reservation = decision.reservation
            self.gateway.enter(self, decision)
        elif isinstance(decision, Queued):
            self.reservation = decision.reservation
        elif isinstance(decision, CountFirst):
            self.gateway.desk.count(self)
        else:
            self.reservation = 0  # what waited and is refused has nothing to return
            self._refuse(
                decision.status,
                decision.reason,
                *in_words(decision, self.shape),
                retry_after_s=decision.retry_after_s,
            )

    def forward(self, decision: Admitted) -> None:
        """It goes to the engine that was decided on, capped where that is the policy."""
        shape = self.shape
        if (
            decision.capped
            and decision.output_cap is not None
            and shape is not None
            and shape.route in GENERATING
        ):
            self.body = capped(shape.route, self.body, decision.output_cap)
            self.added = b"x-barostat-output-cap: %d\r\n" % decision.output_cap
            self.gateway.metrics.count("output_caps_total")
        self._carry(self.gateway.desk.replicas[decision.replica])

    def follow_if_here(self, decision: Admitted | Refused) -> None:
        """Its wait is over; if the client has gone by now, what it was given goes back."""
        if not self.settled:
            self.follow(decision)
        elif isinstance(decision, Admitted):
            self.reservation = decision.reservation
            self._return("unsent")

    def counted(self, decision: Decision) -> None:
        """Its input has been counted, and with that it was decided on again."""
        self.follow(decision)

    def uncountable(self, refused: Refused) -> None:
        """Its input may be too long and cannot be counted: it is refused."""
        self.follow(refused)

    # -- forwarding

    def _carry(self, replica: Replica, *, fresh: bool = False) -> None:
        self.replica = replica
        self.served_by = replica.name
        self.waits_for_connection = True
        self.tries += 1
        replica.active += 1
        replica.carry(self, fresh=fresh)

    def connected(self, upstream: UpstreamConnection) -> None:
        """There is a connection: the request is sent."""
        self.waits_for_connection = False
        self.upstream = upstream
        replica, gateway = upstream.replica, self.gateway
        self.heard_at = gateway.rounds.now
        if self.shape is not None and gateway.max_stream_s is not None and self.ends_at is None:
            self.ends_at = gateway.rounds.now + gateway.max_stream_s
        head = self.head.written(
            replica.host, self.credentials, len(self.body), replica.address.path
        )
        upstream.send(self, head, self.body)
        if self.client.paused_at:
            upstream.transport.pause_reading()

    def not_connected(self) -> None:
        """The engine takes no connection: nothing was sent, another may have it."""
        self.waits_for_connection = False
        replica = self.replica
        if self.settled or replica is None:
            return
        self._leave_replica()
        self.gateway.desk.unreachable(replica)
        tried = (*self.not_on, replica.name)
        self.not_on = (
            tried if self.gateway.desk.has_others(tried, self.shape) else ()
        )  # of the only one it waits until it is back
        self._return("unsent")
        if self.tries >= _TRIES:
            self._refuse(503, "no-replica", "No engine can be reached.", retry_after_s=1.0)
        elif self.shape is not None:
            self.gateway.metrics.retried()
            self.follow(self.gateway.desk.ask(self, self.shape))
        else:
            self.gateway.metrics.retried()
            self._forward_unread()

    def _leave_replica(self) -> None:
        if self.replica is not None:
            self.replica.active -= 1
            self.replica = None

    # -- the answer

    def head_came(self, framing: Framing) -> None:
        """The engine has begun to answer."""
        self.framing = framing
        self.status = framing.status
        self.first_byte_s = time.perf_counter() - self.began_at
        self.gateway.metrics.first_byte_seconds.observe(self.first_byte_s)
        self.stream = framing.content_type.startswith(b"text/event-stream")
        self._drop_body()
        if self.gateway.draining:
            self.added += b"connection: close\r\n"

    def passed_on(self, data: bytes) -> None:
        """Bytes of the answer, as they came."""
        client = self.client
        if client.closing:
            return
        client.transport.write(data)
        self.heard_at = self.gateway.rounds.now
        answer = self.answer
        if answer is None:
            answer = self.answer = AnswerSoFar()
        answer.note(data, self.stream)
        if self.ending_since is not None:
            self._end_stream()

    def complete(self) -> None:
        """The answer is whole."""
        if self.settled:
            return
        upstream, self.upstream = self.upstream, None
        if upstream is not None and self.client.paused_at and not upstream.transport.is_closing():
            upstream.transport.resume_reading()
        framing = self.framing
        assert framing is not None
        tail = self.answer.tail if self.shape is not None and self.answer is not None else b""
        usage = NOT_SAID
        if tail and self.status == 200:
            usage = self.gateway.desk.believed(
                self, usage_in(tail, levels_behind(self.route, self.stream))
            )
        self._settle(self._ended(tail, usage), usage)
        delimited = framing.mode != 3
        self.client.answered(keep=self.head.persistent and delimited)

    def _ended(self, tail: bytes, usage: Usage) -> Ended:
        """How a whole answer ended, as far as it teaches how long answers get."""
        if self.status >= 400:
            return "unsent"  # the engine refused it
        if usage.output_tokens is None and not self.stream:
            return "cut"  # its length is not known
        return "length" if at_its_limit(tail) else "stop"

    def engine_closed(self, *, unanswered: bool) -> None:
        """The engine's connection is gone within the exchange. `unanswered`: it was a kept one, and
        not a byte came back on it.
        """
        self.upstream = None
        if self.settled:
            return
        replica = self.replica
        at_once = self.gateway.rounds.now - self.heard_at <= _STALE_WITHIN_S
        if unanswered and at_once and replica is not None and self.tries < _TRIES:
            self.gateway.metrics.retried()
            replica.active -= 1
            self._carry(replica, fresh=True)
        else:
            self.engine_failed("reset")

    def engine_failed(self, kind: str) -> None:
        """There will be no (whole) answer: 502 where none has begun, else the client's connection
        ends where the engine's did.
        """
        self._leave_engine()
        if self.settled:
            return
        self.gateway.metrics.engine_failed(kind)
        if self.answer is None:
            status = 504 if kind == "silent" else 502
            words = (
                "does not answer" if kind == "silent" else "broke its answer off before it began"
            )
            self._refuse(status, f"engine-{kind}", f"The engine {words}.", ended="cut")
        else:
            self._break_off(f"engine-{kind}")

    def _leave_engine(self) -> None:
        upstream, self.upstream = self.upstream, None
        if upstream is not None:
            upstream.leave()

    def _break_off(self, reason: str) -> None:
        """The rest of the answer will not come: the client's connection ends, so that it can
        tell.
        """
        self.reason = reason
        self._settle("cut", NOT_SAID)
        self.client.cut()

    def client_gone(self) -> None:
        """Nobody waits for the answer: the engine is told by a closed connection."""
        if self.settled:
            return
        self.gateway.metrics.client_gone()
        self.status = self.status or 499
        self.reason = "client-gone"
        self._settle("cut", NOT_SAID)
        self._leave_engine()

    @property
    def produced(self) -> int:
        """Tokens that have passed, as far as a stream's events tell."""
        return 0 if self.answer is None else self.answer.produced

    @property
    def passed_bytes(self) -> int:
        """Of the answer, to the client."""
        return 0 if self.answer is None else self.answer.passed_bytes

    def forget(self) -> None:
        """It had not begun, and will not."""
        self.settled = True
        self._drop_body()

    def _drop_body(self) -> None:
        """The body is not needed any more: it will not be sent again."""
        self.gateway.buffered_bytes -= self.held_bytes
        self.body, self.held_bytes = b"", 0
        self.head.lines = []

    # -- its end

    def look(self, now: float) -> None:
        """Once a second: a stream that has had its time ends, an engine that is silent is given
        up.
        """
        if self.settled or self.upstream is None:
            return
        if self.ending_since is not None:
            if now - self.ending_since > _CUT_AFTER_S:
                self.engine_failed("stream-time")
                return
        elif self.ends_at is not None and now >= self.ends_at and self._is_streaming:
            self.ending_since = now
            self._end_stream()
            return
        if now - self.heard_at > self.gateway.bounds.silent_s and not self.client.paused_at:
            self.engine_failed("silent")

    @property
    def _is_streaming(self) -> bool:
        return self.stream and self.answer is not None

    def end_now(self) -> None:
        """The gateway ends: a stream gets its proper end, where it stands at one; who has heard
        nothing yet is told.
        """
        if self.settled:
            return
        if self.answer is None:
            self._leave_engine()
            self._refuse(
                503, "draining", "The gateway is shutting down.", retry_after_s=1.0, ended="cut"
            )
        elif self.stream:
            self.ending_since, self.ends_for = self.gateway.rounds.now, "draining"
            self._end_stream()

    def cut_off(self) -> None:
        """The gateway ends, and what has come of the answer is all that the client gets of it."""
        if not self.settled:
            self._leave_engine()
            self._break_off("draining")

    def _end_stream(self) -> None:
        """The stream ends here, if here is the end of an event."""
        framing, shape, answer = self.framing, self.shape, self.answer
        if (
            self.settled
            or framing is None
            or shape is None
            or answer is None
            or framing.mode != CHUNKS
        ):
            return
        if not framing.between_chunks or not answer.at_an_events_end:
            return
        events = final_events(
            self.route, answer.first, answer.recent, shape.sequences, answer.produced
        )
        if not events:
            return
        self.client.transport.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(events), events))
        self._leave_engine()
        self.gateway.metrics.stream_ended()
        self.reason = self.ends_for
        self._settle("cut", NOT_SAID)
        self.client.answered(keep=self.head.persistent)

    def _refuse(
        self,
        status: int,
        reason: str,
        message: str,
        parameter: str | None = None,
        *,
        retry_after_s: float | None = None,
        ended: Ended = "unsent",
    ) -> None:
        self.reason = reason
        self.gateway.metrics.refused(reason, self.route, self.tenant, self.priority_class)
        close, wanted = (
            not self.head.persistent or self.gateway.draining,
            self.head.method != b"HEAD",
        )
        text = answer(
            status,
            reason,
            message,
            route=self.route,
            parameter=parameter,
            retry_after_s=retry_after_s,
            close=close,
            body_wanted=wanted,
        )
        self._answer_self(status, text, ended)

    def _answer_self(self, status: int, text: bytes, ended: Ended = "unsent") -> None:
        self.status = status
        self._settle(ended, NOT_SAID)
        client = self.client
        if not client.closing:
            client.transport.write(text)
            client.answered(keep=self.head.persistent)

    def _return(self, ended: Ended, usage: Usage = NOT_SAID) -> None:
        self.gateway.leave(self)
        if self.reservation:
            self.gateway.desk.returned(self, ended, usage)

    def _settle(self, ended: Ended, usage: Usage) -> None:
        """Exactly once: what was reserved is returned, and the request is counted and logged."""
        if self.settled:
            return
        self.settled = True
        self.waits_for_connection = False
        self._leave_replica()
        self._drop_body()
        self._return(ended, usage)
        self.gateway.account(self, usage)
