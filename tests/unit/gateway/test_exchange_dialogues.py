"""Dialogues of a client, the gateway and its engines, line by line, with the state of the exchange
after each. No socket: the whole gateway between byte strings.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import cast, get_args

import pytest
from tests.support.gateway_wire import Side, World, chat, chunk, chunked, event, ok

from barostat.admit.decision import Refused
from barostat.gateway.bounds import Bounds
from barostat.gateway.exchange import Exchange
from barostat.gateway.exchange_machine import State
from barostat.gateway.shared_entry import SharedEntry
from barostat.io.redis.shared_budget import BudgetClaim, SharedBudget, Taken

ANSWER = ok(json.dumps({"id": "a", "choices": [{"finish_reason": "stop"}]}).encode())
REQUEST = chat(max_tokens=5)
STREAM_REQUEST = chat(max_tokens=5, stream=True)
PIECE = chunk(event({"id": "a", "choices": [{"delta": {"content": "x"}}]}))
BEGUN = chunked(end=False) + PIECE
SPEC = "request: {maxOutputTokens: 100, maxStreamSeconds: 30}"


def state(client: Side) -> State | None:
    """The state of the exchange that is under way, None where there is none."""
    current = client.protocol.current
    return None if current is None else current.machine.state


def statuses(client: Side) -> list[int]:
    """The statuses of the answers that came."""
    return [int(part[:3]) for part in client.heard.split(b"HTTP/1.1 ")[1:]]


# -- reading


def test_a_slow_body_holds_no_engine_and_ends_in_a_408() -> None:
    world = World(bounds=Bounds(body_s=20.0))
    client = world.client()
    head, _, body = REQUEST.partition(b"\r\n\r\n")
    client.sends(head + b"\r\n\r\n")
    for at in range(10):
        client.sends(body[at : at + 1])
        world.passes(1)
        assert (state(client), world.engines, client.heard) == (None, [], b"")
    world.passes(12)
    assert statuses(client) == [408]
    assert not world.engines
    client.leaves()
    world.at_rest()


def test_a_slow_body_that_comes_whole_is_served() -> None:
    world = World()
    client = world.client()
    for at in range(0, len(REQUEST), 20):
        client.sends(REQUEST[at : at + 20])
        world.passes(1)
    assert state(client) == "sent"
    world.engine().says(ANSWER)
    assert client.heard == ANSWER
    world.at_rest()


def test_a_continue_is_said_before_the_body_and_not_beside_an_answer() -> None:
    head, _, body = chat("hello", "Expect: 100-continue", max_tokens=5).partition(b"\r\n\r\n")
    world = World()
    client = world.client()
    client.sends(head + b"\r\n\r\n")
    assert statuses(client) == [100]
    assert state(client) is None
    client.sends(body + head + b"\r\n\r\n")  # the second one comes before the first is answered
    assert state(client) == "sent"
    assert statuses(client) == [100]
    world.engine().says(ANSWER)
    client.sends(body)
    assert state(client) == "sent"
    world.engine().says(ANSWER)
    assert statuses(client) == [100, 200, 200]
    world.at_rest()


def test_a_refusal_before_the_body_asks_for_none() -> None:
    """A client that waits for 100 Continue has its refusal at once, and the connection ends."""
    world = World(keys={"k": "red"})
    client = world.client()
    head = chat("hello", "Expect: 100-continue", max_tokens=5).partition(b"\r\n\r\n")[0]
    client.sends(head + b"\r\n\r\n")
    assert statuses(client) == [401]
    assert client.wire.half_closed
    client.leaves()
    world.at_rest()


def test_a_refusal_after_the_body_keeps_the_connection() -> None:
    world = World(keys={"k": "red"})
    client = world.client()
    client.sends(REQUEST)
    assert statuses(client) == [401]
    assert state(client) is None
    assert not client.wire.closing
    client.sends(chat("hello", "Authorization: Bearer k", max_tokens=5))
    assert state(client) == "sent"
    world.engine().says(ANSWER)
    assert statuses(client) == [401, 200]
    world.at_rest()


def test_a_body_that_is_too_large_is_refused_by_its_length_alone() -> None:
    world = World(bounds=Bounds(body_bytes=1000))
    client = world.client()
    client.sends(REQUEST.replace(b"Content-Length: ", b"Content-Length: 9999", 1)[:-10])
    assert statuses(client) == [413]
    assert not world.engines
    client.leaves()
    world.at_rest()


# -- engines


def test_a_request_goes_to_another_replica_when_the_first_takes_no_connection() -> None:
    world = World(replicas=2)
    world.slow_dials = True
    world.down.add("engine-0:8000")
    client = world.client()
    client.sends(REQUEST)
    assert state(client) == "connecting"
    first = client.protocol.current.served_by
    world.down = {first}
    world.slow_dials = False
    world.goes_on()
    assert state(client) == "sent"
    assert client.protocol.current.served_by != first
    assert client.protocol.current.machine.tries == 2
    world.engine().says(ANSWER)
    assert client.heard == ANSWER
    world.at_rest()


@pytest.mark.parametrize("how", ["ends", "leaves"])
def test_a_late_answer_with_a_second_request_behind_it_and_the_client_hangs_up(how: str) -> None:
    world = World()
    client = world.client()
    client.sends(REQUEST + chat("second", max_tokens=5))
    first, (second,) = client.protocol.current, client.protocol.pipeline
    assert (first.machine.state, second.machine.state) == ("sent", "pending")
    world.passes(30)
    getattr(client, how)()
    assert (first.machine.state, second.machine.state) == ("settled", "settled")
    assert world.engine().wire.aborted
    world.at_rest()


def test_a_late_answer_and_a_second_request_behind_it() -> None:
    world = World()
    client = world.client()
    client.sends(REQUEST + chat("second", max_tokens=5))
    second = client.protocol.pipeline[0]
    world.passes(30)
    assert (state(client), second.machine.state) == ("sent", "pending")
    world.engine().says(ANSWER)
    assert client.protocol.current is second
    assert state(client) == "sent"
    world.engine().says(ANSWER)
    assert client.heard == ANSWER * 2
    world.at_rest()


# -- the end of streams


def test_a_stream_is_ended_at_its_deadline_and_the_connection_goes_on() -> None:
    world = World(SPEC)
    client = world.client()
    client.sends(STREAM_REQUEST)
    world.engine().says(BEGUN)
    assert state(client) == "streaming"
    world.passes(31)
    assert state(client) is None
    assert client.heard.endswith(b"0\r\n\r\n")
    assert b"[DONE]" in client.heard
    assert world.engine().wire.aborted
    client.sends(REQUEST)
    assert state(client) == "sent"
    world.engine().says(ANSWER)
    assert client.heard.endswith(ANSWER)
    world.at_rest()


def test_a_stream_at_its_deadline_within_an_event_ends_with_it_or_is_cut() -> None:
    for rest in (PIECE[10:], b""):
        world = World(SPEC)
        client = world.client()
        client.sends(STREAM_REQUEST)
        world.engine().says(BEGUN + PIECE[:10])
        world.passes(31)
        assert state(client) == "ending"
        if rest:
            world.engine().says(rest)
            assert client.heard.endswith(b"0\r\n\r\n")
            assert not client.wire.closing
        else:
            world.passes(3)
            assert client.wire.aborted
        assert state(client) is None
        world.at_rest()


def drain(world: World) -> None:
    """What the gateway does at the end of its time."""
    world.gateway.draining = True
    for client in tuple(world.gateway.clients):
        client.drain()
    world.goes_on()
    for client in tuple(world.gateway.clients):
        client.cut_off()
    world.goes_on()


# -- every state


class Budget:
    """A shared budget in which one question waits until `answers`."""

    def __init__(self) -> None:
        self.held = 0
        self.answers = asyncio.Event()
        self.reachable = True

    async def take(self, claims: dict[str, BudgetClaim]) -> Taken:
        await self.answers.wait()
        self.held += len(claims)
        return Taken(1)

    def give_back_soon(self, _: int) -> None:
        self.held -= 1


Dialogue = tuple[World, Side, Budget]


def world_and_client(spec: str = SPEC, pool_tokens: int = 100_000) -> Dialogue:
    world = World(spec, pool_tokens=pool_tokens)
    return world, world.client(), Budget()


def pending() -> Dialogue:
    world, client, budget = world_and_client()
    client.sends(REQUEST + REQUEST)
    return world, client, budget


def counting() -> Dialogue:
    world, client, budget = world_and_client("request: {maxInputTokens: 60}")
    world.desk.counter = lambda _: None
    client.sends(chat("a b c d " * 12, max_tokens=5))
    return world, client, budget


def queued() -> Dialogue:
    world, _, budget = world_and_client("request: {maxOutputTokens: 2000}", 4000)
    for _ in range(20):
        client = world.client()
        client.sends(chat(max_tokens=2000))
        if state(client) == "queued":
            return world, client, budget
    raise AssertionError("nothing waits")


def entering() -> Dialogue:
    world, client, budget = world_and_client()
    world.gateway.shared = SharedEntry(world.desk, cast(SharedBudget, budget))
    client.sends(REQUEST)
    return world, client, budget


def connecting() -> Dialogue:
    world, client, budget = world_and_client()
    world.slow_dials = True
    client.sends(REQUEST)
    return world, client, budget


def sent() -> Dialogue:
    world, client, budget = world_and_client()
    client.sends(REQUEST)
    return world, client, budget


def answering() -> Dialogue:
    world, client, budget = world_and_client()
    client.sends(REQUEST)
    world.engine().says(ANSWER[:-5])
    return world, client, budget


def streaming() -> Dialogue:
    world, client, budget = world_and_client()
    client.sends(STREAM_REQUEST)
    world.engine().says(BEGUN)
    return world, client, budget


def ending() -> Dialogue:
    world, client, budget = world_and_client()
    client.sends(STREAM_REQUEST)
    world.engine().says(BEGUN + PIECE[:10])
    world.passes(31)
    return world, client, budget


REACHED: dict[State, Callable[[], Dialogue]] = {
    "pending": pending,
    "counting": counting,
    "queued": queued,
    "entering": entering,
    "connecting": connecting,
    "sent": sent,
    "answering": answering,
    "streaming": streaming,
    "ending": ending,
}


def test_every_state_that_waits_for_something_has_its_dialogue() -> None:
    """`deciding` lasts no longer than a call of the desk."""
    assert set(REACHED) == set(get_args(State)) - {"deciding", "settled"}


def exchange_in(wanted: State, client: Side) -> Exchange:
    protocol = client.protocol
    exchange: Exchange = protocol.pipeline[0] if wanted == "pending" else protocol.current
    assert exchange.machine.state == wanted
    return exchange


def what_comes_too_late(world: World, exchange: Exchange, budget: Budget) -> None:
    """What the gateway waited for comes after all."""
    budget.answers.set()
    world.slow_dials = False
    exchange.follow_if_here(Refused(503, "deadline-passed", "too late", 1.0))
    world.goes_on()
    for engine in tuple(world.engines):
        if engine.protocol.exchange is not None:
            engine.says(ANSWER)


@pytest.mark.parametrize("how", ["leaves", "ends", "drains"])
@pytest.mark.parametrize("wanted", REACHED)
def test_nothing_is_held_once_the_exchange_has_ended_in_that_state(wanted: State, how: str) -> None:
    async def dialogue() -> None:
        world, client, budget = REACHED[wanted]()
        exchange = exchange_in(wanted, client)
        if how == "drains":
            drain(world)
        else:
            getattr(client, how)()
        assert exchange.settled
        what_comes_too_late(world, exchange, budget)
        for _ in range(5):
            await asyncio.sleep(0)
        world.goes_on()
        for other in tuple(world.gateway.clients):
            other.cut()
        world.goes_on()
        assert budget.held == 0
        assert not world.gateway.clients
        world.at_rest()

    asyncio.run(dialogue())


@pytest.mark.parametrize("wanted", REACHED)
def test_what_a_drain_says_in_every_state(wanted: State) -> None:
    async def dialogue() -> None:
        world, client, _ = REACHED[wanted]()
        if wanted == "pending":
            assert statuses(client) == []
            drain(world)
            assert statuses(client) == [503]  # the one before it; its own was never read further
        elif wanted in ("answering", "ending"):
            drain(world)
            assert statuses(client) == [200]
            assert client.wire.aborted
        elif wanted == "streaming":
            drain(world)
            assert client.heard.endswith(b"0\r\n\r\n")
            assert b"[DONE]" in client.heard
        else:
            drain(world)
            assert statuses(client) == [503]
            assert b"retry-after: 1\r\n" in client.heard

    asyncio.run(dialogue())
