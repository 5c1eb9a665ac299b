"""One exchange as a state machine: events in, commands out. No socket, no clock, no ledger.

    pending --begun--> deciding --> counting, queued --> entering --> connecting
    connecting --> sent --> answering, streaming --> ending --> settled
    connecting --no connection--> deciding                 (at another replica)
    sent --a kept connection was closed--> connecting      (a new connection, the same replica)
    any state --answered here, broken off, client gone--> settled

An event is a method of `ExchangeMachine`. It changes the state and returns the commands that
`Exchange` carries out, in their order. Exactly one command settles the exchange (`SETTLES`). A
settled exchange only gives back what it was given too late.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from barostat.admit.gate import Ended

State = Literal[
    "pending",
    "deciding",
    "counting",
    "queued",
    "entering",
    "connecting",
    "sent",
    "answering",
    "streaming",
    "ending",
    "settled",
]
"""`pending`: requests before it on its connection are not answered. `deciding`: with the desk.
`counting`: the engine counts its input. `queued`: it waits for room. `entering`: it is being
entered into the budget that gateways share. `connecting`: it waits for a connection to its replica.
`sent`: no byte of the answer has come. `answering`: an answer passes, `streaming`: as a stream of
events. `ending`: the stream is to end with the current event.
"""

TRIES = 3
CUT_AFTER_S = 2.0
"""A stream that does not come to the end of an event in this time is cut."""
STALE_WITHIN_S = 1.0
"""An engine that had closed a kept connection shows it at once. Later it is the engine that broke,
and it may have begun to work.
"""


class Do:
    """A command that its name says completely."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


class Refuse(NamedTuple):
    """Answer in place of the engine, and settle. `ended`: what is reported to the ledger."""

    status: int
    reason: str
    message: str
    retry_after_s: float | None = None
    ended: Ended = "unsent"
    parameter: str | None = None


class Page(NamedTuple):
    """Answer with a page of the gateway's own, and settle."""

    status: int
    text: bytes


class BreakOff(NamedTuple):
    """Settle, and cut the client's connection: the rest of the answer will not come."""

    reason: str


class EngineFailed(NamedTuple):
    """Count a failure of the engine."""

    kind: str


Command = Do | Refuse | Page | BreakOff | EngineFailed
Commands = tuple[Command, ...]

COUNT: Final = Do("count")
"""Have the engine count the input; then decide."""
ENTER: Final = Do("enter")
"""Enter what was admitted into the shared budget."""
FORWARD: Final = Do("forward")
"""Write the output cap into the body, and connect to the replica that was decided on."""
CONNECT: Final = Do("connect")
"""Connect to the chosen replica; a request that is not read has no decision."""
RECONNECT: Final = Do("reconnect")
"""Connect to the same replica again, with a new connection."""
SEND: Final = Do("send")
REPLICA_DOWN: Final = Do("replica-down")
"""Take the replica out of rotation, and do not go there again while there are others."""
GIVE_BACK: Final = Do("give-back")
"""Return what is reserved and entered, as for a request that was not sent."""
DECIDE: Final = Do("decide")
RETRY: Final = Do("retry")
"""Decide again, at another replica."""
BEGIN_ANSWER: Final = Do("begin-answer")
"""Drop the request's body: it is not sent again."""
END_STREAM: Final = Do("end-stream")
"""Write the end of the stream if an event ends here, then tell `stream_ended`."""
LEAVE_ENGINE: Final = Do("leave-engine")
"""Close the connection to the engine, if there is one: the engine stops its work."""
FINISH: Final = Do("finish")
"""Settle by what the whole answer was; the client's next request has its turn."""
CLOSE_STREAM: Final = Do("close-stream")
"""Settle as cut; the client's next request has its turn."""
DROP: Final = Do("drop")
"""Settle as cut: the client is gone."""
FORGET: Final = Do("forget")
"""Settle without a trace: the exchange never began."""

SETTLES: Final = (FINISH, CLOSE_STREAM, DROP, FORGET)
"""These and `Refuse`, `Page`, `BreakOff` settle the exchange."""

_NOTHING: Final[Commands] = ()
_COUNT: Final[Commands] = (COUNT,)
_ENTER: Final[Commands] = (ENTER,)
_FORWARD: Final[Commands] = (FORWARD,)
_CONNECT: Final[Commands] = (CONNECT,)
_RECONNECT: Final[Commands] = (RECONNECT,)
_SEND: Final[Commands] = (SEND,)
_GIVE_BACK: Final[Commands] = (GIVE_BACK,)
_BEGIN_ANSWER: Final[Commands] = (BEGIN_ANSWER,)
_END_STREAM: Final[Commands] = (END_STREAM,)
_FINISH: Final[Commands] = (FINISH,)

NO_REPLICA = Refuse(503, "no-replica", "No engine can be reached.", 1.0)
_DRAINING = Refuse(503, "draining", "The gateway is shutting down.", 1.0, "cut")


class ExchangeMachine:
    """Mutable. `tries`: connections asked for. `heard_at`: when it was sent, or bytes came last.
    `ends_at`: when its stream has had its time, `ending_since` when it began to end, for
    `ends_for`.
    """

    __slots__ = ("ending_since", "ends_at", "ends_for", "heard_at", "state", "tries")

    def __init__(self) -> None:
        self.state: State = "pending"
        self.tries = 0
        self.heard_at = 0.0
        self.ends_at: float | None = None
        self.ending_since = 0.0
        self.ends_for = "stream-time"

    # -- the decision

    def begun(self) -> None:
        """Event: earlier requests on the connection are done."""
        if self.state == "pending":
            self.state = "deciding"

    def answered_here(self, answer: Refuse | Page) -> Commands:
        """Settle with a response of the gateway itself."""
        if self.state == "settled":
            return _NOTHING
        self.state = "settled"
        return (answer,)

    def to_count(self) -> Commands:
        """The decision needs an exact count."""
        if self.state == "settled":
            return _NOTHING
        self.state = "counting"
        return _COUNT

    def queued(self) -> Commands:
        """Event: the request is queued, with a reservation number."""
        if self.state == "settled":
            return _GIVE_BACK
        self.state = "queued"
        return _NOTHING

    def admitted(self, *, shared: bool) -> Commands:
        """A replica has room for it. `shared`: the gateways that share a budget must have, too."""
        if self.state == "settled":
            return _GIVE_BACK
        if shared:
            self.state = "entering"
            return _ENTER
        return self._connects(_FORWARD)

    def entered(self, *, there: bool) -> Commands:
        """The shared budget has room. `there`: its replica has not left meanwhile."""
        if self.state == "settled":
            return _GIVE_BACK
        if there:
            return self._connects(_FORWARD)
        self.state = "deciding"
        return (GIVE_BACK, DECIDE)

    def not_entered(self, refusal: Refuse) -> Commands:
        """The shared budget has no room, or cannot be asked."""
        if self.state == "settled":
            return _NOTHING
        self.state = "settled"
        return (GIVE_BACK, refusal)

    # -- the connection to the engine

    def placed(self) -> Commands:
        """A replica was chosen for a request that is not read."""
        return self._connects(_CONNECT)

    def _connects(self, commands: Commands) -> Commands:
        self.state = "connecting"
        self.tries += 1
        return commands

    def connected(self, now: float, max_stream_s: float | None) -> Commands:
        """There is a connection. `max_stream_s`: None if the stream may last."""
        if self.state != "connecting":
            return _NOTHING
        self.state = "sent"
        self.heard_at = now
        if max_stream_s is not None and self.ends_at is None:
            self.ends_at = now + max_stream_s
        return _SEND

    def not_connected(self) -> Commands:
        """The replica takes no connection: nothing was sent, another may have the request."""
        if self.state != "connecting":
            return _NOTHING
        if self.tries >= TRIES:
            self.state = "settled"
            return (REPLICA_DOWN, GIVE_BACK, NO_REPLICA)
        self.state = "deciding"
        return (REPLICA_DOWN, GIVE_BACK, RETRY)

    # -- the answer

    def head_came(self, *, streams: bool) -> Commands:
        """The engine has begun to answer."""
        if self.state != "sent":
            return _NOTHING
        self.state = "streaming" if streams else "answering"
        return _BEGIN_ANSWER

    def passed(self, now: float) -> Commands:
        """Bytes of the answer have passed."""
        self.heard_at = now
        return _END_STREAM if self.state == "ending" else _NOTHING

    def completed(self) -> Commands:
        """Settle after a complete response from the engine."""
        if self.state == "settled":
            return _NOTHING
        self.state = "settled"
        return _FINISH

    def stream_ended(self) -> Commands:
        """The end of the stream was written."""
        if self.state != "ending":
            return _NOTHING
        self.state = "settled"
        return (LEAVE_ENGINE, CLOSE_STREAM)

    def engine_closed(self, now: float, *, unanswered: bool) -> Commands:
        """The engine's connection is gone. `unanswered`: it was a kept one, and no byte came back
        on it.
        """
        stale = unanswered and now - self.heard_at <= STALE_WITHIN_S
        if stale and self.state == "sent" and self.tries < TRIES:
            return self._connects(_RECONNECT)
        return self.engine_failed("reset")

    def engine_failed(self, kind: str) -> Commands:
        """There will be no answer, or no more of it."""
        before = self.state
        if before == "settled":
            return _NOTHING
        self.state = "settled"
        if before in ("answering", "streaming", "ending"):
            return (LEAVE_ENGINE, EngineFailed(kind), BreakOff(f"engine-{kind}"))
        if kind == "silent":
            refusal = Refuse(504, "engine-silent", "The engine does not answer.", None, "cut")
        else:
            message = "The engine broke its answer off before it began."
            refusal = Refuse(502, f"engine-{kind}", message, None, "cut")
        return (LEAVE_ENGINE, EngineFailed(kind), refusal)

    # -- time, the client, the end of the gateway

    def looked(self, now: float, silent_s: float, *, paused: bool) -> Commands:
        """Time goes by. `silent_s`: how long an engine may say nothing. `paused`: the client takes
        nothing, so that the engine is not read.
        """
        state = self.state
        if state == "ending":
            if now - self.ending_since > CUT_AFTER_S:
                return self.engine_failed("stream-time")
        elif state == "streaming":
            if self.ends_at is not None and now >= self.ends_at:
                return self._ends(now, "stream-time")
        elif state not in ("sent", "answering"):
            return _NOTHING
        if now - self.heard_at > silent_s and not paused:
            return self.engine_failed("silent")
        return _NOTHING

    def _ends(self, now: float, reason: str) -> Commands:
        self.state = "ending"
        self.ending_since, self.ends_for = now, reason
        return _END_STREAM

    def drained(self, now: float) -> Commands:
        """The gateway ends: a stream is ended properly, a request without a response gets an error."""
        state = self.state
        if state in ("streaming", "ending"):
            return self._ends(now, "draining")
        if state in ("answering", "settled"):
            return _NOTHING
        self.state = "settled"
        return (LEAVE_ENGINE, _DRAINING)

    def cut_off(self) -> Commands:
        """The gateway ends now: no more of the answer will pass."""
        if self.state == "settled":
            return _NOTHING
        self.state = "settled"
        return (LEAVE_ENGINE, BreakOff("draining"))

    def client_left(self) -> Commands:
        """Nobody waits for the answer."""
        if self.state == "settled":
            return _NOTHING
        self.state = "settled"
        return (DROP, LEAVE_ENGINE)

    def forgotten(self) -> Commands:
        """Event: dropped before it began."""
        if self.state == "settled":
            return _NOTHING
        self.state = "settled"
        return (FORGET,)
