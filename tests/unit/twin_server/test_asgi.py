"""One request and its answer: a client that leaves ends the work, a slow network delays and keeps
the order.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from barostat.core.bounds import REQUEST_BYTES, REQUESTS_BYTES
from barostat.twin_server.asgi import Exchange, Gone, Held, Late, Message, TooMuch


def exchange(
    messages: list[dict[str, Any]], sent: list[Message], *, method: str = "POST"
) -> Exchange:
    left = list(messages)

    async def receive() -> Message:
        if left:
            return left.pop(0)
        await asyncio.sleep(3600)
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json; charset=utf-8"), (b"content-length", b"12")]
    return Exchange(
        {"type": "http", "method": method, "path": "/x", "headers": headers}, receive, send
    )


def test_a_body_in_pieces_is_read_whole() -> None:
    pieces: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.request", "body": b"c"},
    ]
    one = exchange(pieces, [])
    assert asyncio.run(one.body()) == b"abc"
    assert one.states_json
    assert one.request_bytes == 12


def test_a_client_that_leaves_ends_the_work() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(True)

    with pytest.raises(Gone):
        asyncio.run(exchange([{"type": "http.disconnect"}], []).unless_gone(work()))
    assert ended == [True]


def test_work_that_is_done_is_given_back_whoever_still_listens() -> None:
    async def work() -> int:
        return 7

    assert asyncio.run(exchange([], []).unless_gone(work())) == 7


def test_an_unknown_path_and_a_wrong_method_are_answered_as_the_framework_does() -> None:
    sent: list[Message] = []
    asyncio.run(exchange([], sent).no_route())
    asyncio.run(exchange([], sent).no_route(["GET"]))
    assert [(one["status"], [name for name, _ in one["headers"]]) for one in sent[::2]] == [
        (404, [b"content-length", b"content-type", b"vary"]),
        (405, [b"allow", b"content-length", b"content-type", b"vary"]),
    ]
    assert [one["body"] for one in sent[1::2]] == [
        b'{"detail":"Not Found"}',
        b'{"detail":"Method Not Allowed"}',
    ]


def test_what_is_sent_late_arrives_late_and_in_order() -> None:
    arrived: list[tuple[float, Message]] = []

    async def send(message: Message) -> None:
        arrived.append((time.monotonic(), message))

    async def run() -> float:
        late = Late(send, 0.05)
        began = time.monotonic()
        await late.send({"type": "http.response.start"})
        await late.send({"type": "http.response.body", "body": b"a", "more_body": True})
        assert time.monotonic() - began < 0.04, "who sends is not held up"
        await late.send({"type": "http.response.body", "body": b"b", "more_body": False})
        return began

    began = asyncio.run(run())
    assert [message.get("body") for _, message in arrived] == [None, b"a", b"b"]
    assert all(at - began >= 0.05 for at, _ in arrived)


@pytest.mark.parametrize("stated", [True, False])
def test_a_body_is_bounded_while_it_arrives(stated: bool) -> None:
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": b"x" * (1 << 20), "more_body": True}

    async def send(_: Any) -> None:
        return None

    headers = [(b"content-length", b"99999999999")] if stated else []
    exchange = Exchange(
        {"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, send
    )
    with pytest.raises(TooMuch) as refused:
        asyncio.run(exchange.body())
    assert refused.value.status == 413
    assert taken == (0 if stated else (REQUEST_BYTES.most >> 20) + 1)


def test_all_bodies_together_are_bounded_and_let_go() -> None:
    held = Held()
    held.held_bytes = REQUESTS_BYTES.most - 4

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"12345"}

    async def send(_: Any) -> None:
        return None

    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    one = Exchange(scope, receive, send, held)
    with pytest.raises(TooMuch) as refused:
        asyncio.run(one.body())
    assert refused.value.status == 503
    one.let_go()
    one.let_go()
    assert held.held_bytes == REQUESTS_BYTES.most - 4
    held.held_bytes = 0
    assert asyncio.run(Exchange(scope, receive, send, held).body()) == b"12345"
    assert held.held_bytes == 5
