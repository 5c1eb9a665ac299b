"""What is not whole: who is told so, and that metrics and the access log call it what it was."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.gateway_wire import Side, World, chat, chunked, event, ok

from barostat.gateway.access_log import AccessLog
from barostat.gateway.bounds import Bounds

ANSWER = ok(json.dumps({"id": "a", "choices": [{"finish_reason": "stop"}]}).encode())
BEGUN = chunked(event({"id": "a", "choices": [{"delta": {"content": "x"}}]}), end=False)


def logged(path: Path) -> tuple[World, Callable[[], list[tuple[str, int, str]]]]:
    """A world with an access log in that folder, and what stands there of each request: route,
    status, reason.
    """
    world = World(
        "request: {maxStreamSeconds: 30}",
        log=AccessLog(str(path / "log")),
        bounds=Bounds(body_bytes=4096),
    )

    def lines() -> list[tuple[str, int, str]]:
        world.passes(0.2)
        found = map(json.loads, (path / "log").read_text().splitlines())
        return [(line["route"], line["status"], line["reason"]) for line in found]

    return world, lines


def drains(world: World) -> None:
    """The gateway is at the end of its time."""
    world.gateway.draining = True
    for client in tuple(world.gateway.clients):
        client.drain()
    world.goes_on()
    for client in tuple(world.gateway.clients):
        client.cut_off()
    world.goes_on()


@pytest.mark.parametrize("slow_dials", [False, True])
def test_who_has_heard_nothing_when_the_gateway_ends_is_told(
    tmp_path: Path, slow_dials: bool
) -> None:
    world, lines = logged(tmp_path)
    world.slow_dials = slow_dials
    client = world.client()
    client.sends(chat(max_tokens=5))
    drains(world)
    assert client.heard.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1\r\n" in client.heard
    assert client.wire.closing
    assert slow_dials or world.engine().wire.aborted
    assert lines() == [("chat", 503, "draining")]
    assert not [name for name, _ in world.metrics.counters if name == "clients_gone_total"]
    world.at_rest()


def test_half_an_answer_when_the_gateway_ends_is_no_client_that_left(tmp_path: Path) -> None:
    world, lines = logged(tmp_path)
    client = world.client()
    client.sends(chat(max_tokens=5))
    world.engine().says(ANSWER[:-3])
    drains(world)
    assert client.wire.aborted
    assert world.engine().wire.aborted
    assert lines() == [("chat", 200, "draining")]
    assert not [name for name, _ in world.metrics.counters if name == "clients_gone_total"]
    world.at_rest()


def test_a_stream_whose_time_is_up_while_the_gateway_drains_has_had_its_time(
    tmp_path: Path,
) -> None:
    world, lines = logged(tmp_path)
    world.client().sends(chat(max_tokens=5, stream=True))
    world.engine().says(
        chunked(event({"id": "1", "choices": [{"delta": {"content": "a"}}]}), end=False)
    )
    world.gateway.draining = True
    world.passes(31)
    assert lines() == [("chat", 200, "stream-time")]
    world.at_rest()


def leaves(_: World, client: Side) -> None:
    client.leaves()


def breaks_off(world: World, _: Side) -> None:
    world.engine().leaves()


def is_silent(world: World, _: Side) -> None:
    world.engine().says(b"5\r\nda")
    world.passes(world.bounds.silent_s + 2)


def takes_long(world: World, _: Side) -> None:
    world.passes(40)


def is_no_http(world: World, _: Side) -> None:
    world.engine().says(b"zz\r\n")


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (leaves, "client-gone"),
        (breaks_off, "engine-reset"),
        (is_no_http, "engine-bad-answer"),
        (is_silent, "engine-stream-time"),
        (takes_long, "stream-time"),
    ],
)
def test_the_log_says_why_a_stream_is_not_whole(
    tmp_path: Path, happens: Callable[[World, Side], None], reason: str
) -> None:
    world, lines = logged(tmp_path)
    client = world.client()
    client.sends(chat(max_tokens=5, stream=True))
    world.engine().says(BEGUN)
    happens(world, client)
    assert lines() == [("chat", 200, reason)]
    world.at_rest()


def test_what_never_came_whole_took_as_long_as_it_was_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, lines = logged(tmp_path)
    monkeypatch.setattr(time, "perf_counter", lambda: world.now)
    client = world.client()
    world.passes(20)  # between requests nothing is waited for
    client.sends(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Le")
    world.passes(world.bounds.head_s - 1)
    client.sends(b"ngth: 9\r\n\r\n{")
    world.passes(world.bounds.body_s + 2)
    assert lines() == [("completions", 408, "request-time-out")]
    (took_s,) = (
        json.loads(line)["durationSeconds"] for line in (tmp_path / "log").read_text().splitlines()
    )
    whole_s = world.bounds.head_s + world.bounds.body_s
    assert whole_s - 1 <= took_s <= whole_s + 3


def test_what_never_came_whole_has_a_line_and_its_route(tmp_path: Path) -> None:
    world, lines = logged(tmp_path)
    world.client().sends(chat("x" * 5000, max_tokens=5))
    world.client().sends(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
    world.client().sends(b"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n")
    world.client().sends(b"\x16\x03\x01\x02\x00")
    world.passes(world.bounds.body_s + 2)
    assert sorted(lines()) == [
        ("chat", 413, "body-too-large"),
        ("completions", 408, "request-time-out"),
        ("other", 400, "bad-request"),
        ("other", 501, "method-unknown"),
    ]
    assert b'refusals_total{reason="body-too-large",route="chat"} 1\n' in world.metrics.page({}, {})
    world.at_rest()
