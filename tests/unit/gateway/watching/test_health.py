"""An engine is in the rotation as long as it works, by what its own numbers say."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.support.gateway_wire import World, chat, chunked, event, ok

from barostat.gateway.replica import Standing
from barostat.gateway.watching.engine_page import EnginePage, pool_in, read_page
from barostat.gateway.watching.health import MISSED, OWED_S, STALLED_S, Health, Watched, stands

PAGE = EnginePage(usage_ratio=0.5, running=3, waiting=1, preemptions=0, progress=100.0, engines=1)


def after(
    *looks: tuple[int | None, EnginePage | None, float], first: Standing = "unknown"
) -> Standing:
    seen, standing = Watched(), first
    for health, page, at in looks:
        standing = stands(standing, seen, health, page, at, lambda _: False)
    return standing


def test_one_that_answers_is_up() -> None:
    assert after((200, PAGE, 0)) == "up"
    assert after((200, None, 0)) == "up"


def test_one_that_never_answered_is_unreachable_at_once_and_a_known_one_after_some_looks() -> None:
    assert after((None, None, 0)) == "unreachable"
    missed = [(None, None, float(at)) for at in range(MISSED)]
    assert after((200, PAGE, 0), *missed[1:]) == "up"
    assert after((200, PAGE, 0), *missed) == "unreachable"
    assert after((200, PAGE, 0), *missed, (200, PAGE, 9)) == "up"


def test_one_that_says_that_it_is_dead_is_unhealthy() -> None:
    assert after((200, PAGE, 0), (503, PAGE, 1)) == "unhealthy"
    assert after((200, PAGE, 0), (503, PAGE, 1), (200, PAGE, 2)) == "up"


def test_requests_that_run_without_a_token_are_a_stall() -> None:
    late = STALLED_S + 1
    assert after((200, PAGE, 0), (200, PAGE, late)) == "stalled"
    assert after((200, PAGE, 0), (200, PAGE, late), (200, PAGE, late + 1)) == "stalled"
    assert (
        after((200, PAGE, 0), (200, PAGE, late), (200, replace(PAGE, progress=101.0), late + 1))
        == "up"
    )
    assert after((200, PAGE, 0), (200, replace(PAGE, progress=101.0), late)) == "up"


def test_an_idle_engine_makes_no_tokens_and_is_no_stall() -> None:
    idle = replace(PAGE, running=0)
    assert after((200, idle, 0), (200, idle, 100), (200, PAGE, 101), (200, PAGE, 102)) == "up"


TEXT = b"""# HELP vllm:num_requests_running x
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
vllm:num_requests_waiting{engine="0",model_name="m"} 1.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 7.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.75
vllm:num_preemptions_total{engine="0",model_name="m"} 4.0
vllm:generation_tokens_total{engine="0",model_name="a } b"} 1e+03
vllm:cache_config_info{block_size="16",enable_prefix_caching="False",engine="0",num_gpu_blocks="202"} 1.0
vllm:cache_config_info{block_size="16",enable_prefix_caching="False",engine="1",num_gpu_blocks="202"} 1.0
"""


def test_the_few_series_are_read_from_the_page() -> None:
    page = read_page(TEXT)
    assert page is not None
    assert (page.running, page.waiting, page.usage_ratio, page.preemptions, page.progress) == (
        5,
        1,
        0.5,
        4,
        1000.0,
    )
    assert read_page(b"go_goroutines 5\n") is None
    assert read_page(b"") is None


def test_the_pool_of_all_engines_without_their_null_blocks() -> None:
    pool = pool_in(TEXT, 4096)
    assert pool is not None
    assert pool.kv_tokens == 2 * 100 * 16
    assert not pool.shares_prefixes
    assert pool.longest_tokens == 4096
    assert pool_in(TEXT.replace(b"cache_config_info", b"x"), None) is None


async def asked(world: World, look: Coroutine[Any, Any, None], *pages: bytes) -> None:
    """That look, each question of which is answered as engines with these pages do; the last is
    that of all further ones.
    """
    task = asyncio.get_running_loop().create_task(look)
    while not task.done():
        await asyncio.sleep(0)
        world.goes_on()
        for engine in world.engines:
            question, engine.wire.heard = engine.heard, b""
            if question:
                models = b'{"data":[{"max_model_len":4096}]}' if b"/v1/models" in question else b""
                number = min(world.replicas.index(engine.protocol.pool), len(pages) - 1)
                engine.says(ok(pages[number] if b"/metrics" in question else models))
    await task


async def looked(world: World, health: Health, page: bytes) -> Standing:
    """How the engine stands after one look, each question of which is answered as an engine with
    this page does.
    """
    await asked(world, health.look(world.replicas[0]), page)
    return world.replicas[0].standing


WAITING = TEXT.replace(b"} 3.0", b"} 0.0").replace(b"} 2.0", b"} 0.0")
IDLE = WAITING.replace(
    b'waiting{engine="0",model_name="m"} 1.0', b'waiting{engine="0",model_name="m"} 0.0'
)


FIRST = chunked(event({"choices": [{"delta": {"content": "a"}}]}), end=False)
PICTURE = [
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a/b.png"}}]}
]


async def owed(
    asked: bytes,
    page: bytes,
    *,
    answer: bytes = b"",
    replicas: int = 2,
    after_s: float = OWED_S + 1,
) -> list[Standing]:
    """An engine with this page is sent a request, says this much, and then nothing: at once, after
    so long, and when nobody waits.
    """
    world = World(replicas=replicas)
    health, client = Health(world.desk), world.client()
    world.slow_dials = True
    client.sends(asked)
    world.slow_dials = False
    world.goes_on()
    world.engines.pop().says(answer)
    found = [await looked(world, health, page)]
    world.passes(after_s)
    found.append(await looked(world, health, page))
    client.leaves()
    found.append(await looked(world, health, page))
    world.at_rest()
    return found


@pytest.mark.parametrize("stream", [True, False])
def test_a_core_that_hung_before_it_was_asked_is_a_stall_until_nobody_waits(stream: bool) -> None:
    assert asyncio.run(owed(chat(max_tokens=5, stream=stream), IDLE)) == ["up", "stalled", "up"]


@pytest.mark.parametrize(
    ("asked", "page", "more"),
    [
        (chat(max_tokens=5, stream=True), IDLE, {"answer": FIRST}),
        (chat(max_tokens=5, stream=True), IDLE, {"replicas": 1}),
        (chat(max_tokens=5, stream=True), IDLE, {"after_s": OWED_S - 1}),
        (chat(max_tokens=5, stream=True), WAITING, {}),
        (chat(max_tokens=5, messages=PICTURE), IDLE, {}),
    ],
    ids=["it has begun", "the only one", "not for long", "they wait there", "a picture is fetched"],
)
def test_what_may_take_its_time_is_no_stall(
    asked: bytes, page: bytes, more: dict[str, Any]
) -> None:
    assert asyncio.run(owed(asked, page, **more)) == ["up", "up", "up"]


def test_what_an_engine_owed_before_it_began_anew_is_not_owed_by_the_new_one() -> None:
    seen, asked_at = Watched(), 5.0
    idle = replace(PAGE, running=0, waiting=0)
    standing: Standing = "up"
    for page, at in (
        (idle, 0.0),
        (replace(idle, progress=1.0), 10.0),
        (replace(idle, progress=1.0), 11.0 + OWED_S),
    ):
        standing = stands(standing, seen, 200, page, at, lambda since: asked_at >= since)
    assert standing == "up"


def test_a_long_prompt_that_fills_the_pool_is_no_stall() -> None:
    looks = [(200, replace(PAGE, usage_ratio=at / 1000), float(at)) for at in range(0, 100, 10)]
    assert after(*looks) == "up"


def test_a_look_tells_the_desk_what_the_engine_has() -> None:
    async def run() -> None:
        world = World(pool_tokens=None)
        health, name = Health(world.desk), "engine-0:8000"
        assert await looked(world, health, TEXT) == "up"
        assert world.desk.pools[name].kv_tokens == 3200
        assert world.desk.pools[name].longest_tokens == 4096
        world.down.add(name)
        world.replicas[0].close()
        assert [await looked(world, health, b"") for _ in range(MISSED)][-1] == "unreachable"
        world.down.clear()
        assert (
            await looked(world, health, TEXT.replace(b'blocks="202"', b'blocks="402"')) == "up"
        )  # started anew, with more memory
        assert world.desk.pools[name].kv_tokens == 6400

    asyncio.run(run())


BEGAN = b'vllm:generation_tokens_created{engine="0",model_name="m"} %b\n'
ONE, OTHER = TEXT + BEGAN % b"1.7952531189272707e+09", TEXT + BEGAN % b"1.7952531189272709e+09"


@pytest.mark.parametrize(
    ("pages", "standings"),
    [
        ((ONE, ONE), ["up", "named-twice"]),
        ((ONE, OTHER, ONE), ["up", "up", "named-twice"]),
        ((ONE, OTHER), ["up", "up"]),
        ((TEXT, TEXT), ["up", "up"]),
    ],
    ids=["the same", "among others", "each its own", "they do not say"],
)
def test_an_engine_that_was_named_by_two_addresses_counts_once(
    pages: tuple[bytes, ...], standings: list[Standing]
) -> None:
    async def run() -> None:
        world = World(pool_tokens=None, replicas=len(standings))
        health = Health(world.desk)
        await asked(world, health.first_look(), *pages)
        assert [replica.standing for replica in world.replicas] == standings
        for replica in world.replicas:  # and from then on
            await asked(world, health.look(replica), *pages)
        assert [replica.standing for replica in world.replicas] == standings
        takes = [name for name, one in world.desk.ledger.replicas.items() if one.open]
        assert takes == [replica.name for replica in world.replicas if replica.standing == "up"]
        if standings[-1] == "named-twice":
            assert (
                world.replicas[-1].why
                == "it is engine-0:8000 by another address; leave one of the two out"
            )

    asyncio.run(run())


def test_a_second_address_serves_while_the_first_cannot_be_reached() -> None:
    async def run() -> None:
        world = World(pool_tokens=None, replicas=2)
        health = Health(world.desk)
        await asked(world, health.first_look(), ONE)
        world.down.add("engine-0:8000")
        world.replicas[0].close()
        for _ in range(MISSED):
            await asked(world, health.look(world.replicas[0]), ONE)
        await asked(world, health.look(world.replicas[1]), ONE)
        assert [replica.standing for replica in world.replicas] == ["unreachable", "up"]
        world.down.clear()
        for replica in world.replicas:
            await asked(world, health.look(replica), ONE)
        assert [replica.standing for replica in world.replicas] == ["up", "named-twice"]

    asyncio.run(run())
