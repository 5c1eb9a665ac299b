"""One request and its answer: byte for byte, whatever the boundaries, whoever leaves, and nothing
is held afterwards.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.gateway_wire import Heard, World, answered, chat, chunk, chunked, event, ok, post

from barostat.gateway.messages.target import AllowedPath

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
ANSWER = ok(
    json.dumps({"id": "a", "choices": [{"finish_reason": "stop"}], "usage": USAGE}).encode()
)
PIECES = [
    event(
        {
            "id": "s",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"delta": {"content": c}}],
        }
    )
    for c in "abc"
]
STREAM = chunked(*PIECES, event({"choices": [], "usage": USAGE}), b"data: [DONE]\n\n")


@pytest.mark.parametrize("response", [ANSWER, STREAM, chunked(b"x" * 70_000, kind=b"text/plain")])
def test_an_answer_passes_byte_for_byte(response: bytes) -> None:
    world, client, engine = answered(chat(max_tokens=5), response)
    assert client.heard == response
    assert Heard(engine.heard).requests[0][3] == chat(max_tokens=5).partition(b"\r\n\r\n")[2]
    world.at_rest()


def test_wherever_the_request_is_cut_into_two_reads() -> None:
    request = chat("grüße", max_tokens=5)
    for at in range(1, len(request)):
        world = World()
        client = world.client()
        client.sends(request[:at])
        assert not world.engines
        client.sends(request[at:])
        assert len(Heard(world.engine().heard).requests) == 1
        world.engine().says(ANSWER)
        assert client.heard == ANSWER
        world.at_rest()


@pytest.mark.sweep
@pytest.mark.parametrize(
    "response",
    [
        ANSWER,
        STREAM,
        chunked(b"ab", kind=b"text/plain").replace(b"0\r\n\r\n", b"0\r\nx: y\r\n\r\n"),
    ],
)
def test_wherever_the_answer_is_cut_into_two_reads(response: bytes) -> None:
    for at in range(1, len(response)):
        world = World()
        client = world.client()
        client.sends(chat(max_tokens=5))
        world.engine().says(response[:at])
        assert world.desk.ledger.reservations
        world.engine().says(response[at:])
        assert client.heard == response
        world.at_rest()
        client.sends(chat(max_tokens=5))  # both connections go on
        assert len(world.engines) == 1
        world.engine().says(response)
        assert client.heard == response * 2


@given(st.lists(st.integers(1, 60), max_size=40))
@settings(max_examples=60, deadline=None)
def test_in_any_pieces(sizes: list[int]) -> None:
    world = World()
    client = world.client()
    client.sends(chat(max_tokens=5))
    at = 0
    for size in sizes:
        world.engine().says(STREAM[at : at + size])
        at += size
    if at < len(STREAM):
        world.engine().says(STREAM[at:])
    assert client.heard == STREAM
    world.at_rest()


@pytest.mark.sweep
def test_a_client_that_vanishes_at_every_byte_of_its_request() -> None:
    request = chat(max_tokens=5)
    for at in range(len(request) + 1):
        world = World()
        client = world.client()
        if at:
            client.sends(request[:at])
        client.leaves()
        if at == len(request):
            assert world.engine().wire.aborted  # the engine is told: by a closed connection
        else:
            assert not world.engines
        world.at_rest()
        assert not world.gateway.clients


@pytest.mark.sweep
@pytest.mark.parametrize("response", [ANSWER, STREAM])
def test_a_client_that_vanishes_at_every_byte_of_its_answer(response: bytes) -> None:
    for at in range(1, len(response)):
        world = World()
        client = world.client()
        client.sends(chat(max_tokens=5))
        world.engine().says(response[:at])
        client.leaves()
        assert world.engine().wire.aborted
        world.at_rest()
        assert not world.replicas[0].idle


@pytest.mark.sweep
@pytest.mark.parametrize("response", [ANSWER, STREAM])
def test_an_engine_that_resets_at_every_byte_of_its_answer(response: bytes) -> None:
    end_of_head = response.index(b"\r\n\r\n") + 4
    for at in range(len(response)):
        world = World()
        client = world.client()
        client.sends(chat(max_tokens=5))
        if at:
            world.engine().says(response[:at])
        world.engine().leaves()
        if at < end_of_head:
            assert client.heard.startswith(b"HTTP/1.1 502 ")
            assert not client.wire.closing
        else:
            assert client.heard == response[:at]
            assert client.wire.aborted  # it can tell that this is not all
        world.at_rest()


def test_the_last_bytes_of_a_long_answer_have_their_time() -> None:
    world = World()
    client = world.client()
    client.sends(chat(max_tokens=5).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
    world.passes(100.0)  # longer than the connection was given after its request
    world.engine().says(ANSWER)
    assert client.protocol.deadline >= world.now + world.bounds.stalled_s - 1.0


def test_the_first_byte_is_counted_when_it_comes() -> None:
    world = World()
    world.client().sends(chat(max_tokens=5, stream=True))
    world.engine().says(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    assert b"first_byte_seconds_count 1\n" in world.metrics.page({}, {})


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\ncontent-length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nx: a\rcontent-length: 3\r\ncontent-length: 2\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nx: a\r\n content-length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ncontent-length : 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\n: x\r\ncontent-length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nx\x00y: z\r\ncontent-length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nx: \x00\r\ncontent-length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nno field\r\ncontent-length: 3\r\n\r\nabc",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 5000,
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n",
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 70_000,
    ],
)
def test_an_answer_that_could_be_read_in_two_ways_is_a_502(response: bytes) -> None:
    world, client, engine = answered(chat(max_tokens=5), response)
    assert client.heard.startswith(b"HTTP/1.1 502 ")
    assert engine.wire.aborted
    world.at_rest()


@pytest.mark.parametrize(
    "bad", [b"zz\r\n", b"3\r\nabcd\r\n", b"-1\r\n", b"3\nabc\r\n", b"0x3\r\nabc\r\n"]
)
def test_a_bad_chunk_ends_the_connection(bad: bytes) -> None:
    world = World()
    client = world.client()
    client.sends(chat(max_tokens=5))
    world.engine().says(chunked(end=False))
    world.engine().says(bad)
    assert client.wire.aborted
    world.at_rest()


def test_what_an_engine_says_beyond_its_answer_is_dropped_with_its_connection() -> None:
    world, client, engine = answered(
        chat(max_tokens=5), ANSWER + b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
    )
    assert client.heard == ANSWER
    assert engine.wire.closing
    world.at_rest()


def test_an_answer_that_ends_with_its_connection() -> None:
    world = World()
    client = world.client()
    client.sends(chat(max_tokens=5))
    world.engine().says(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nabc")
    world.engine().says(b"def")
    world.engine().ends()
    assert client.heard.endswith(b"abcdef")
    assert client.wire.closing
    world.at_rest()


def test_interim_answers_are_not_passed_on() -> None:
    world, client, _ = answered(
        chat(max_tokens=5), b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + ANSWER
    )
    assert client.heard == ANSWER
    world.at_rest()


@pytest.mark.parametrize("named", ["content-length", "Content-Length, x", "transfer-encoding"])
def test_connection_cannot_take_the_framing_off_an_answer(named: str) -> None:
    for body in (b"content-length: 2\r\n\r\nhi", b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n"):
        head = b"HTTP/1.1 200 OK\r\nconnection: %b\r\n" % named.encode()
        world, client, _ = answered(chat(max_tokens=5), head + body)
        assert client.heard == b"HTTP/1.1 200 OK\r\n" + body
        world.at_rest()


def test_answers_without_a_body() -> None:
    world = World(allowed_paths=(AllowedPath("/x"),))
    client = world.client()
    client.sends(b"HEAD /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
    world.engine().says(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n")
    client.sends(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
    world.engine().says(b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n")
    client.sends(b"DELETE /x HTTP/1.1\r\nHost: x\r\n\r\n")
    world.engine().says(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert client.heard.count(b"HTTP/1.1 ") == 3
    assert len(world.engines) == 1
    world.at_rest()


def test_what_concerns_the_engines_connection_is_not_passed_on() -> None:
    world, client, engine = answered(
        chat(max_tokens=5), ok(b"{}", b"Connection: close, x-inner", b"X-Inner: 1", b"X-Kept: 2")
    )
    assert b"onnection" not in client.heard
    assert b"X-Inner" not in client.heard
    assert client.heard.endswith(b"X-Kept: 2\r\n\r\n{}")
    assert engine.wire.closing
    assert not client.wire.closing
    world.at_rest()


def test_a_slow_client_slows_the_engine_and_nothing_is_lost() -> None:
    world = World()
    client = world.client(takes=False)
    client.sends(chat(max_tokens=5, stream=True))
    engine = world.engine()
    engine.says(chunked(b"x" * 300_000, end=False))
    assert engine.wire.paused
    client.takes_all()
    assert not engine.wire.paused
    engine.says(b"0\r\n\r\n")
    world.at_rest()


def test_a_client_that_takes_nothing_is_left() -> None:
    world = World()
    client = world.client(takes=False)
    client.sends(chat(max_tokens=5, stream=True))
    world.engine().says(chunked(b"x" * 300_000, end=False))
    world.passes(world.bounds.stalled_s + 2)
    assert client.wire.aborted
    assert world.engine().wire.aborted
    world.at_rest()


def test_an_engine_that_is_silent_for_too_long() -> None:
    world = World()
    client = world.client()
    client.sends(chat(max_tokens=5))
    world.passes(world.bounds.silent_s + 2)
    assert client.heard.startswith(b"HTTP/1.1 504 ")
    assert world.engine().wire.aborted
    world.at_rest()


def test_pipelined_requests_are_answered_in_order() -> None:
    world = World()
    client = world.client()
    client.sends(
        chat("one", max_tokens=5)
        + chat("two", max_tokens=5)
        + b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    assert len(world.engines) == 1
    world.engine().says(ok(b"1"))
    world.engine().says(ok(b"2"))
    assert client.heard.startswith(ok(b"1") + ok(b"2"))
    assert client.heard.endswith(b"ok\n")
    world.at_rest()


def test_a_client_leaves_with_requests_that_had_not_their_turn() -> None:
    world = World()
    client = world.client()
    client.sends(chat("one", max_tokens=5) + chat("two", max_tokens=5))
    client.leaves()
    world.at_rest()


def test_http_1_0_is_answered_and_closed() -> None:
    world = World()
    client = world.client()
    client.sends(b"GET /v1/models HTTP/1.0\r\n\r\n")
    assert world.engine().heard.startswith(b"GET /v1/models HTTP/1.0\r\n")
    world.engine().says(b"HTTP/1.0 200 OK\r\n\r\nabc")
    world.engine().ends()
    assert client.heard.endswith(b"abc")
    assert client.wire.closing
    world.at_rest()


def test_connection_close_is_kept_to() -> None:
    world, client, engine = answered(chat("hello", "Connection: close", max_tokens=5), ANSWER)
    assert client.heard == ANSWER
    assert client.wire.closing
    assert b"onnection" not in engine.heard
    world.at_rest()


def test_a_request_in_chunks_reaches_the_engine_with_its_length() -> None:
    body = b'{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}'
    request = post("/v1/chat/completions", b"", "Transfer-Encoding: chunked", length=False)
    world, client, engine = answered(
        request + chunk(body[:20]) + chunk(body[20:]) + b"0\r\nx-trailer: 1\r\n\r\n", ANSWER
    )
    ((_, _, headers, came),) = Heard(engine.heard).requests
    assert came == body
    assert headers[b"content-length"] == b"%d" % len(body)
    assert b"transfer-encoding" not in headers
    assert b"x-trailer" not in headers
    assert client.heard == ANSWER
    world.at_rest()


def test_100_continue_is_said_where_the_body_is_wanted() -> None:
    world = World()
    client = world.client()
    request = chat("hello", "Expect: 100-continue", max_tokens=5)
    head, _, body = request.partition(b"\r\n\r\n")
    client.sends(head + b"\r\n\r\n")
    assert client.heard == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.sends(body)
    assert b"xpect" not in world.engine().heard


def test_usage_corrects_what_was_thought() -> None:
    world, _, _ = answered(chat(max_tokens=5), ANSWER)
    assert world.desk.ledger.learned.inputs.samples == {"chat": 1}
    answered(chat(max_tokens=5, stream=True), STREAM)
    assert b"prompt_tokens_sum 7\n" in world.metrics.page({}, {})


def test_half_a_request_behind_a_long_answer_costs_the_answer_nothing() -> None:
    world = World()
    client = world.client()
    client.sends(chat(max_tokens=5) + chat("second", max_tokens=5)[:40])
    world.passes(world.bounds.head_s + 5)
    world.engine().says(ANSWER)
    assert client.heard == ANSWER
    world.passes(world.bounds.head_s + 5)
    assert client.heard.removeprefix(ANSWER).startswith(b"HTTP/1.1 408 ")
    world.at_rest()


def test_what_an_engine_refused_teaches_nothing_about_lengths() -> None:
    """A 400 has no tokens, and an answer whose usage cannot be read has an unknown number: neither
    is a short answer.
    """
    refused, unreadable = (
        ok(b"{}", status=b"400 Bad Request"),
        ok(b"\x1f\x8b", b"content-encoding: gzip"),
    )
    learned = {}
    for response in (refused, unreadable, ANSWER):
        world = World()
        world.client().sends(chat(max_tokens=5))
        (one,) = world.desk.ledger.reservations.values()
        world.engine().says(response)
        learned[response] = one.lengths.seen, sum(one.lengths._deaths)
    assert learned == {refused: (0, 0), unreadable: (1, 0), ANSWER: (1, 1)}
