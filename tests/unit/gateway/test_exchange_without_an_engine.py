"""An engine that takes no connection, or drops the one that was kept: what becomes of the
request.
"""

from __future__ import annotations

import json

import pytest
from tests.support.gateway_wire import World, answered, chat, ok

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
ANSWER = ok(
    json.dumps({"id": "a", "choices": [{"finish_reason": "stop"}], "usage": USAGE}).encode()
)


def test_a_kept_connection_that_the_engine_has_closed_is_tried_once_more() -> None:
    world, client, engine = answered(chat(max_tokens=5), ANSWER)
    client.sends(chat("again", max_tokens=5))
    engine.leaves()  # not a byte of the second answer came
    assert len(world.engines) == 2
    assert b"again" in world.engine().heard
    world.engine().says(ANSWER)
    assert client.heard == ANSWER * 2
    world.at_rest()


def test_a_new_connection_that_breaks_is_not_tried_again() -> None:
    """The engine may have begun to work on it."""
    world = World(replicas=2)
    client = world.client()
    client.sends(chat(max_tokens=5))
    world.engine().leaves()
    assert len(world.engines) == 1
    assert client.heard.startswith(b"HTTP/1.1 502 ")


def test_an_engine_that_takes_no_connection_loses_the_request_to_another() -> None:
    world = World(replicas=2)
    world.down.add("engine-0:8000")
    client = world.client()
    for _ in range(3):
        client.sends(chat(max_tokens=5))
        world.engine().says(ANSWER)
    assert client.heard == ANSWER * 3
    assert world.replicas[0].standing == "unreachable"
    world.at_rest()


def test_the_only_engine_takes_no_connection_for_a_moment() -> None:
    world = World()
    world.down.add("engine-0:8000")
    client, behind = world.client(), world.client()
    client.sends(chat(max_tokens=5))
    behind.sends(chat(max_tokens=5))
    assert not world.engines
    world.down.clear()
    world.desk.stands(world.replicas[0], "up")
    world.passes(0.5)
    for engine in tuple(world.engines):
        engine.says(ANSWER)
    assert (client.heard, behind.heard) == (ANSWER, ANSWER)
    world.at_rest()


def test_no_engine_at_all() -> None:
    world = World(replicas=2)
    world.down |= {"engine-0:8000", "engine-1:8000"}
    client = world.client()
    client.sends(chat(max_tokens=5))
    world.passes(40)
    assert client.heard.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: " in client.heard
    world.at_rest()


@pytest.mark.parametrize("down", [False, True])
def test_a_client_that_vanishes_while_the_engine_is_dialled(down: bool) -> None:
    world = World()
    if down:
        world.down.add("engine-0:8000")
    world.slow_dials = True
    client = world.client()
    client.sends(chat(max_tokens=5))
    client.leaves()
    world.at_rest()
    world.slow_dials = False
    world.goes_on()
    assert all(engine.heard == b"" for engine in world.engines)  # nobody is asked for nobody
    world.at_rest()


def test_a_kept_connection_that_breaks_later_is_not_tried_again() -> None:
    world, client, engine = answered(chat(max_tokens=5), ANSWER)
    client.sends(chat("again", max_tokens=5))
    world.passes(5)
    engine.leaves()
    assert len(world.engines) == 1
    assert client.heard.removeprefix(ANSWER).startswith(b"HTTP/1.1 502 ")
    world.at_rest()
