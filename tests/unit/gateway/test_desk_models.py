"""Engines of different models behind one gateway: who waits for the one is nothing to the other,
nor what the one takes, nor who joins.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import cast

import pytest
from tests.support.gateway_wire import HEAD, Side, World, chat, ok, post

from barostat.admit.replica_news import Pool
from barostat.gateway.bounds import Bounds
from barostat.gateway.client import ClientConnection
from barostat.gateway.desk import Desk
from barostat.gateway.messages.served import Served, alike
from barostat.gateway.messages.shape import Shape, shape_of
from barostat.gateway.metrics import Metrics
from barostat.gateway.replica import Replica, upstream_address
from barostat.gateway.state import Gateway
from barostat.gateway.time_limits import Rounds
from barostat.gateway.watching.health import Health
from barostat.io.input_files.limits_file import parse

USED = ok(b'{"usage": {"prompt_tokens": 100, "completion_tokens": 200}}')
OPEN = "edge: {failurePolicy: {kvTokenBudget: open}}"


def serves(world: World, *models: str) -> None:
    """The engines serve these, one each."""
    for replica, name in zip(world.replicas, models, strict=True):
        world.desk.serves(replica, Served(frozenset({name}), frozenset({name}), 32_768))


def ask(world: World, model: str, count: int) -> list[Side]:
    """So many clients ask for it."""
    clients = [world.client() for _ in range(count)]
    for client in clients:
        client.sends(
            post("/v1/completions", {"model": model, "prompt": [7] * 100, "max_tokens": 200})
        )
    return clients


def test_what_serves_alike() -> None:
    def said(**served: str) -> dict[str, str]:
        return alike((name, Served(frozenset(models.split()))) for name, models in served.items())

    assert said(r0="m", r1="m") == {"r0": "m", "r1": "m"}
    assert said(r0="m", r1="m x") == {"r0": "m", "r1": "m"}
    assert said(r0="m", r1="n", r2="n x") == {"r0": "m", "r1": "n", "r2": "n"}
    assert said(r0="y m", r1="n", r2="y n") == {"r0": "m", "r1": "m", "r2": "m"}
    assert said(r0="m", r1="") == {"r0": "m", "r1": "m"}  # with one model only, it will be that
    assert said(r0="m", r1="", r2="n") == {"r0": "m", "r1": "", "r2": "n"}
    assert said(r0="", r1="") == {"r0": "", "r1": ""}


def test_what_comes_free_is_for_those_who_wait_for_that_engine() -> None:
    world = World(replicas=2, pool_tokens=1000)
    serves(world, "slow", "quick")
    ask(world, "slow", 40)
    quick = ask(world, "quick", 6)
    assert len(world.desk.running) == 6
    for _ in range(6):
        engine = next(
            one
            for one in world.engines
            if one.protocol.exchange is not None and one.protocol.pool.name == "engine-1:8000"
        )
        engine.says(USED)
    assert [client.heard for client in quick] == [USED] * 6
    assert len(world.desk.waiting) == 37


def test_an_engine_of_another_model_that_joins_gets_nothing_of_what_waits() -> None:
    world = World(replicas=2, pool_tokens=1000)
    desk, late = world.desk, world.replicas[1]
    desk.leaves(late)
    desk.serves(world.replicas[0], Served(frozenset({"one"}), frozenset({"one"}), 32_768))
    waiting = ask(world, "one", 4)[3:]
    late.standing = "unknown"
    desk.joins(late)
    desk.serves(late, Served(frozenset({"two"}), frozenset({"two"}), 32_768))
    desk.stands(late, "up")
    desk.has_pool(late, Pool(1000, 16, 64, 32_768))
    world.passes(1)
    assert [one.protocol.pool.name for one in world.engines] == ["engine-0:8000"] * 3
    world.engines[0].says(USED)
    world.engines[0].says(USED)
    assert waiting[0].heard == USED


def test_a_context_is_that_of_the_model_that_is_asked_for() -> None:
    world = World(replicas=2)
    serves(world, "short", "long")
    for replica, tokens in zip(world.replicas, (4096, 32_768), strict=True):
        world.desk.has_pool(replica, Pool(100_000, 16, 64, tokens))
    long = world.client()
    long.sends(post("/v1/completions", {"model": "long", "prompt": [7] * 8000, "max_tokens": 5}))
    assert [one.protocol.pool.name for one in world.engines] == ["engine-1:8000"]
    world.counts(8000)
    refused = world.client()
    refused.sends(chat("x" * 30_000, model="short", max_tokens=5))
    assert refused.heard.startswith(b"HTTP/1.1 413 ")


class LittleEngine:
    """An engine on a real socket, with a pool of 1,008 tokens. `held`: its answers come when that
    is set.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self.asked = 0
        self.held = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lengths = [
                    line
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                ]
                await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
                writer.write(await self._answer(head.split(b" ")[1]))
        writer.close()

    async def _answer(self, path: bytes) -> bytes:
        if path == b"/metrics":
            return ok(
                b'vllm:num_requests_running{engine="0"} 0\nvllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="64"} 1\n'
            )
        if path == b"/v1/models":
            return ok(json.dumps({"data": [{"id": self.model, "max_model_len": 4096}]}).encode())
        if path == b"/v1/completions":
            self.asked += 1
            await self.held.wait()
            return USED
        return ok(b"")


@contextlib.asynccontextmanager
async def gateway_before(*engines: LittleEngine) -> AsyncIterator[tuple[int, Desk]]:
    """Its port, once it has looked at them."""
    loop = asyncio.get_running_loop()
    async with contextlib.AsyncExitStack() as stack:
        listening = [
            await stack.enter_async_context(await asyncio.start_server(one.serve, "127.0.0.1", 0))
            for one in engines
        ]
        rounds, metrics, bounds = Rounds(), Metrics(), Bounds()
        urls = [f"http://127.0.0.1:{one.sockets[0].getsockname()[1]}" for one in listening]
        replicas = [Replica(upstream_address(url), bounds, lambda: rounds.now) for url in urls]
        limits = parse(
            HEAD + "  request: {maxOutputTokens: 200}\n  edge: {queueDeadlineSeconds: 20}\n"
        )
        desk = Desk(limits, replicas, metrics, loop.time, loop.call_soon)
        gateway = Gateway(desk, rounds, metrics, bounds=bounds, keys=None, engine_key="", log=None)
        rounds.start(loop)
        await Health(desk).first_look()
        front = await loop.create_server(
            lambda: cast("asyncio.Protocol", ClientConnection(gateway)), "127.0.0.1", 0
        )
        try:
            yield front.sockets[0].getsockname()[1], desk
        finally:
            rounds.stop()
            front.close()
            for client in tuple(gateway.clients):
                client.cut()
            for replica in replicas:
                replica.close()
            await asyncio.sleep(0)


async def answered(port: int, model: str) -> bytes:
    """What a client hears that asks for it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(post("/v1/completions", {"model": model, "prompt": [7] * 100, "max_tokens": 200}))
    heard = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    return heard


def test_over_real_sockets_a_model_is_answered_while_anothers_queue_stands_still() -> None:
    async def run() -> None:
        slow, quick = LittleEngine("slow"), LittleEngine("quick")
        quick.held.set()
        async with asyncio.timeout(20), gateway_before(slow, quick) as (port, desk):
            stuck = [asyncio.create_task(answered(port, "slow")) for _ in range(30)]
            while len(desk.waiting) < 27:
                await asyncio.sleep(0.01)
            heard = await asyncio.gather(
                *(answered(port, "quick") for _ in range(40))
            )  # thirteen times what fits
            assert all(one.startswith(b"HTTP/1.1 200 ") for one in heard)
            assert (slow.asked, quick.asked) == (3, 40)
            slow.held.set()
            assert all(one.startswith(b"HTTP/1.1 200 ") for one in await asyncio.gather(*stuck))

    asyncio.run(run())


def test_a_model_whose_only_engine_is_away_for_a_moment_waits_for_it_as_behind_a_gateway_of_its_own() -> (
    None
):
    world = World(replicas=2, pool_tokens=1000)
    serves(world, "a", "b")
    world.desk.stands(world.replicas[1], "unreachable")
    (client,) = ask(world, "b", 1)
    world.passes(1)
    assert (client.heard, len(world.desk.waiting)) == (b"", 1)
    world.desk.stands(world.replicas[1], "up")
    world.passes(1)
    world.engines[0].says(USED)
    assert client.heard == USED


def test_a_model_whose_engine_tells_no_pool_is_passed_on_outside_the_account() -> None:
    world = World(
        OPEN,
        replicas=2,
        pool_tokens=None,
    )
    serves(world, "a", "encoder")
    world.desk.has_pool(world.replicas[0], Pool(1000, 16, 64, 32_768))
    (client,) = ask(world, "encoder", 1)
    world.passes(1)
    assert [one.protocol.pool.name for one in world.engines] == ["engine-1:8000"]
    world.engines[0].says(USED)
    assert client.heard == USED
    assert world.gateway.metrics.counters[("unaccounted_total", ())] == 1


def used(tokens: int) -> bytes:
    """An answer to an input of so many."""
    return ok(b'{"usage": {"prompt_tokens": %d, "completion_tokens": 5}}' % tokens)


def estimated(world: World, model: str, words: int = 1000) -> int:
    """What an input of so many words is taken to be, asked of that model."""
    shape = shape_of(
        "chat",
        json.dumps(
            {"model": model, "messages": [{"role": "user", "content": "word " * words}]}
        ).encode(),
    )
    assert isinstance(shape, Shape)
    return world.desk.engines_of(shape).counts.estimate(shape)


def teach(world: World, model: str, tokens: int, answers: int = 60) -> None:
    """So many inputs of a thousand words were so many tokens to that model."""
    client = world.client()
    for _ in range(answers):
        client.sends(chat("word " * 1000, model=model, max_tokens=5))
        engine = next(one for one in world.engines if one.protocol.exchange is not None)
        engine.says(used(tokens))


def test_how_many_tokens_a_body_is_is_learned_of_each_model() -> None:
    world = World(replicas=2)
    serves(world, "coarse", "fine")
    teach(world, "coarse", 1000)
    teach(world, "fine", 4000)
    assert estimated(world, "coarse") == pytest.approx(1000, rel=0.05)
    assert estimated(world, "fine") == pytest.approx(4000, rel=0.05)


def test_a_template_that_adds_much_widens_no_other_models_bound() -> None:
    world = World(replicas=2)
    serves(world, "plain", "wordy")
    shape = shape_of("chat", b'{"model": "plain", "messages": [{"role": "user", "content": "hi"}]}')
    assert isinstance(shape, Shape)
    before = world.desk.engines_of(shape).counts.bound(shape)
    teach(world, "wordy", 18_000, answers=1)
    assert world.desk.engines_of(shape).counts.bound(shape) == before
    assert world.desk.bound_exceeded == 1


def test_an_input_above_its_bound_widens_it_once_by_whatever_name_it_was_asked_for() -> None:
    world = World(replicas=2)
    serves(world, "plain", "wordy")
    teach(world, "wordy", 18_000, answers=2)
    sizes = world.desk.ledger.replicas["engine-1:8000"].learned.inputs
    added = sizes.added_tokens
    assert 2000 < added < 3000
    shape = shape_of(
        "chat", b'{"messages": [{"role": "user", "content": "%b"}]}' % (b"word " * 1000)
    )
    assert isinstance(shape, Shape)
    for _ in range(5):
        shape.bound = world.desk.engines_of(shape).counts.bound(shape)
        world.desk.counted(shape, 18_000, "engine-1:8000")
    assert abs(sizes.added_tokens - added) < 200


def test_one_model_on_several_engines_is_learned_of_as_one_whatever_name_clients_call_it_by() -> (
    None
):
    world = World(replicas=2)
    serves(world, "m", "m")
    teach(world, "m", 2000, answers=30)
    teach(world, "whatever", 2000, answers=30)
    sizes = world.desk.ledger.learned.inputs
    assert sizes.samples == {"chat": 60}
    assert all(replica.learned.inputs is sizes for replica in world.desk.ledger.replicas.values())


def test_names_that_clients_make_up_are_not_kept() -> None:
    world = World(replicas=3)
    serves(world, "a", "b", "b")
    held = {
        id(world.desk.engines_of(one))
        for number in range(1000)
        for one in [shape_named(f"made-up-{number}")]
    }
    assert len(held) == 1
    assert (
        len(
            {
                id(world.desk.engines_of(shape_named(name)).counts.sizes)
                for name in ("a", "b", "made-up")
            }
        )
        == 2
    )


def shape_named(model: str) -> Shape:
    """A request for it."""
    shape = shape_of("chat", json.dumps({"model": model, "messages": []}).encode())
    assert isinstance(shape, Shape)
    return shape


def test_what_was_learned_of_inputs_goes_with_the_models_last_engine() -> None:
    world = World(replicas=2)
    serves(world, "a", "b")
    first = estimated(world, "b")
    teach(world, "a", 1000)
    teach(world, "b", 4000)
    late = world.replicas[1]
    world.desk.leaves(late)
    late.standing = "up"
    world.desk.joins(late)
    world.desk.has_pool(late, Pool(100_000, 16, 64, 32_768))
    assert estimated(world, "b") == first
    assert estimated(world, "a") == pytest.approx(1000, rel=0.05)


def test_inputs_of_a_model_that_tells_no_pool_are_learned_of_apart() -> None:
    world = World(
        OPEN,
        replicas=2,
        pool_tokens=None,
    )
    serves(world, "a", "encoder")
    world.desk.has_pool(world.replicas[0], Pool(100_000, 16, 64, 32_768))
    teach(world, "a", 1000)
    teach(world, "encoder", 4000)
    assert estimated(world, "a") == pytest.approx(1000, rel=0.05)
    assert estimated(world, "encoder") == pytest.approx(4000, rel=0.05)
