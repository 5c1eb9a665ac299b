"""The engine is asked in the form it understands, a few times at once, and what it says is what is
decided by.
"""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.support.gateway_wire import Heard, Side, World, chunked, ok, post

from barostat.gateway.exact_count import AT_ONCE, WAITING, ExactCount


def counting(spec: str = "request: {maxInputTokens: 100}", longest_tokens: int = 32_768) -> World:
    world = World(spec, longest_tokens=longest_tokens)
    world.desk.counter = ExactCount(world.desk).count
    return world


def prompt(words: int) -> bytes:
    return post("/v1/completions", {"model": "m", "prompt": "word " * words, "max_tokens": 5})


async def settled(world: World) -> None:
    for _ in range(5):
        world.goes_on()
        await asyncio.sleep(0)


@pytest.mark.parametrize(("count", "status"), [(100, b""), (101, b"HTTP/1.1 413 ")])
@pytest.mark.parametrize("in_chunks", [False, True])
def test_what_the_engine_counts_decides(count: int, status: bytes, in_chunks: bool) -> None:
    async def run() -> None:
        world = counting()
        client = world.client()
        client.sends(prompt(90))
        await settled(world)
        ((method, url, _, body),) = Heard(world.engine().heard).requests
        assert (method, url) == (b"POST", b"/tokenize")
        assert json.loads(body) == {"model": "m", "prompt": "word " * 90}
        answer = json.dumps({"count": count}).encode()
        world.engine().says(
            chunked(answer[:4], answer[4:], kind=b"application/json") if in_chunks else ok(answer)
        )
        await settled(world)
        assert client.heard[:13] == status
        forwarded = [
            one
            for engine in world.engines
            for one in Heard(engine.heard).requests
            if one[1] != b"/tokenize"
        ]
        assert len(forwarded) == (count == 100)
        client.leaves()
        world.at_rest()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("policy", "answer", "written"),
    [
        ("open", b'{"count": 1096}', 3000),
        ("open", b'{"count": 1097}', None),
        ("closed", b'{"count": 1097}', None),
        ("closed", b"{}", 3000),  # not to be had, but below the input's own limit by its bytes
    ],
)
def test_where_a_cap_may_have_no_room_the_input_is_counted(
    policy: str, answer: bytes, written: int | None
) -> None:
    async def run() -> None:
        spec = (
            f"request: {{maxOutputTokens: 3000, maxInputTokens: 3500}}\nedge: {{failurePolicy: "
            f"{{maxInputTokens: {policy}}}}}"
        )
        world = counting(spec, longest_tokens=4096)
        client = world.client()
        client.sends(
            post(
                "/v1/chat/completions",
                {"model": "m", "messages": [{"role": "user", "content": "1 2 3 4 " * 200}]},
            )
        )
        await settled(world)
        assert Heard(world.engine().heard).requests[0][1] == b"/tokenize"
        world.engine().says(ok(answer))
        await settled(world)
        forwarded = [
            one
            for engine in world.engines
            for one in Heard(engine.heard).requests
            if one[1] != b"/tokenize"
        ]
        assert [json.loads(one[3]).get("max_tokens") for one in forwarded] == [written]
        client.leaves()
        world.at_rest()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("prompt", "refused"),
    [
        ([5] * 100, False),
        ([5] * 101, True),
        ([[5] * 100, [5] * 3], False),
        ([[5] * 101, [5] * 3], True),
        ([[5] * 150] * 2, True),
    ],
)
def test_prompts_of_ids_are_as_long_as_they_are_one_by_one(
    prompt: list[object], refused: bool
) -> None:
    async def run() -> None:
        world = counting()
        client = world.client()
        client.sends(post("/v1/completions", {"model": "m", "prompt": prompt, "max_tokens": 5}))
        await settled(world)
        assert client.heard[:13] == (b"HTTP/1.1 413 " if refused else b"")
        assert [one[1] for engine in world.engines for one in Heard(engine.heard).requests] == (
            [] if refused else [b"/v1/completions"]
        )
        client.leaves()
        world.at_rest()

    asyncio.run(run())


def test_one_long_prompt_among_many_short_ones_is_counted_and_refused() -> None:
    async def run() -> None:
        world = counting("request: {maxInputTokens: 150}")
        client = world.client()
        client.sends(
            post(
                "/v1/completions",
                {"model": "m", "prompt": ["word " * 200, *["a"] * 15], "max_tokens": 5},
            )
        )
        await settled(world)
        (asked,) = [
            json.loads(one[3])["prompt"] for one in Heard(world.engine().heard).requests
        ]  # the short ones are short by their bytes
        world.engine().says(ok(json.dumps({"count": len(asked.split())}).encode()))
        await settled(world)
        assert client.heard[:13] == b"HTTP/1.1 413 "
        assert b"200 tokens long" in client.heard
        assert (
            world.desk.bound_exceeded == world.desk.ledger.learned.inputs.added_tokens == 0
        )  # what is learned is what was counted
        client.leaves()
        world.at_rest()

    asyncio.run(run())


NO_FORM = [ok(b"{}"), ok(b"no json"), ok(b'{"count":"5"}'), ok(b'{"count":-1}'), ok(b"", status=b"404 Not Found")]  # fmt: skip


@pytest.mark.parametrize("answer", [*NO_FORM, ok(b"", status=b"500 Oh"), b""])
@pytest.mark.parametrize(
    ("policy", "limit", "passes"),
    [("open", 200, True), ("open", 100, False), ("closed", 200, False), ("", 200, False)],
)
def test_what_cannot_be_counted_is_decided_by_an_estimate(
    answer: bytes, policy: str, limit: int, passes: bool
) -> None:
    """Some 560 bytes: 140 tokens by the mean that is assumed at first, 650 by the conservative."""

    async def run() -> None:
        stated = f"{{maxInputTokens: {policy}}}" if policy else "{}"
        world = counting(f"request: {{maxInputTokens: {limit}}}\nedge: {{failurePolicy: {stated}}}")
        client = world.client()
        client.sends(prompt(100))
        await settled(world)
        if answer:
            world.engine().says(answer)
        else:
            world.engine().leaves()
        await settled(world)
        refused = b"HTTP/1.1 413 " if answer in NO_FORM else b"HTTP/1.1 503 "
        assert client.heard[:13] == (b"" if passes else refused)
        assert (b"retry-after" in client.heard) == (not passes and answer not in NO_FORM)
        client.leaves()
        world.at_rest()

    asyncio.run(run())


def test_few_are_counted_at_once_and_who_leaves_is_not() -> None:
    async def run() -> None:
        world = counting()
        clients: list[Side] = []
        for _ in range(AT_ONCE + 3):
            clients.append(world.client())
            clients[-1].sends(prompt(90))
        await settled(world)
        assert len(world.engines) == AT_ONCE
        for client in clients[1:]:
            client.leaves()
        for engine in list(world.engines):
            engine.says(ok(b'{"count":200}'))
        await settled(world)
        assert len(world.engines) == AT_ONCE
        assert clients[0].heard.startswith(b"HTTP/1.1 413 ")
        world.at_rest()

    asyncio.run(run())


def test_to_its_own_context_the_engine_holds_what_cannot_be_counted() -> None:
    async def run() -> None:
        world = counting("slo: {ttftP99Seconds: 2}", longest_tokens=500)
        client = world.client()
        client.sends(prompt(300))
        await settled(world)
        world.engine().says(ok(b"{}"))
        await settled(world)
        assert Heard(world.engine().heard).requests[-1][1] == b"/v1/completions"
        client.leaves()
        world.at_rest()

    asyncio.run(run())


@pytest.mark.parametrize("policy", ["open", "closed"])
def test_a_full_queue_of_counts_refuses_with_a_time_to_come_back(policy: str) -> None:
    async def run() -> None:
        world = counting(
            f"request: {{maxInputTokens: 500}}\nedge: {{failurePolicy: {{maxInputTokens: {policy}}}}}"
        )
        clients = [world.client() for _ in range(AT_ONCE + WAITING + 40)]
        for client in clients:
            client.sends(prompt(3001))
        await settled(world)
        refused = [client for client in clients if client.heard]
        assert len(refused) == 40
        for client in refused:
            assert client.heard.startswith(b"HTTP/1.1 503 ")
            assert b"\r\nretry-after: " in client.heard
            assert b"count-queue-full" in client.heard
        assert all(b"/v1/" not in engine.heard for engine in world.engines)
        for client in clients:
            client.leaves()
        await settled(world)
        world.at_rest()

    asyncio.run(run())


def test_counts_earn_the_estimate_by_characters_its_trust() -> None:
    """At first every input that may be too long is counted; then one in sixteen."""

    async def run() -> None:
        world = counting("request: {maxInputTokens: 4000}")
        counted = 0
        for number in range(200):
            client = world.client()
            client.sends(prompt(1200))  # 6,000 bytes, 1,500 tokens
            await settled(world)
            if Heard(world.engine().heard).requests[-1][1] == b"/tokenize":
                counted += 1
                world.engine().says(ok(b'{"count": 1200}'))
                await settled(world)
            assert number >= 32 or counted == number + 1
            client.leaves()
        assert 32 <= counted < 70
        client = world.client()
        client.sends(post("/v1/completions", {"prompt": "7 x " * 1500, "max_tokens": 5}))
        await settled(world)
        assert Heard(world.engine().heard).requests[-1][1] == b"/tokenize"
        client.leaves()
        world.at_rest()

    asyncio.run(run())


def test_what_no_tokenizer_could_make_short_enough_is_not_counted() -> None:
    world = counting("request: {maxInputTokens: 10}")
    client = world.client()
    client.sends(prompt(20_000))
    assert client.heard.startswith(b"HTTP/1.1 413 ")
    assert not world.engines
    world.at_rest()


@pytest.mark.parametrize(
    ("path", "spec", "cut", "refused"),
    [
        ("/v1/embeddings", "request: {maxInputTokens: 1000}", 1000, False),
        ("/v1/embeddings", "request: {maxInputTokens: 1000}", 1001, True),
        ("/v1/embeddings", "request: {maxInputTokens: 1000}", -1, True),
        ("/v1/embeddings", "slo: {ttftP99Seconds: 2}", -1, False),
        ("/v1/completions", "slo: {ttftP99Seconds: 2}", -1, False),
        ("/v1/completions", "slo: {ttftP99Seconds: 2}", None, True),
    ],
)
def test_a_prompt_that_the_engine_cuts_is_as_long_as_it_is_then(
    path: str, spec: str, cut: int | None, refused: bool
) -> None:
    async def run() -> None:
        world = counting(spec)
        client = world.client()
        text = {"model": "m", "input" if path == "/v1/embeddings" else "prompt": "word " * 20_000}
        client.sends(post(path, text if cut is None else {**text, "truncate_prompt_tokens": cut}))
        await settled(world)
        world.engine().says(ok(b'{"count":40000}'))
        await settled(world)
        assert client.heard[:13] == (b"HTTP/1.1 413 " if refused else b"")
        client.leaves()
        world.at_rest()

    asyncio.run(run())


def test_a_short_body_that_is_mostly_json_teaches_no_estimate_that_lets_a_long_prompt_pass() -> (
    None
):
    async def run() -> None:
        world = counting()
        first = world.client()
        first.sends(post("/v1/completions", {"model": "m", "prompt": "hello", "max_tokens": 5}))
        await settled(world)
        world.engine().says(ok(b'{"count": 1}'))
        await settled(world)
        world.engine().says(
            ok(json.dumps({"usage": {"prompt_tokens": 1, "completion_tokens": 5}}).encode())
        )
        await settled(world)
        client = world.client()
        client.sends(prompt(400))
        await settled(world)
        assert Heard(world.engine().heard).requests[-1][1] == b"/tokenize"
        world.engine().says(ok(b'{"count": 401}'))
        await settled(world)
        assert client.heard.startswith(b"HTTP/1.1 413 ")

    asyncio.run(run())


def test_a_prompt_of_digits_and_single_letters_is_counted_though_its_bytes_are_few() -> None:
    async def run() -> None:
        world = counting("request: {maxInputTokens: 1000}")
        client = world.client()
        client.sends(
            post("/v1/completions", {"model": "m", "prompt": "7 x " * 450, "max_tokens": 5})
        )
        await settled(world)
        assert Heard(world.engine().heard).requests[-1][1] == b"/tokenize"
        world.engine().says(ok(b'{"count": 1800}'))
        await settled(world)
        assert client.heard.startswith(b"HTTP/1.1 413 ")

    asyncio.run(run())
