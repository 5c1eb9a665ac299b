"""A run ends: with its last answer, or when what is under way has had its time, also where nothing
said how long to send.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.support.small_servers import Handler, pause, serving

from barostat.io.engine_http.address import address
from barostat.judge.load_test.figures import Collected
from barostat.judge.load_test.traffic import Traffic
from barostat.load.prompts import Prompts
from barostat.load.run import Run, RunBounds
from barostat.load.target import Target
from barostat.twin.request import Row

EVENTS = b'data: {"choices":[{"text":"x"}]}\n\ndata: [DONE]\n\n'
ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
    % (len(EVENTS), EVENTS)
)
DRAIN_S = 0.5


def after(*pauses_s: float) -> Handler:
    """Each request is answered after its own pause, those beyond them at once."""
    left = list(pauses_s)

    def handle(connection: socket.socket, _: str) -> None:
        if left:
            pause(left.pop(0))
        connection.sendall(ANSWER)

    return handle


def ran(
    handle: Handler,
    rows: Sequence[Row],
    *,
    for_s: float | None = None,
    clients: int = 0,
    silent_s: float = 60.0,
) -> tuple[Collected, float]:
    """What was kept, and the seconds that it took."""
    with serving(handle) as (port, _):
        target = Target(address(f"http://127.0.0.1:{port}"), "completions", "m")
        began = time.monotonic()
        run = Run(
            target, Traffic(tuple(rows), clients), RunBounds(for_s, DRAIN_S, silent_s), Prompts(1)
        )
        kept = asyncio.run(asyncio.wait_for(run.go(), 10))
        return kept, time.monotonic() - began


def rows(count: int) -> list[Row]:
    return [Row(str(place), 0.0, 8, 1) for place in range(count)]


@pytest.mark.parametrize(("clients", "for_s"), [(0, None), (0, 8.0), (2, None)])
def test_what_hangs_is_cut_once_all_was_sent_and_its_time_is_over(
    clients: int, for_s: float | None
) -> None:
    kept, took_s = ran(after(30.0), rows(2), clients=clients, for_s=for_s)
    assert sorted(one.fate for one in kept.sent) == ["cut", "ok"]
    assert DRAIN_S <= took_s < 5
    assert not kept.interrupted


@pytest.mark.parametrize("clients", [0, 1])
def test_an_engine_of_which_nothing_comes_any_more_is_given_up(clients: int) -> None:
    """Also where clients wait for their answers and would wait for ever."""
    following = [Row("0", 0.0, 8, 1), Row("1", 0.0, 8, 1, after_id=None if clients else "0")]
    kept, took_s = ran(after(30.0), following, clients=clients, silent_s=1.0)
    assert [(one.fate, one.reason) for one in kept.sent] == [
        ("error", "the engine sent nothing for 1 s")
    ]
    assert 1 <= took_s < 5


def test_what_something_follows_is_waited_for() -> None:
    following = Row("b", 0.0, 8, 1, after_id="a")
    kept, _ = ran(after(2 * DRAIN_S), [Row("a", 0.0, 8, 1), following])
    assert [one.fate for one in kept.sent] == ["ok", "ok"]


def test_clients_with_rows_left_are_waited_for() -> None:
    kept, _ = ran(after(2 * DRAIN_S), rows(3), clients=1)
    assert [one.fate for one in kept.sent] == ["ok"] * 3


def test_it_ends_with_its_last_answer() -> None:
    kept, took_s = ran(after(), rows(3))
    assert [one.fate for one in kept.sent] == ["ok"] * 3
    assert took_s < DRAIN_S


def test_metrics_are_read_with_the_key() -> None:
    """A server that wants a key for /metrics, as behind a gateway, keeps its figures in the
    report.
    """
    seen: list[str] = []

    def handle(connection: socket.socket, asked: str) -> None:
        if "/metrics" in asked:
            seen.append(asked)
        connection.sendall(ANSWER)

    with serving(handle) as (port, _):
        target = Target(address(f"http://127.0.0.1:{port}"), "completions", "m", "sesame")
        target = replace(target, shows_metrics=True)
        run = Run(
            target, Traffic((Row("a", 0.0, 8, 1),), 0), RunBounds(None, DRAIN_S, 60.0), Prompts(1)
        )
        asyncio.run(asyncio.wait_for(run.go(), 10))
    assert seen
    assert all("authorization: bearer sesame" in one.lower() for one in seen)
