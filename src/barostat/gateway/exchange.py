"""One request from the moment it is whole until it is accounted for: decided, forwarded, passed
back, settled exactly once.

Events are passed to the exchange's machine (`exchange_machine.py`), which returns commands; this
does it: with the desk, a connection to an engine, and the client's connection.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from barostat.admit.decision import Admitted, CountFirst, Decision, Queued, Refused
from barostat.admit.gate import Ended
from barostat.gateway.asking import Asking
from barostat.gateway.client_side import ClientSide
from barostat.gateway.exchange_machine import (
    BEGIN_ANSWER,
    CLOSE_STREAM,
    CONNECT,
    COUNT,
    DECIDE,
    DROP,
    END_STREAM,
    ENTER,
    FINISH,
    FORGET,
    FORWARD,
    GIVE_BACK,
    LEAVE_ENGINE,
    NO_REPLICA,
    RECONNECT,
    REPLICA_DOWN,
    RETRY,
    SEND,
    BreakOff,
    Command,
    Commands,
    EngineFailed,
    ExchangeMachine,
    Page,
    Refuse,
)
from barostat.gateway.messages.answer_so_far import AnswerSoFar
from barostat.gateway.messages.output_cap import capped
from barostat.gateway.messages.refusal_bodies import answer, in_words, plain_answer
from barostat.gateway.messages.request_head import RequestHead
from barostat.gateway.messages.response_framing import CHUNKS, CLOSE, Framing
from barostat.gateway.messages.routes import GENERATING, READ
from barostat.gateway.messages.shape import Malformed, shape_of
from barostat.gateway.messages.stream_end import final_events
from barostat.gateway.messages.target import Passage
from barostat.gateway.messages.usage import NOT_SAID, Usage, at_its_limit, levels_behind, usage_in
from barostat.gateway.state import Gateway

if TYPE_CHECKING:
    from barostat.gateway.replica import Replica
    from barostat.gateway.upstream import UpstreamConnection


class Exchange(Asking):
    """One request and its answer. `admitted`: what the desk last admitted; `replica`: where it is
    under way; `added`: lines for the head of the answer.
    """

    admitted: Admitted | None = None
    replica: Replica | None = None
    upstream: UpstreamConnection | None = None
    added = b""
    framing: Framing | None = None
    answer: AnswerSoFar | None = None

    def __init__(
        self, client: ClientSide, gateway: Gateway, head: RequestHead, body: bytes
    ) -> None:
        super().__init__(head, body)
        self.machine = ExchangeMachine()
        self.client = client
        self.gateway = gateway
        self.held_bytes = len(body) + head.held_bytes
        gateway.buffered_bytes += self.held_bytes

    @property
    def settled(self) -> bool:
        """True if the exchange is over and its reservation returned."""
        return self.machine.state == "settled"

    @property
    def waits_for_connection(self) -> bool:
        """A connection that is made for it would be used."""
        return self.machine.state == "connecting"

    @property
    def produced(self) -> int:
        """Tokens that have passed, as far as a stream's events tell."""
        return 0 if self.answer is None else self.answer.produced

    @property
    def passed_bytes(self) -> int:
        """Bytes of the answer that were forwarded to the client."""
        return 0 if self.answer is None else self.answer.passed_bytes

    # -- events: its turn, the decision

    def begin(self) -> None:
        """Start handling the request; earlier ones on the connection are done."""
        gateway, head = self.gateway, self.head
        self.machine.begun()
        welcome = head.welcome
        if not isinstance(welcome, Passage):
            assert welcome is not None
            self.route = welcome.route
            self._refused(Refuse(welcome.status, welcome.reason, welcome.message))
            return
        self.route = route = welcome.route
        head.target = welcome.target
        if route == "other" and (own := gateway.own_page(head.method, head.target)) is not None:
            text = plain_answer(
                *own, "text/plain; charset=utf-8", body_wanted=head.method != b"HEAD"
            )
            self._do(self.machine.answered_here(Page(own[0], text)))
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
        self._decide()

    def _malformed(self, found: Malformed) -> None:
        if self.gateway.desk.shadow:
            self.gateway.metrics.would_refuse(found.reason)
            self._decide()
        else:
            self._refused(
                Refuse(400, found.reason, found.message, parameter=found.parameter),
            )

    def _decide(self) -> None:
        """Ask the desk; what was not read goes to any replica."""
        desk = self.gateway.desk
        if self.shape is not None:
            self.follow(desk.ask(self, self.shape))
            return
        replica = desk.any_replica(self.not_on)
        if replica is None:
            self._refused(NO_REPLICA)
        else:
            self.replica = replica
            self._do(self.machine.placed())

    def follow(self, decision: Decision) -> None:
        """Carry out the desk's decision."""
        machine = self.machine
        if isinstance(decision, Admitted):
            self.reservation = decision.reservation
            self.admitted = decision
            shared = self.gateway.shared is not None and decision.reservation != 0
            self._do(machine.admitted(shared=shared))
        elif isinstance(decision, Queued):
            self.reservation = decision.reservation
            self._do(machine.queued())
        elif isinstance(decision, CountFirst):
            self._do(machine.to_count())
        else:
            self.reservation = 0  # what waited and is refused has nothing to return
            self._refused(self._refusal(decision))

    def follow_if_here(self, decision: Admitted | Refused) -> None:
        """Its wait is over; if the client has gone by now, what it was given goes back."""
        self.follow(decision)

    def counted(self, decision: Decision) -> None:
        """Its input has been counted, and with that it was decided on again."""
        self.follow(decision)

    def uncountable(self, refused: Refused) -> None:
        """Its input may be too long and cannot be counted: it is refused."""
        self.follow(refused)

    def entered(self, number: int, *, there: bool) -> None:
        """The shared budget has room; it is held there under that number."""
        self.shared_number = number
        self._do(self.machine.entered(there=there))

    def not_entered(self, refused: Refused) -> None:
        """The shared budget has no room, or cannot be asked."""
        self._do(self.machine.not_entered(self._refusal(refused)))

    def _refusal(self, refused: Refused) -> Refuse:
        message, parameter = in_words(refused, self.shape)
        return Refuse(
            refused.status,
            refused.reason,
            message,
            refused.retry_after_s,
            parameter=parameter,
        )

    def _refused(self, refusal: Refuse) -> None:
        self._do(self.machine.answered_here(refusal))

    # -- events: the engine

    def connected(self, upstream: UpstreamConnection) -> None:
        """There is a connection to send on."""
        self.upstream = upstream
        gateway = self.gateway
        max_stream_s = None if self.shape is None else gateway.max_stream_s
        self._do(self.machine.connected(gateway.rounds.now, max_stream_s))

    def not_connected(self) -> None:
        """The engine takes no connection: nothing was sent."""
        self._do(self.machine.not_connected())

    def head_came(self, framing: Framing) -> None:
        """The engine has begun to answer."""
        self.framing = framing
        self.status = framing.status
        self.stream = framing.content_type.startswith(b"text/event-stream")
        self._do(self.machine.head_came(streams=self.stream))

    def passed_on(self, data: bytes) -> None:
        """Bytes of the answer, as they came."""
        client = self.client
        if client.closing:
            return
        client.transport.write(data)
        answer = self.answer
        if answer is None:
            answer = self.answer = AnswerSoFar()
        answer.note(data, self.stream)
        commands = self.machine.passed(self.gateway.rounds.now)
        if commands:
            self._do(commands)

    def complete(self) -> None:
        """Finish after a complete response."""
        self._do(self.machine.completed())

    def engine_closed(self, *, unanswered: bool) -> None:
        """The engine's connection is gone. `unanswered`: it was a kept one, and not a byte came
        back on it.
        """
        self.upstream = None
        self._do(self.machine.engine_closed(self.gateway.rounds.now, unanswered=unanswered))

    def engine_failed(self, kind: str) -> None:
        """Fail: the engine sent no valid response."""
        self._do(self.machine.engine_failed(kind))

    # -- events: time, the client, the end of the gateway

    def look(self, now: float) -> None:
        """Once a second: a stream that has had its time ends, an engine that is silent is given
        up.
        """
        paused = self.client.paused_at != 0.0
        self._do(self.machine.looked(now, self.gateway.bounds.silent_s, paused=paused))

    def client_gone(self) -> None:
        """Nobody waits for the answer."""
        self._do(self.machine.client_left())

    def forget(self) -> None:
        """Drop the exchange before it began."""
        self._do(self.machine.forgotten())

    def drain(self) -> None:
        """End the exchange, at shutdown."""
        self._do(self.machine.drained(self.gateway.rounds.now))

    def cut_off(self) -> None:
        """The gateway ends now, and what has come of the answer is all that the client gets."""
        self._do(self.machine.cut_off())

    # -- commands

    def _do(self, commands: Commands) -> None:
        """Carry out what the machine says, the frequent first. Commands that may cause further
        events come last.
        """
        for command in commands:
            if command is SEND:
                self._send()
            elif command is FORWARD:
                self._forward()
            elif command is BEGIN_ANSWER:
                self._begin_answer()
            elif command is FINISH:
                self._finish()
            elif command is END_STREAM:
                self._end_stream()
            else:
                self._do_seldom(command)

    def _do_seldom(self, command: Command) -> None:
        gateway = self.gateway
        if isinstance(command, Refuse):
            self._refuse(command)
        elif isinstance(command, Page):
            self._answer_self(command.status, command.text, "unsent")
        elif isinstance(command, BreakOff):
            self.reason = command.reason
            self._settle("cut", NOT_SAID)
            self.client.cut()
        elif isinstance(command, EngineFailed):
            gateway.metrics.engine_failed(command.kind)
        elif command is COUNT:
            gateway.desk.count(self)
        elif command is ENTER:
            assert self.admitted is not None
            assert gateway.shared is not None
            gateway.shared.enter_soon(self, self.admitted)
        elif command is CONNECT:
            assert self.replica is not None
            self._connect(self.replica, fresh=False)
        elif command is RECONNECT:
            gateway.metrics.retried()
            replica = self.replica
            assert replica is not None
            replica.active -= 1
            self._connect(replica, fresh=True)
        elif command is REPLICA_DOWN:
            self._replica_down()
        elif command is GIVE_BACK:
            self._return("unsent", NOT_SAID)
        elif command is DECIDE:
            self._decide()
        elif command is RETRY:
            gateway.metrics.retried()
            self._decide()
        elif command is LEAVE_ENGINE:
            self._leave_engine()
        elif command is CLOSE_STREAM:
            gateway.metrics.stream_ended()
            self.reason = self.machine.ends_for
            self._settle("cut", NOT_SAID)
            self.client.answered(keep=self.head.persistent)
        elif command is DROP:
            gateway.metrics.client_gone()
            self.status = self.status or 499
            self.reason = "client-gone"
            self._settle("cut", NOT_SAID)
        elif command is FORGET:
            self._drop_body()
        else:
            raise AssertionError(command)

    def _forward(self) -> None:
        """Connect to the engine that was decided on, capped where that is the policy."""
        decision, shape, desk = self.admitted, self.shape, self.gateway.desk
        assert decision is not None
        if (
            decision.capped
            and decision.output_cap is not None
            and shape is not None
            and shape.route in GENERATING
        ):
            self.body = capped(shape.route, self.body, decision.output_cap)
            self.added = b"x-barostat-output-cap: %d\r\n" % decision.output_cap
            self.gateway.metrics.count("output_caps_total")
        self._connect(desk.replicas[decision.replica], fresh=False)

    def _connect(self, replica: Replica, *, fresh: bool) -> None:
        self.replica = replica
        self.served_by = replica.name
        replica.active += 1
        replica.carry(self, fresh=fresh)

    def _replica_down(self) -> None:
        replica, desk = self.replica, self.gateway.desk
        assert replica is not None
        self._leave_replica()
        desk.unreachable(replica)
        tried = (*self.not_on, replica.name)
        # Of the only one it waits until it is back.
        self.not_on = tried if desk.has_others(tried, self.shape) else ()

    def _leave_replica(self) -> None:
        if self.replica is not None:
            self.replica.active -= 1
            self.replica = None

    def _send(self) -> None:
        replica, upstream = self.replica, self.upstream
        assert replica is not None
        assert upstream is not None
        head = self.head.written(replica.host, self.credentials, len(self.body), replica.path)
        upstream.send(self, head, self.body)
        if self.client.paused_at:
            upstream.transport.pause_reading()

    def _begin_answer(self) -> None:
        gateway = self.gateway
        self.first_byte_s = time.perf_counter() - self.began_at
        gateway.metrics.first_byte_seconds.observe(self.first_byte_s)
        self._drop_body()
        if gateway.draining:
            self.added += b"connection: close\r\n"

    def _finish(self) -> None:
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
        self.client.answered(keep=self.head.persistent and framing.mode != CLOSE)

    def _ended(self, tail: bytes, usage: Usage) -> Ended:
        """How a whole answer ended, as far as it teaches how long answers get."""
        if self.status >= 400:
            return "unsent"  # the engine refused it
        if usage.output_tokens is None and not self.stream:
            return "cut"  # its length is not known
        return "length" if at_its_limit(tail) else "stop"

    def _end_stream(self) -> None:
        framing, shape, answer = self.framing, self.shape, self.answer
        if framing is None or shape is None or answer is None or framing.mode != CHUNKS:
            return
        if not framing.between_chunks or not answer.at_an_events_end:
            return
        events = final_events(
            self.route, answer.first, answer.recent, shape.sequences, answer.produced
        )
        if events:
            self.client.transport.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(events), events))
            self._do(self.machine.stream_ended())

    def _leave_engine(self) -> None:
        upstream, self.upstream = self.upstream, None
        if upstream is not None:
            upstream.leave()

    def _refuse(self, refusal: Refuse) -> None:
        gateway, head = self.gateway, self.head
        self.reason = refusal.reason
        gateway.metrics.refused(refusal.reason, self.route, self.tenant, self.priority_class)
        text = answer(
            refusal.status,
            refusal.reason,
            refusal.message,
            route=self.route,
            parameter=refusal.parameter,
            retry_after_s=refusal.retry_after_s,
            close=not head.persistent or gateway.draining,
            body_wanted=head.method != b"HEAD",
        )
        self._answer_self(refusal.status, text, refusal.ended)

    def _answer_self(self, status: int, text: bytes, ended: Ended) -> None:
        self.status = status
        self._settle(ended, NOT_SAID)
        client = self.client
        if not client.closing:
            client.transport.write(text)
            client.answered(keep=self.head.persistent)

    def _drop_body(self) -> None:
        """The body is not needed any more: it will not be sent again."""
        self.gateway.buffered_bytes -= self.held_bytes
        self.body, self.held_bytes = b"", 0
        self.head.lines = []

    def _return(self, ended: Ended, usage: Usage) -> None:
        self.gateway.leave(self)
        if self.reservation:
            self.gateway.desk.returned(self, ended, usage)

    def _settle(self, ended: Ended, usage: Usage) -> None:
        """Return the reservation, count and log the request."""
        self._leave_replica()
        self._drop_body()
        self._return(ended, usage)
        self.gateway.account(self, usage)
