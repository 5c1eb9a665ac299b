"""Which models an engine serves is read from its own list, and requests go to the engines that have
theirs.
"""

from __future__ import annotations

import json

import pytest
from tests.support.gateway_wire import World, chat, ok

from barostat.gateway.messages.served import Served, elsewhere, served_in
from barostat.gateway.messages.shape import Shape

LIST = {
    "data": [
        {"id": "qwen", "root": "/models/Qwen3-8B", "max_model_len": 4096},
        {"id": "law", "root": "/lora", "max_model_len": None},
    ]
}


def test_the_names_of_a_model_and_its_adapters() -> None:
    served = served_in(json.dumps(LIST).encode())
    assert served == Served(
        frozenset({"qwen", "law"}), frozenset({"qwen", "law", "/models/Qwen3-8B", "/lora"}), 4096
    )
    assert served.fits("Qwen/qwen3-8b")
    assert served.fits("qwen")
    assert not served.fits("meta-llama/Llama-3.1-8B")
    assert Served().fits("anything")  # it does not say


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"[]",
        b'{"data": 3}',
        b'{"data": null}',
        b"{",
        b'{"data": ["a"]}',
        b'{"data": [{"max_model_len": -1}]}',
    ],
)
def test_what_is_no_list_says_nothing(page: bytes) -> None:
    assert served_in(page) in (None, Served())


def test_where_a_model_is_not() -> None:
    assert elsewhere(
        [("a", Served(frozenset({"m", "x"}))), ("b", Served(frozenset({"m"}))), ("c", Served())]
    ) == {"x": ("b",)}
    assert elsewhere([("a", Served(frozenset({"m"}))), ("b", Served(frozenset({"m"})))]) == {}


def two_models(shadow: bool = False, pool_tokens: int | None = 100_000) -> World:
    spec = "edge: {failurePolicy: {kvTokenBudget: open}}"
    world = World(spec, replicas=3, shadow=shadow, pool_tokens=pool_tokens)
    for replica, name in zip(
        world.replicas, ("one", "two"), strict=False
    ):  # the third does not say
        world.desk.serves(replica, Served(frozenset({name}), frozenset({name}), 32_768))
    return world


def sent_to(world: World, model: str) -> str:
    client = world.client()
    client.sends(chat(max_tokens=5, model=model))
    name: str = client.protocol.current.served_by
    world.engine().says(ok(b"{}"))
    return name


@pytest.mark.parametrize(
    ("shadow", "pool_tokens"), [(False, 100_000), (True, 100_000), (False, None)]
)
def test_a_request_goes_to_an_engine_that_serves_its_model(
    shadow: bool, pool_tokens: int | None
) -> None:
    world = two_models(shadow, pool_tokens)
    world.desk.stands(world.replicas[2], "unhealthy")
    for model, name in (
        ("two", "engine-1:8000"),
        ("one", "engine-0:8000"),
        ("nobody's", "engine-0:8000"),
    ):  # which will say so
        assert sent_to(world, model) == name
        for replica in world.replicas:
            replica.close()  # so that each has a connection of its own
    world.desk.leaves(world.replicas[0])
    assert world.desk.not_serving(Shape("chat", 1, model="one")) == ()
    world.at_rest()


def test_where_the_only_engine_of_a_model_takes_no_connection_others_are_not_asked() -> None:
    world = two_models()
    world.desk.leaves(world.replicas[2])
    world.down.add("engine-1:8000")
    client = world.client()
    client.sends(chat(max_tokens=5, model="two"))
    world.passes(40)
    assert b"503 Service Unavailable" in client.heard
    assert b'"code":"no-replica"' in client.heard
    assert all(b"POST" not in engine.heard for engine in world.engines)
    world.at_rest()


def test_lengths_of_models_and_adapters_are_told_apart_and_names_that_clients_invent_are_not() -> (
    None
):
    world = World(replicas=1, pool_tokens=100_000)

    def classes() -> set[str]:
        for model in ("m", "adapter", "invented"):
            for tools in ([], [{"type": "function"}]):
                client = world.client()
                client.sends(chat(max_tokens=5, model=model, tools=tools))
        return {one.request.class_key for one in world.desk.ledger.reservations.values()}

    assert classes() == {"", "tools"}  # one name, or none that is known: one model
    world.desk.serves(
        world.replicas[0], Served(frozenset({"m", "adapter"}), frozenset({"m", "adapter"}), 32_768)
    )
    assert classes() == {"", "tools", "m", "m tools", "adapter", "adapter tools"}
